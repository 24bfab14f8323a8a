"""How much memory does reading a run take? `python tests/benchmarks/command_memory.py RUN...`.

Each command that reads a run, in a process of its own, as a user starts it. Prints CSV: the peak of
memory and the processor time. `import` is Python with the command line and nothing read.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = "from rpd_core.cli.main import main; main()"


def commands(run: str, folder: Path) -> dict[str, list[str]]:
    """Return what is measured, by name."""
    return {
        "import": ["--version"],
        "rank": ["rank", run],
        "show": ["show", run],
        "show --full": ["show", run, "--full"],
        "explain": ["explain", run, "1"],
        "report": ["report", run, "--out", str(folder / "page.html")],
        "verify": ["verify", run],
        "runs": ["runs", run],
        "describe": ["describe", "environment", "cartpole"],
    }


def peak(words: list[str]) -> tuple[float, float, int]:
    """Run a command; return its mebibytes, its processor seconds and how it ended."""
    command = [sys.executable, "-c", PROGRAM, *words]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    return used.ru_maxrss / 1024, used.ru_utime + used.ru_stime, child.returncode


def main(runs: list[str]) -> None:
    """Measure every command on every run."""
    table = csv.writer(sys.stdout)
    table.writerow(["run", "command", "peak in MiB", "processor seconds", "exit code"])
    with tempfile.TemporaryDirectory() as folder:
        for run in runs:
            for name, words in commands(run, Path(folder)).items():
                mebibytes, seconds, code = peak(words)
                row = [Path(run).name, name, f"{mebibytes:.0f}", f"{seconds:.1f}", code]
                table.writerow(row)
                sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])

"""Hostile and damaged files by the thousand: `python -m tests.fuzz --seconds 120 --seed 0`."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.fuzz.formats import CANARY, Format, find_formats, load_format
from tests.fuzz.trial import Tally, Trial, Verdict

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Bounds:
    """What is tried, and for how long."""

    seed: int
    seconds: float
    """Per format."""
    wall: float
    """Per case."""
    case: str | None = None
    """The only case to try; None: all of them."""
    save: Path | None = None
    """Where files that fail are kept."""


class Generator:
    """Makes the cases of several formats in turn; one canary is in force at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def cases(self, chosen: Format, seed: int, canary: Path) -> Iterator[tuple[str, bytes]]:
        """Yield cases; whatever looks at the environment while making them sees the canary."""
        made = chosen.cases(seed)
        while True:
            with self._lock:
                os.environ[CANARY] = str(canary)
                case = next(made, None)
            if case is None:
                return
            yield case


def fuzz(module: Path, bounds: Bounds, generator: Generator) -> Tally:
    """Attempt the cases of one format until they or the time are used up."""
    chosen, tally = load_format(module), Tally()
    with tempfile.TemporaryDirectory(prefix="rpd-fuzz-") as folder:
        trial = Trial(module, Path(folder), chosen.suffix, bounds.wall)
        deadline = None
        try:
            for name, content in generator.cases(chosen, bounds.seed, trial.canary):
                # The first case may take long to make; that is no time spent trying.
                deadline = deadline or time.monotonic() + bounds.seconds
                if bounds.case in (None, name):
                    tally.add(name, trial.judge(content))
                    _save(bounds.save, f"{chosen.name}-{name}{chosen.suffix}", content, tally, name)
                if name == bounds.case or (bounds.case is None and time.monotonic() > deadline):
                    break
        finally:
            trial.close()
    return tally


def _save(folder: Path | None, file: str, content: bytes, tally: Tally, case: str) -> None:
    if folder is not None and case in tally.failures:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / file.replace(os.sep, "_")).write_bytes(content)


def repeat_command(name: str, case: str, seed: int) -> str:
    """Return what to type to try one case again."""
    return f"python -m tests.fuzz --format {name} --seed {seed} --case {shlex.quote(case)}"


def as_json(tallies: dict[str, Tally], seed: int) -> str:
    """Return the counts and the failures for programs."""

    def failure(name: str, case: str, verdict: Verdict) -> dict[str, str]:
        repeat = repeat_command(name, case, seed)
        return {"case": case, "kind": verdict.outcome, "detail": verdict.detail, "repeat": repeat}

    formats = {
        name: {
            "tried": tally.tried,
            "held": tally.held,
            "refused": tally.refused,
            "failures": [failure(name, *each) for each in tally.failures.items()],
        }
        for name, tally in tallies.items()
    }
    return json.dumps({"seed": seed, "formats": formats}, indent=2)


def as_text(tallies: dict[str, Tally], seed: int) -> str:
    """Return a table, and for each failure what happened and how to repeat it."""
    lines = [f"{'format':<16}{'tried':>9}{'held':>9}{'refused':>9}{'failed':>9}"]
    for name, tally in tallies.items():
        figures = (tally.tried, tally.held, tally.refused, len(tally.failures))
        lines.append(f"{name:<16}" + "".join(f"{figure:>9}" for figure in figures))
    for name, tally in tallies.items():
        for case, verdict in tally.failures.items():
            lines += ["", f"{name}: {case}: {verdict.outcome}", verdict.detail.rstrip()]
            lines.append(f"again: {repeat_command(name, case, seed)}")
    return "\n".join(lines)


def read_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=120.0, help="for all formats together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--format", metavar="NAME", help="only this one")
    parser.add_argument("--case", metavar="NAME", help="only this one; needs --format")
    parser.add_argument("--json", action="store_true", help="print for programs")
    parser.add_argument("--jobs", type=int, default=2, help="formats tried at the same time")
    parser.add_argument("--wall", type=float, default=20.0, help="seconds that a case may take")
    parser.add_argument("--save", type=Path, metavar="FOLDER", help="keep files that fail")
    parser.add_argument("--folder", type=Path, default=HERE, help="where the formats are")
    asked = parser.parse_args()
    if asked.case is not None and asked.format is None:
        parser.error("--case needs --format")
    return asked


def choose(asked: argparse.Namespace) -> dict[str, Path]:
    """Return the formats that were asked for; none if there are none such."""
    known = find_formats(asked.folder.resolve())
    if asked.format in (None, *known):
        return {name: path for name, path in known.items() if asked.format in (None, name)}
    print(f"no format is called {asked.format!r}; there are: {', '.join(known)}", file=sys.stderr)
    return {}


def main() -> int:
    """Fuzz what was asked for; return 1 if anything failed, 2 if there was nothing to try."""
    asked = read_arguments()
    chosen = choose(asked)
    if not chosen:
        return 2
    jobs = max(1, min(asked.jobs, len(chosen)))
    each = asked.seconds * jobs / len(chosen)
    bounds = Bounds(asked.seed, each, asked.wall, asked.case, asked.save)
    generator = Generator()
    with ThreadPoolExecutor(jobs) as pool:
        running = {
            name: pool.submit(fuzz, path, bounds, generator) for name, path in chosen.items()
        }
        tallies = {name: tally.result() for name, tally in running.items()}
    print((as_json if asked.json else as_text)(tallies, asked.seed))
    if not all(tally.tried for tally in tallies.values()):
        print(f"a format offered no such case with seed {asked.seed}", file=sys.stderr)
        return 2
    return int(any(tally.failures for tally in tallies.values()))


if __name__ == "__main__":
    sys.exit(main())

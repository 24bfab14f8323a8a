"""Draw what a run prints as `run.svg`: `python docs/images/make_run_picture.py RUN`."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

from rich.console import Console

from rpd_core.cli.render import print_answer


def main(run: Path) -> None:
    """Record the answer and save it beside this script."""
    console = Console(record=True, width=100, file=io.StringIO())
    summary = json.loads((run / "summary.json").read_text())
    print_answer(console, summary, Path("runs") / run.name)
    target = Path(__file__).with_name("run.svg")
    console.save_svg(str(target), title="rpd run --env cartpole")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

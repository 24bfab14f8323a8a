"""Draw what a run prints as `run.svg`: `python docs/images/make_run_picture.py RUN`."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console

from rpd_core import open_run
from rpd_core.cli.screen import print_answer


def main(run: Path) -> None:
    """Record the answer and save it beside this script."""
    console = Console(record=True, width=100, file=io.StringIO())
    opened = open_run(run)
    print_answer(console, opened.summary, Path("runs") / run.name, opened.analyses)
    target = Path(__file__).with_name("run.svg")
    # Rich's template loads its font from the network; a picture must not.
    template = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    template = re.sub(r"<!--.*?-->", "", template)
    console.save_svg(str(target), title="rpd run --env cartpole", code_format=template)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

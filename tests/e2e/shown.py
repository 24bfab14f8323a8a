"""What the documentation shows: commands, with their marks, and the output to compare with.

A fenced block of `sh` or `console` is executed. A comment in the line before it changes that:

- `<!-- slow: why -->`: only with the slow tests;
- `<!-- long: why -->`: it takes too long; only its options and components are checked;
- `<!-- yours: what -->`: it needs something of the reader's, a policy file; checked likewise;
- `<!-- file: NAME -->`: not commands but a file that those below it need;
- `<!-- output -->`: what the command above it prints, as it is, with `...` for what is left out;
- `<!-- from: COMMIT -->`: what a command printed that takes too long, and with which commit;
- `<!-- form -->`: how a message or a state looks, of no run in particular.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_ALL = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
PAGES = sorted(page for page in _ALL if "_build" not in page.parts)
_BLOCK = re.compile(
    r"^(?: *<!-- *(?P<mark>\w+)(?:: *(?P<why>.*?))? *-->\n)?"
    r"(?P<indent> *)```(?P<language>[^\n`]*)\n(?P<body>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
SHELL = ("sh", "console")


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    page: Path
    mark: str
    why: str
    """What the mark says after its colon."""
    language: str
    body: str

    @property
    def commands(self) -> list[list[str]]:
        """Return the words of each command, without comments."""
        if self.language not in SHELL:
            return []
        lines = self.body.replace("\\\n", " ").splitlines()
        if self.language == "console":
            lines = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
        parts = [part for line in lines for part in line.split(" && ")]
        return [words for part in parts if (words := shlex.split(part, comments=True))]


def blocks(page: Path) -> list[Block]:
    """Return the fenced blocks of a page in order."""
    return [
        Block(page, m["mark"] or "", m["why"] or "", m["language"], m["body"])
        for m in _BLOCK.finditer(page.read_text("utf-8"))
    ]


def all_commands() -> Iterator[tuple[Block, list[str]]]:
    """Yield every command that is shown, with its block."""
    for page in PAGES:
        for block in blocks(page):
            for words in block.commands:
                yield block, words


def name_of(page: Path) -> str:
    """Return a page's path below the project."""
    return str(page.relative_to(ROOT))

"""The command line, called in this process, which spares the imports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from unittest.mock import patch

from typer.testing import CliRunner

QUICK = (
    "--unmutated-episodes",
    "20",
    "--confirm-episodes",
    "20",
    "--confirm-tries",
    "1",
)
"""Options that keep a run small which is not about them."""


_PICTURELESS = {"run": ("--no-draw", "--no-report"), "prune": ("--no-draw",)}


def without_pictures(*words: object) -> list[str]:
    """Return a command that draws nothing, unless it says that it does."""
    typed = [str(word) for word in words]
    added = _PICTURELESS.get(typed[0], ()) if typed else ()
    asked = {word.replace("--no-", "--") for word in typed}
    return [*typed, *(one for one in added if one.replace("--no-", "--") not in asked)]


def invoke(words: Sequence[str], columns: int = 200) -> Any:
    """Call `rpd` in this process; one worker is this process, too, which spares its imports."""
    from rpd_core.cli import work
    from rpd_core.cli.app import app

    with patch.object(work, "ISOLATE", False):
        return CliRunner().invoke(app, words, env={"COLUMNS": str(columns)})


def rpd_command(*words: object) -> Any:
    """Call `rpd` with these words."""
    return invoke(without_pictures(*words))


def refusal(*words: object) -> str:
    """Call `rpd` with words that it refuses and return the one line that it says."""
    result = rpd_command(*words)
    assert result.exit_code == 2, result.output
    assert result.stderr.count("\n") == 1, result.stderr
    assert result.stdout == ""
    line: str = result.stderr.strip()
    return line

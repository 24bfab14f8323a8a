"""The command line, called in this process, which spares the imports."""

from __future__ import annotations

from typing import Any

from typer.testing import CliRunner

QUICK = (
    "--unmutated-episodes",
    "20",
    "--confirm-episodes",
    "20",
    "--rounds",
    "0",
    "--confirm-tries",
    "1",
)
"""Options that keep a run small which is not about them."""


def rpd_command(*words: object) -> Any:
    """Call `rpd` with these words."""
    from rpd_core.cli.app import app

    return CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "200"})


def refusal(*words: object) -> str:
    """Call `rpd` with words that it refuses and return the one line that it says."""
    result = rpd_command(*words)
    assert result.exit_code == 2, result.output
    assert result.stderr.count("\n") == 1, result.stderr
    assert result.stdout == ""
    line: str = result.stderr.strip()
    return line

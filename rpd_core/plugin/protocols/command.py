"""Commands of `rpd`: functions whose parameters Typer turns into arguments and options."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class Command(Protocol):
    """A function whose keywords are typed for Typer; its docstring is the help.

    Its module imports nothing heavy: completion and `--help` import it. An `RpdError` that it
    raises is shown as one line, with exit code 2. `rpd_core.cli` offers what commands share: where
    answers and notes go, progress, stored runs, and the `options` of other commands.
    """

    def __call__(self, *args: Any, **options: Any) -> None:
        """Do what was typed."""
        ...

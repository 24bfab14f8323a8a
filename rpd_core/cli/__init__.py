"""What commands use, whoever offers them; each name is imported when first used.

`rpd_core.cli.options` holds the options that commands share, as annotations.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rpd_core.cli.console import answers, errors, progress_bars
    from rpd_core.cli.shared import chosen_run, opened_run, print_json, show_note
    from rpd_core.cli.work import Work, plays

_HOMES = {
    "Work": "rpd_core.cli.work",
    "answers": "rpd_core.cli.console",
    "chosen_run": "rpd_core.cli.shared",
    "errors": "rpd_core.cli.console",
    "opened_run": "rpd_core.cli.shared",
    "plays": "rpd_core.cli.work",
    "print_json": "rpd_core.cli.shared",
    "progress_bars": "rpd_core.cli.console",
    "show_note": "rpd_core.cli.shared",
}

__all__ = [
    "Work",
    "answers",
    "chosen_run",
    "errors",
    "opened_run",
    "plays",
    "print_json",
    "progress_bars",
    "show_note",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'rpd_core.cli' has no attribute {name!r}")

"""What commands use, whoever offers them; each name is imported when first used.

`rpd_core.cli.options` holds the options that commands share, as annotations.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rpd_core.cli.console import answers as answers
    from rpd_core.cli.console import errors as errors
    from rpd_core.cli.console import progress_bars as progress_bars
    from rpd_core.cli.shared import chosen_run as chosen_run
    from rpd_core.cli.shared import opened_run as opened_run
    from rpd_core.cli.shared import print_json as print_json
    from rpd_core.cli.shared import show_note as show_note
    from rpd_core.cli.work import Work as Work
    from rpd_core.cli.work import plays as plays

_HOMES = {
    **dict.fromkeys(("answers", "errors", "progress_bars"), "rpd_core.cli.console"),
    **dict.fromkeys(("chosen_run", "opened_run", "print_json", "show_note"), "rpd_core.cli.shared"),
    **dict.fromkeys(("Work", "plays"), "rpd_core.cli.work"),
}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'rpd_core.cli' has no attribute {name!r}")

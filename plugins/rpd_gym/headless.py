"""Pictures without a screen."""

from __future__ import annotations

import os


def draw_without_screen() -> None:
    """Let pygame draw where no window can be opened: it would complain on standard error."""
    if "DISPLAY" not in os.environ and "WAYLAND_DISPLAY" not in os.environ:
        os.environ.setdefault("SDL_VIDEODRIVER", "dummy")

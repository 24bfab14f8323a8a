"""Plugins that nobody has installed: the small worlds as a stranger's distribution."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from rpd_core.play.chunks import close_players
from rpd_core.plugin import registry
from rpd_core.plugin.discovery import Plugin, find_plugins
from rpd_core.plugin.protocols import Component

WORLDS: tuple[tuple[str, Component], ...] = (
    ("environment", Component("corridor", "worlds:Corridor", "A world", runs_code=False)),
    ("policy", Component("goes", "worlds:Goes", "Goes", runs_code=False)),
)


def plugin(distribution: str, version: str, components: Any = WORLDS) -> Plugin:
    """Return a plugin as it is found when its distribution is installed."""
    return Plugin("strange", distribution, version, components=components)


@contextmanager
def having(
    *plugins: Plugin, but: Callable[[Plugin], bool] = lambda one: False
) -> Iterator[registry.Registry]:
    """Install plugins, and take some away, for a while."""
    found = [one for one in find_plugins() if not but(one)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "find_plugins", lambda: [*found, *plugins])
        registry.installed.cache_clear()
        close_players()  # they remember who offered what they are made of
        try:
            yield registry.installed()
        finally:
            registry.installed.cache_clear()
            close_players()

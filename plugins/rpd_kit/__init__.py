"""The conformance kit: what every component promises, checked on the real thing."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from rpd_core import Component, hookimpl

if TYPE_CHECKING:
    from rpd_kit.kit import (
        Imagined,
        Report,
        check_component,
        check_recipe,
        check_registration,
    )
    from rpd_kit.panels import example_view

__all__ = [
    "Imagined",
    "Report",
    "check_component",
    "check_recipe",
    "check_registration",
    "example_view",
]


@hookimpl
def rpd_commands() -> list[Component]:
    return [
        Component(
            "new-plugin",
            "rpd_kit.new_plugin_command:new_plugin_command",
            "Lay out a plugin whose test passes",
            group="Plugins",
            runs_code=False,
        ),
        Component(
            "check-plugin",
            "rpd_kit.check_plugin_command:check_plugin_command",
            "Run the conformance kit over a plugin",
            group="Plugins",
            runs_code=False,
        ),
    ]


def __getattr__(name: str) -> Any:
    if name in __all__:
        module = "rpd_kit.panels" if name == "example_view" else "rpd_kit.kit"
        return getattr(importlib.import_module(module), name)  # it imports NumPy
    raise AttributeError(f"module 'rpd_kit' has no attribute {name!r}")

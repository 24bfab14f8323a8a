"""Policies saved with torch: TorchScript modules and, for those who trust them, others."""

from rpd_core.components import Component
from rpd_core.hookspecs import hookimpl


@hookimpl
def rpd_policy_loaders() -> list[Component]:
    return [
        Component(
            "torchscript",
            "rpd_torchscript.loader:TorchScriptFile",
            "TorchScript module (.pt), feed-forward or recurrent",
            requires=("torch",),
            install="torch",
        )
    ]

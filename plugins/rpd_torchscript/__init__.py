"""Policies saved with torch: TorchScript modules and, for those who trust them, others."""

from rpd_core.plugin.hookspecs import hookimpl
from rpd_core.plugin.protocols import Component


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

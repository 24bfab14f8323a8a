"""Policies saved with torch: TorchScript modules and, for those who trust them, others."""

from functools import partial

from rpd_core import Component, hookimpl

Safe = partial(Component, runs_code=False)
"""A component whose input cannot make it run code, unless its recipe says otherwise."""


@hookimpl
def rpd_policy_loaders() -> list[Component]:
    return [
        Safe(
            "torchscript",
            "rpd_torchscript.loader:TorchScriptFile",
            "TorchScript module (.pt), feed-forward or recurrent",
            requires=("torch",),
            install="torch",
            looks_like=r".+\.(pt|pth|ts)",
            recognises="rpd_torchscript.recognise:is_torchscript",
            takes=("torch.nn.modules.module.Module",),
        )
    ]

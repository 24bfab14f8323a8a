"""Policies stored as plain weights: state dicts of torch, safetensors, NumPy archives."""

from functools import partial

from rpd_core import Component, hookimpl

Safe = partial(Component, runs_code=False)
"""A component whose input cannot make it run code, unless its recipe says otherwise."""


@hookimpl
def rpd_policy_loaders() -> list[Component]:
    return [
        Safe(
            "weights",
            "rpd_weights.loader:WeightsFile",
            "Plain weights (.pt, .safetensors, .npz) of a known network",
            requires=("torch",),
            install="torch",
            looks_like=r".+\.(safetensors|npz)",
            recognises="rpd_weights.recognise:is_weights",
        )
    ]

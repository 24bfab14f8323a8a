"""Policies in ONNX form, run by onnxruntime."""

from functools import partial

from rpd_core import Component, hookimpl

Safe = partial(Component, runs_code=False)
"""A component whose input cannot make it run code, unless its recipe says otherwise."""


@hookimpl
def rpd_policy_loaders() -> list[Component]:
    return [
        Safe(
            "onnx",
            "rpd_onnx.loader:OnnxFile",
            "ONNX model (.onnx), feed-forward or recurrent",
            requires=("onnxruntime",),
            install="onnxruntime",
            looks_like=r".+\.onnx",
            recognises="rpd_onnx.recognise:is_onnx",
            takes=("onnxruntime.capi.onnxruntime_inference_collection.InferenceSession",),
        )
    ]

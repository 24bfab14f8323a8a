"""Files whose author is trusted, loaded by torch itself."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from rpd_core.errors import FitError, one_line
from rpd_torchscript.acting import Acting
from rpd_torchscript.signature import Loaded, argument_of_schema, arguments_of_python, leaves_in

HOW_TO_SAVE = "torch.jit.script(module).save('policy.pt')"
_jit_load: Any = torch.jit.load  # torch leaves it untyped
_optimized_execution: Any = torch.jit.optimized_execution  # type: ignore[attr-defined]
_FOLLOWED = ("aten::add", "aten::sub", "aten::to")


def load_trusted_script(path: Path) -> Loaded:
    """Load a TorchScript file with torch's own loader."""
    with quiet(path):
        module: Any = _jit_load(str(path), map_location="cpu").eval()
    if module._c._get_forward_hooks() or module._c._get_forward_pre_hooks():
        raise FitError(
            f"{path.name} has hooks on its outermost module, which a loaded file does not run: put "
            "what they do into forward"
        )
    forward = getattr(module, "forward", None)
    schema = getattr(forward, "schema", None)
    if schema is None:
        raise FitError(f"{path.name} has no method 'forward', so nothing can be played: add one")

    def call(given: dict[str, Any]) -> Any:
        # optimised execution specialises after the first calls, which may change the last bits
        with _optimized_execution(False):
            return module.forward(**given)

    returns = [ast.parse(value.type.annotation_str, mode="eval").body for value in schema.returns]
    return Loaded(
        "script",
        str(module.original_name),
        path,
        call,
        _shapes(module),
        tuple(map(argument_of_schema, schema.arguments[1:])),
        sum(map(leaves_in, returns)),
        lambda: _last_operators(module),
    )


def load_export(path: Path) -> Loaded:
    """Load a torch.export program."""
    with quiet(path):
        module: Any = torch.export.load(path).module()
    name = "torch.export program"
    return Loaded("export", name, path, _positional(module), _shapes(module))


def load_pickled_module(path: Path) -> Loaded:
    """Load a module that was pickled whole."""
    with quiet(path):
        module = torch.load(path, map_location="cpu", weights_only=False)
    if not isinstance(module, torch.nn.Module):
        keys = [str(key) for key in list(module)[:4]] if isinstance(module, dict) else []
        raise FitError(about_weights(path, type(module).__name__, keys))
    arguments = arguments_of_python(module.forward)
    return Loaded(
        "pickle",
        type(module.module if isinstance(module, Acting) else module).__name__,
        path,
        _positional(module.eval()),
        _shapes(module),
        arguments,
    )


def about_weights(path: Path, what: str, keys: list[str]) -> str:
    """Return the message for a file that has weights and no network."""
    listed = f" ({', '.join(keys)}, ...)" if keys else ""
    return (
        f"{path.name} holds weights only, a {what}{listed}, and no network to put them in: use "
        f"weights:{path.name}, or build the module, call its load_state_dict, then {HOW_TO_SAVE}"
    )


def _positional(module: Any) -> Any:
    return lambda given: module(*given.values())


def _shapes(module: Any) -> dict[str, tuple[int, ...]]:
    return {name: tuple(weight.shape) for name, weight in module.named_parameters()}


def _last_operators(module: Any) -> tuple[str, ...]:
    """Return the operators at the end of the first output, the last one first."""
    graph = module.forward.inlined_graph  # held, because its nodes die with it
    value: Any = next(graph.outputs())
    while value.node().kind() == "prim::TupleConstruct":
        value = next(value.node().inputs())
    names, level = [], [value]
    for _ in range(3):
        nodes = [v.node() for v in level]
        names += [node.kind() for node in nodes]
        level = [v for node in nodes if node.kind() in _FOLLOWED for v in node.inputs()]
    return tuple(names)


@contextmanager
def quiet(path: Path) -> Iterator[None]:
    """Load without torch's remarks on TorchScript's age, and put failures in one line."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        except Exception as error:  # torch raises anything for a damaged file
            raise FitError(f"torch cannot read {path.name}: {one_line(error)[:300]}") from error

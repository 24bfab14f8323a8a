"""Modules that act by something else than a plain `forward`, asked for their most likely action."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, distributions, nn

from rpd_core.errors import FitError

_NUMBERS = ("action_value", "logits", "action")
"""What a module of torchrl may give, the most telling first."""
_METHODS = ("get_action", "get_action_and_value")
"""They are asked before `forward`, which then gives what an action is made of."""
_OTHERS = ("act", "predict")


class Acting(nn.Module):
    """Asks a module in the way that it wants to be asked."""

    def __init__(self, module: nn.Module, ask: Callable[[Any, Tensor], Any]) -> None:
        super().__init__()
        self.module, self.ask = module, ask

    def forward(self, observation: Tensor) -> Tensor:
        """Return what the module does, or the numbers that decide it."""
        with _most_likely():
            return _first(self.ask(self.module, observation))


def acting(module: nn.Module) -> nn.Module:
    """Return a module that maps a batch of observations to actions, or to numbers for them."""
    ask = _way(module)
    return module if ask is None else Acting(module, ask)


def _way(module: Any) -> Callable[[Any, Tensor], Any] | None:
    """Return how a module is to be asked; None: by calling it."""
    if _has(module, "map_action"):
        return _ask_tianshou
    if any(key in _NUMBERS for key in getattr(module, "out_keys", ())):
        return _ask_torchrl
    if _has(module, "act") and _has(module, "compute"):
        return _ask_skrl
    unusable = type(module).forward is nn.Module.forward
    for name in (*_METHODS, *(_OTHERS if unusable else ())):
        if _has(module, name):
            return _Method(name)
    if unusable:
        raise FitError(
            f"{type(module).__name__} has no forward, act, predict or get_action for a batch of "
            "observations: hand over a function that calls it"
        )
    return None


def _has(module: Any, name: str) -> bool:
    return callable(getattr(type(module), name, None))


class _Method:
    """Calls a method with the observations alone."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, module: Any, observation: Tensor) -> Any:
        return getattr(module, self.name)(observation)


def _ask_tianshou(module: Any, observation: Tensor) -> Any:
    """Ask a policy of tianshou, which sees a batch with `obs` and scales what it does."""
    answer = module(SimpleNamespace(obs=observation, info={}))
    return torch.as_tensor(module.map_action(answer.act))


def _ask_torchrl(module: Any, observation: Tensor) -> Any:
    """Ask a module of torchrl, which gives a tuple of what it names."""
    name = next(key for key in _NUMBERS if key in module.out_keys)
    answer = module(observation)
    return answer[module.out_keys.index(name)] if isinstance(answer, tuple) else answer


def _ask_skrl(module: Any, observation: Tensor) -> Any:
    """Ask a model of skrl for its logits, or for the mean of its action."""
    return module.compute({"observations": observation, "states": observation}, role="policy")


def _first(answer: Any) -> Tensor:
    """Return the first tensor of an answer."""
    while isinstance(answer, tuple | list) and answer:
        answer = answer[0]
    return torch.as_tensor(answer)


_DRAWING: tuple[tuple[Any, str], ...] = (
    (distributions.Categorical, "sample"),
    (distributions.Bernoulli, "sample"),
    (distributions.Normal, "sample"),
    (distributions.Normal, "rsample"),
)


@contextmanager
def _most_likely() -> Iterator[None]:
    """Have torch's distributions give their most likely value where they would draw one."""

    def mode(distribution: Any, sample_shape: Any = ()) -> Tensor:
        likely: Tensor = distribution.mode
        return likely

    before = [getattr(kind, method) for kind, method in _DRAWING]
    for kind, method in _DRAWING:
        setattr(kind, method, mode)
    try:
        yield
    finally:
        for (kind, method), function in zip(_DRAWING, before, strict=True):
            setattr(kind, method, function)

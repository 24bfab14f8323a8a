"""Torch modules that live in this process become files, weights and all."""

from __future__ import annotations

import threading
import warnings
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces

import rpd
from rpd_core.chance import Draws
from rpd_core.config.resolve import choose
from rpd_core.errors import FitError
from rpd_core.plugin.protocols import Facts, PolicyInput
from rpd_core.plugin.registry import Registry

FACTS = Facts(spaces.Box(-1.0, 1.0, (3,), np.float32), spaces.Discrete(2), 4)
ROWS = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]], np.float32)
SEEN = PolicyInput(
    ROWS,
    {},
    np.ones(4, bool),
    None,
    Draws(np.arange(4, dtype=np.uint64), np.zeros(4, dtype=np.int64)),
    np.zeros(4),
    np.zeros(4),
)


class QNet(torch.nn.Module):
    """Prefers the second action where the weighted sum is positive."""

    def __init__(self, weight: float) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 2, bias=False)
        with torch.no_grad():
            self.linear.weight.copy_(torch.tensor([[0.0, 0.0, 0.0], [weight, -1.0, 2.0]]))
        self.dropout = torch.nn.Dropout(0.9)

    def forward(self, seen: torch.Tensor) -> torch.Tensor:
        return self.dropout(self.linear(seen))  # type: ignore[no-any-return]


def test_a_module_plays_as_it_is_in_evaluation(registry: Registry) -> None:
    module = QNet(1.0)
    recipe = choose(registry, "policy", module).recipe
    assert recipe.load(FACTS)(SEEN).actions.tolist() == [1, 0, 1, 1]
    assert module.training


def test_weights_are_part_of_what_a_module_is(registry: Registry) -> None:
    first, same, other = (choose(registry, "policy", QNet(w)).recipe.path for w in (1.0, 1.0, -9.0))
    assert first == same != other


def test_a_module_of_a_notebook_brings_its_class_along(registry: Registry) -> None:
    cell = ModuleType("__main__")
    source = (
        "import torch\n"
        "class QNet(torch.nn.Module):\n"
        "    def forward(self, seen):\n"
        "        return torch.stack([seen[:, 0] * 0, seen[:, 0]], 1)\n"
    )
    exec(source, vars(cell))
    recipe = choose(registry, "policy", vars(cell)["QNet"]()).recipe
    assert recipe.load(FACTS)(SEEN).actions.tolist() == [1, 0, 0, 1]


def test_a_scripted_module_needs_no_trust(registry: Registry) -> None:
    with warnings.catch_warnings(action="ignore"):
        scripted = torch.jit.script(QNet(1.0))
    recipe = choose(registry, "policy", scripted).recipe
    assert not recipe.trust
    assert recipe.load(FACTS)(SEEN).actions.tolist() == [1, 0, 1, 1]


def test_what_the_numbers_mean_can_be_given_with_a_module() -> None:
    recipe: Any = rpd.as_policy(torch.nn.Linear(3, 2), output="q", divide="2")
    assert (recipe.output, recipe.divide) == ("q", 2.0)


def test_a_module_that_cannot_travel_is_refused_in_a_sentence(registry: Registry) -> None:
    module = QNet(1.0)
    module.lock = threading.Lock()  # type: ignore[assignment]
    with pytest.raises(FitError, match=r"QNet cannot be sent to worker processes .*a function"):
        choose(registry, "policy", module)

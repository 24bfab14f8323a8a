"""The kit over every bundled component, and over components with faults."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import ClassVar

import gymnasium
import numpy as np
import pytest

from rpd_core.plugin.registry import installed
from rpd_kit import check_component, check_recipe, check_registration

CLUSTERS = {"dask", "ray"}
"""Executors that take long to start; the tests of each share one cluster and check it."""
READY = [r for r in installed().registrations if r.ready and r.component.name not in CLUSTERS]
GIVEN = [
    ("environment", "atari:Pong", None),
    ("environment", "gym:CartPole-v1", None),
    ("environment", f"python:{__name__}:make_cart", None),
    ("policy", f"python:{__name__}:push_left", "cartpole"),
    ("abstraction", f"python:{__name__}:rounded", "cartpole"),
    ("default-action", f"python:{__name__}:push_right", "cartpole"),
    ("measure", f"python:{__name__}:failures", None),
    ("condition", f"python:{__name__}:positive", None),
    ("default-action", "hold:3", None),
    ("abstraction", "select:0+2", None),
    ("abstraction", "scale:2", None),
    ("abstraction", "view:screen", None),
    ("abstraction", "view:cell", "minigrid"),
    ("abstraction", "crop:0+5+1+6", None),
    ("abstraction", "resize:4+5", None),
    ("abstraction", "breakout", "atari:Breakout"),
    ("abstraction", "pong", "atari:Pong"),
    ("abstraction", "clusters:3", "minigrid"),
    ("default-action", "constant:0", None),
    ("default-action", "policy:random", None),
    ("condition", "return>0", None),
    ("condition", "soft-return:low=-1,high=1", None),
    ("condition", "length>5", None),
    ("condition", "ended:truncated", None),
    ("condition", "info:is_success", None),
    ("measure", "tarantula:mutation", None),
]
"""Components that need parameters or an environment, with one."""
FILES = {"atari-zoo", "onnx", "pruned", "sb3", "torchscript", "weights"}
"""Policies that need a file; the tests of each make one and check it."""
OF_ONE = {"atari", "minigrid"}
"""Panels that show what one environment alone has; the tests of each draw them."""


def make_cart():
    return gymnasium.make("CartPole-v1")


def push_left(observations):
    return np.zeros(len(observations), dtype=int)


def rounded(observations):
    return np.round(observations, 1)


def push_right(moment):
    return np.ones(len(moment.starts), dtype=int)


def failures(evidence):
    return evidence.spectrum.mutated_failed


def positive(episodes):
    return episodes.total_return > 0


@pytest.mark.parametrize("found", READY, ids=lambda r: f"{r.kind}-{r.component.name}")
def test_every_bundled_component_conforms_and_was_really_checked(found):
    report = check_registration(installed(), found)
    assert report.faults == []
    name = found.component.name
    given = {(kind, re.split("[:<>]", spec)[0]) for kind, spec, _ in GIVEN}
    elsewhere = name in {"policy": FILES, "panel": OF_ONE}.get(found.kind, ())
    assert report.notes == [] or (found.kind, name) in given or elsewhere


@pytest.mark.parametrize(("kind", "spec", "environment"), GIVEN)
def test_components_that_need_more_than_a_name_conform(kind, spec, environment):
    assert check_component(kind, spec, environment=environment) == []


@dataclass(frozen=True)
class Nan:
    def __call__(self, evidence):
        s = evidence.spectrum
        with np.errstate(all="ignore"):
            return s.mutated_failed / (s.mutated_failed - s.mutated_failed)


@dataclass(frozen=True)
class Short:
    def __call__(self, evidence):
        return evidence.spectrum.mutated_failed[:-1]


@dataclass(frozen=True)
class Moody:
    calls: ClassVar[list[int]] = []

    def __call__(self, evidence):
        self.calls.append(1)
        return evidence.spectrum.mutated_failed + len(self.calls)


@dataclass(frozen=True)
class Vandal:
    def __call__(self, evidence):
        evidence.spectrum.mutated_failed[:] = 0
        return evidence.spectrum.mutated_failed.copy()


@dataclass(frozen=True)
class OrderMatters:
    def __call__(self, evidence):
        return np.arange(len(evidence.spectrum.mutated_failed), dtype=float)


@dataclass
class Melted:
    def __call__(self, evidence):
        return evidence.spectrum.mutated_failed


@dataclass(frozen=True)
class Raises:
    def __call__(self, evidence):
        raise KeyError("oops")


@pytest.mark.parametrize(
    ("measure", "fault"),
    [
        (Nan(), "gave nan for a state with {'mutated_failed': "),
        (Short(), "gave scores of float64 (39,) for 40 states"),
        (Moody(), "different scores when asked twice"),
        (Vandal(), "changed the spectrum"),
        (OrderMatters(), "another score when the states came in another order"),
        (Melted(), "is not frozen"),
        (Raises(), "raised KeyError"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_the_kit_finds_faulty_measures(measure, fault):
    assert any(fault in found for found in check_recipe("measure", measure))


@dataclass(frozen=True)
class Neighbours:
    def __call__(self, values, views):
        return np.asarray(values).reshape(len(values), -1) - np.asarray(values).mean()


@dataclass(frozen=True)
class OutOfSpace:
    def open(self, facts):
        return lambda moment: np.full(facts.lanes, 99)


@dataclass(frozen=True)
class Heavy:
    def __call__(self, episodes):
        return np.full(len(episodes), 2.0)


@pytest.mark.parametrize(
    ("kind", "recipe", "fault"),
    [
        ("abstraction", Neighbours(), "depend on the others"),
        ("default-action", OutOfSpace(), "not in Discrete(2)"),
        ("condition", Heavy(), "outside [0, 1]"),
    ],
)
def test_the_kit_finds_other_faults(kind, recipe, fault):
    assert any(fault in found for found in check_recipe(kind, recipe))


@dataclass(frozen=True)
class DividesBy:
    """A share of the episodes in some cells: 0 by 0 where all of these are 0."""

    cells: tuple[str, ...]

    def __call__(self, evidence):
        chosen = [getattr(evidence.spectrum, name) for name in self.cells]
        with np.errstate(all="ignore"):
            return chosen[0] / sum(chosen)


CELLS = ("mutated_failed", "mutated_passed", "kept_failed", "kept_passed")


@pytest.mark.parametrize(
    "cells", [some for size in (1, 2, 3, 4) for some in itertools.combinations(CELLS, size)]
)
def test_a_measure_that_divides_0_by_0_is_found_whichever_cells_are_0(cells):
    """Fifteen ways to divide; the sample of episodes alone shows only the common ones."""
    faults = check_recipe("measure", DividesBy(cells))
    assert any("gave nan for a state with" in fault for fault in faults), faults
    assert any("say what 0/0 means" in fault for fault in faults), faults


@dataclass(frozen=True)
class Bare:
    """Nothing that any kind of component must have."""


@dataclass(frozen=True)
class HalfAnEnvironment:
    def task(self):
        raise NotImplementedError


@pytest.mark.parametrize(
    ("kind", "recipe", "lacking"),
    [
        ("environment", Bare(), "lacks task and open of the protocol Environment"),
        ("environment", HalfAnEnvironment(), "lacks open of the protocol Environment"),
        ("policy", Bare(), "lacks load of the protocol PolicyLoader, which asks for load(facts)"),
        ("abstraction", Bare(), "lacks __call__ of the protocol Abstraction"),
        ("default-action", Bare(), "lacks open of the protocol DefaultAction"),
        ("measure", Bare(), "lacks __call__ of the protocol Measure"),
        ("condition", Bare(), "lacks __call__ of the protocol Condition"),
        ("executor", Bare(), "lacks open of the protocol Executor, which asks for open(workers)"),
    ],
)
def test_the_kit_names_the_method_that_a_component_lacks(kind, recipe, lacking):
    (fault,) = check_recipe(kind, recipe)
    assert fault.startswith(lacking)

"""The kit over every bundled component, and over components with faults."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

import gymnasium
import numpy as np
import pytest

from rpd_core.plugin.registry import installed
from rpd_core.testing import check_component, check_recipe, check_registration

READY = [r for r in installed().registrations if r.ready]
GIVEN = [
    ("environment", "atari:Pong", None),
    ("environment", "gym:CartPole-v1", None),
    ("environment", f"python:{__name__}:make_cart", None),
    ("policy", f"python:{__name__}:push_left", "cartpole"),
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
    ("condition", "length>5", None),
    ("condition", "ended:truncated", None),
    ("condition", "info:is_success", None),
    ("measure", "tarantula:mutation", None),
]
"""Components that need parameters or an environment, with one."""
FILES = {"atari-zoo", "pruned", "sb3", "torchscript"}
"""Policies that need a file; the tests of each make one and check it."""


def make_cart():
    return gymnasium.make("CartPole-v1")


def push_left(observations):
    return np.zeros(len(observations), dtype=int)


@pytest.mark.parametrize("found", READY, ids=lambda r: f"{r.kind}-{r.component.name}")
def test_every_bundled_component_conforms_and_was_really_checked(found):
    report = check_registration(installed(), found)
    assert report.faults == []
    name = found.component.name
    given = {(kind, re.split("[:<>]", spec)[0]) for kind, spec, _ in GIVEN}
    elsewhere = found.kind == "policy" and name in FILES
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
        (Nan(), "not finite"),
        (Short(), "scores of shape"),
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


@dataclass(frozen=True)
class DropsErrors:
    def execute(self, queue, workers):
        from rpd_core.plugin.protocols import Outcome

        while (item := queue.take()) is not None:
            try:
                yield Outcome(item, item.function(item.argument))
            except ValueError:
                continue


@pytest.mark.parametrize(
    ("kind", "recipe", "fault"),
    [
        ("abstraction", Neighbours(), "depend on the others"),
        ("default-action", OutOfSpace(), "not in Discrete(2)"),
        ("condition", Heavy(), "outside [0, 1]"),
        ("executor", DropsErrors(), "did not give the error"),
        ("environment", Heavy(), "does not follow the protocol Environment"),
    ],
)
def test_the_kit_finds_other_faults(kind, recipe, fault):
    assert any(fault in found for found in check_recipe(kind, recipe))

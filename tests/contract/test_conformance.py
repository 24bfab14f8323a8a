"""The kit over every bundled component, and over components with faults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from rpd_core.registry import installed
from rpd_core.testing import check_component, check_recipe, check_registration

READY = [r for r in installed().registrations if r.ready]


@pytest.mark.parametrize("found", READY, ids=lambda r: f"{r.kind}-{r.component.name}")
def test_every_bundled_component_conforms(found):
    assert check_registration(installed(), found) == []


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        ("default-action", "constant:0"),
        ("default-action", "policy:random"),
        ("abstraction", "select:0+2"),
        ("abstraction", "scale:2"),
        ("condition", "return>0"),
        ("condition", "ended:truncated"),
        ("condition", "info:is_success"),
        ("environment", "gym:CartPole-v1"),
        ("measure", "tarantula:mutation"),
    ],
)
def test_components_that_need_parameters_conform(kind, spec):
    assert check_component(kind, spec) == []


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
        from rpd_core.work import Outcome

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

"""Environments with one fault each, which the kit must find."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import worlds

from rpd_core.plugin.protocols import StepResult
from rpd_kit import check_recipe


class Rewarding(worlds.CorridorLanes):
    def step(self, actions, active):
        result = super().step(actions, active)
        return StepResult(result.rewards.astype(int), result.terminated, result.truncated)


class Restless(worlds.CorridorLanes):
    def step(self, actions, active):
        return super().step(actions, active | True)


class Blind(worlds.CorridorLanes):
    def observe(self):
        return self.states[1:].copy()


class Narrow(worlds.CorridorLanes):
    def observe(self):
        return self.states[:, 0].copy()


class Counting(worlds.CorridorLanes):
    episodes = 0

    def reset(self, lanes, seeds):
        self.episodes += 1
        super().reset(lanes, seeds + self.episodes)


@dataclass(frozen=True)
class Tunnel(worlds.Corridor):
    lanes: type = worlds.CorridorLanes

    def open(self, opening):
        return self.lanes(opening.lanes)


@pytest.mark.parametrize(
    ("lanes", "fault"),
    [
        (Rewarding, "gave rewards of int64 (4,) for 4 lanes, not floats"),
        (Restless, "changed lanes that were not active"),
        (Blind, "observations of shape (3, 1) before the first reset, for 4 lanes"),
        (Narrow, "observes int64 (4,) before the first reset"),
        (Counting, "gave another episode"),
    ],
)
def test_the_kit_finds_the_fault_of_an_environment(lanes, fault):
    assert check_recipe("environment", Tunnel()) == []
    faults = check_recipe("environment", Tunnel(lanes))
    assert any(fault in found for found in faults), faults

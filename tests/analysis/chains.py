"""A world of many states with known effects, quick enough for hundreds of suites.

An episode meets the states in order, each with a chance of its own, flips a coin for it, and may
end there in failure; the chance of that depends on state and coin. Who comes through all states
passes. States share episodes, and a failure keeps later states from being visited. Whether an
episode reaches a state has no bearing on what comes after it, so true effects are a product.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rpd_core.plugin.protocols import Spectrum


@dataclass(frozen=True)
class Chain:
    """One row per state, in the order in which episodes meet them."""

    visited: np.ndarray
    """Chance that an episode that got this far visits the state."""
    fails_mutated: np.ndarray
    """Chance to fail there if it is mutated."""
    fails_kept: np.ndarray
    """Chance to fail there if it is kept."""
    rate: float = 0.3
    """Mutation rate."""

    @property
    def survival(self) -> np.ndarray:
        """Chance to pass once a state is left behind."""
        fails = self.rate * self.fails_mutated + (1 - self.rate) * self.fails_kept
        onwards = np.cumprod((1 - self.visited * fails)[::-1])[::-1]
        return np.append(onwards[1:], 1.0)

    @property
    def effect(self) -> np.ndarray:
        """True effects."""
        return (self.fails_mutated - self.fails_kept) * self.survival

    def play(self, episodes: int, generator: np.random.Generator, soft: bool = False) -> Spectrum:
        """Return the spectrum of a fresh suite.

        Under a soft condition every second failed episode, by chance, counts as half passed: true
        effects are three quarters of what they are otherwise.
        """
        shape = episodes, len(self.visited)
        mutated = generator.random(shape, np.float32) < self.rate
        visited = generator.random(shape, np.float32) < self.visited
        chance = np.where(mutated, self.fails_mutated, self.fails_kept)
        failing = visited & (generator.random(shape, np.float32) < chance)
        before = np.zeros(shape, dtype=np.bool_)
        np.logical_or.accumulate(failing[:, :-1], axis=1, out=before[:, 1:])
        visited &= ~before
        failed = failing.any(axis=1).astype(np.float64)
        if soft:
            failed *= generator.choice([0.5, 1.0], episodes)

        def count(fate: np.ndarray, amount: np.ndarray) -> np.ndarray:
            return amount @ (fate & visited)

        return Spectrum(
            count(mutated, failed),
            count(mutated, 1 - failed),
            count(~mutated, failed),
            count(~mutated, 1 - failed),
        )


def chain(effects: np.ndarray, visited: np.ndarray, last_risk: float) -> Chain:
    """Return the chain with these true effects, whose last state fails by `last_risk` either way.

    Effects are made from the end, where the survival is known; a negative one means that keeping
    the policy's action is what fails.
    """
    fails_mutated, fails_kept = np.zeros(len(effects)), np.zeros(len(effects))
    fails_mutated[-1] = fails_kept[-1] = last_risk
    for state in range(len(effects) - 2, -1, -1):
        survival = Chain(visited, fails_mutated, fails_kept).survival[state]
        fails_mutated[state] = max(effects[state], 0.0) / survival
        fails_kept[state] = max(-effects[state], 0.0) / survival
    assert max(fails_mutated.max(), fails_kept.max()) <= 1, "no such effect can be had there"
    return Chain(visited, fails_mutated, fails_kept)


def mixed_chain(states: int, margin: float = 0.05) -> Chain:
    """Return a chain in which half of the states have no effect, others any, or just the margin."""
    generator = np.random.default_rng(states)
    effects = np.zeros(states)
    effective = generator.permutation(states - 1)[: states // 2]
    kinds = np.array([0.3, 0.2, 0.15, 0.1, margin, margin, -margin, 0.02, -0.1, 0.25])
    effects[effective] = np.resize(kinds, len(effective))
    visited = np.clip(generator.lognormal(np.log(6 / states), 1.0, states), 0.02, 0.8)
    visited[-1] = 1.0
    return chain(effects, visited, 0.2)


def evidence_of(spectrum: Spectrum, least: int = 10) -> np.ndarray:
    """Return which states have at least so many episodes in each arm."""
    mutated = spectrum.mutated_failed + spectrum.mutated_passed
    kept = spectrum.kept_failed + spectrum.kept_passed
    return (mutated >= least) & (kept >= least)

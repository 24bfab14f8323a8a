"""Looks at a growing suite: verdicts stay, and few of them are false over all looks."""

from __future__ import annotations

import numpy as np
import pytest
from chains import Chain, evidence_of, mixed_chain
from test_intervals import spectrum
from test_verdicts import MARGIN, no_effects

from rpd_core.analysis.sequential import look_again, look_level, settled
from rpd_core.analysis.verdicts import Verdict, judge
from rpd_core.errors import ConfigError
from rpd_core.plugin.protocols import Spectrum

REPEATS, LOOKS = 400, 4


def test_levels_halve_and_add_up_to_what_is_promised() -> None:
    assert look_level(1) == pytest.approx(0.025)
    assert look_level(3, confidence=0.9) == pytest.approx(0.0125)
    assert sum(look_level(look) for look in range(1, 60)) == pytest.approx(0.05)


@pytest.mark.parametrize(("look", "confidence"), [(0, 0.95), (1, 95.0), (1, 1.0)])
def test_a_look_or_confidence_out_of_range_is_refused(look: int, confidence: float) -> None:
    with pytest.raises(ConfigError):
        look_level(look, confidence)


def test_a_verdict_once_given_stays_and_undecided_states_may_still_get_one() -> None:
    keys = np.array([7, 8, 9, 2**63 + 5], dtype=np.uint64)
    every = np.ones(4, dtype=np.bool_)
    early = spectrum((90, 10, 10, 90), (5, 5, 5, 5), (5, 5, 5, 5), (5, 5, 5, 5))
    first = settled({}, keys, judge(early, every))
    assert first == {7: Verdict.MATTERS}
    later = spectrum((90, 900, 900, 90), (90, 10, 10, 90), (5, 5, 5, 5), (10, 90, 90, 10))
    second = settled(first, keys, judge(later, every))
    assert second == {
        7: Verdict.MATTERS,
        8: Verdict.MATTERS,
        2**63 + 5: Verdict.DEFAULT_BETTER,
    }
    assert first == {7: Verdict.MATTERS}


def test_a_state_that_a_later_look_does_not_hold_keeps_its_verdict() -> None:
    keys = np.array([3], dtype=np.uint64)
    later = judge(spectrum((5, 5, 5, 5)), np.zeros(1, dtype=np.bool_))
    assert settled({1: Verdict.HARMLESS}, keys, later) == {1: Verdict.HARMLESS}


def test_a_later_look_asks_for_more() -> None:
    keys, every = np.array([1], dtype=np.uint64), np.ones(1, dtype=np.bool_)
    given = spectrum((22, 8, 10, 20))
    assert look_again({}, keys, given, every, look=1)[0] == {1: Verdict.MATTERS}
    found, verdicts = look_again({}, keys, given, every, look=5)
    assert found == {}
    assert verdicts.labels() == [Verdict.UNDECIDED]


def false_share(found: dict[int, Verdict], effect: np.ndarray) -> float:
    hair = 1e-9
    contradicts = {
        Verdict.MATTERS: effect <= hair,
        Verdict.DEFAULT_BETTER: effect >= -hair,
        Verdict.HARMLESS: np.abs(effect) >= MARGIN - hair,
    }
    return sum(contradicts[label][key] for key, label in found.items()) / max(len(found), 1)


def grow(world: Chain, episodes: int, generator: np.random.Generator) -> dict[int, Verdict]:
    """Double a suite from `episodes` on and return what is settled after all looks."""
    keys = np.arange(len(world.visited)).astype(np.uint64)
    given, found = world.play(episodes, generator), {}
    for look in range(1, LOOKS + 1):
        if look > 1:
            more = world.play(episodes * 2 ** (look - 2), generator)
            joined = {name: cell + vars(more)[name] for name, cell in vars(given).items()}
            given = Spectrum(**joined)
        found, _ = look_again(found, keys, given, evidence_of(given), look, margin=MARGIN)
    return found


@pytest.mark.parametrize("world", [mixed_chain(60), no_effects()], ids=["mixed", "none"])
def test_over_all_looks_at_most_one_verdict_in_twenty_is_false(world: Chain) -> None:
    generator = np.random.default_rng(12)
    shares, counts = [], []
    for _ in range(REPEATS):
        found = grow(world, 150, generator)
        shares.append(false_share(found, world.effect))
        counts.append(len(found))
    error = np.std(shares) / np.sqrt(REPEATS)
    assert np.mean(shares) <= 0.05 + 2 * error
    if world.effect.max() > 0.1:
        assert np.mean(counts) > 2

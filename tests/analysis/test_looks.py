"""Verdicts over looks at a suite that doubles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from chains import Chain, chain, evidence_of, mixed_chain

from rpd_core.analysis.decisions import Looks, Rules, look_level, look_sizes
from rpd_core.analysis.verdicts import Verdict, judge
from rpd_core.plugin.protocols import Spectrum

MARGIN = 0.05


@dataclass(frozen=True)
class Counted:
    """What of a tally the looks read."""

    spectrum: Spectrum
    states: Counted.Keys
    differed: np.ndarray

    @dataclass(frozen=True)
    class Keys:
        key: np.ndarray


def counted(spectrum: Spectrum, keys: list[int] | None = None) -> Counted:
    rows = np.arange(len(spectrum)) if keys is None else np.array(keys)
    return Counted(spectrum, Counted.Keys(rows.astype(np.uint64)), np.ones(len(rows)))


def spectrum(*rows: tuple[int, int, int, int]) -> Spectrum:
    return Spectrum(*np.array(rows, dtype=np.float64).T)


@pytest.mark.parametrize(
    ("first", "last", "sizes"),
    [
        (100, 100, (100,)),
        (100, 400, (100, 200, 400)),
        (100, 500, (100, 200, 400, 500)),
        (100, 60, (60,)),
    ],
)
def test_a_suite_doubles_until_it_may_not(first: int, last: int, sizes: tuple[int, ...]) -> None:
    assert look_sizes(first, last) == sizes


def test_the_levels_of_all_looks_add_up_to_what_may_be_false() -> None:
    assert look_level(1, 0.95) == pytest.approx(0.025)
    assert sum(look_level(k, 0.9) for k in range(1, 60)) == pytest.approx(0.1)


def test_a_look_judges_at_its_own_level() -> None:
    table = spectrum((18, 2, 11, 9), (10, 10, 10, 10))
    looks, everywhere = Looks(Rules(10, MARGIN)), np.ones(2, dtype=np.bool_)
    for number in (1, 2, 3):
        alone = judge(table, everywhere, MARGIN, 0.05 / 2**number)
        assert (looks.add(counted(table)).codes == alone.codes).all()
    assert judge(table, everywhere, MARGIN, 0.05).are(Verdict.MATTERS)[0]
    assert not Looks(Rules(10, MARGIN)).add(counted(table)).are(Verdict.MATTERS)[0]


def test_a_verdict_once_given_stays_though_states_come_between() -> None:
    looks = Looks(Rules(10, MARGIN))
    first = looks.add(counted(spectrum((90, 10, 10, 90), (50, 50, 50, 50)), [5, 9]))
    assert first.labels() == [Verdict.MATTERS, Verdict.UNDECIDED]
    rows = ((100, 100, 100, 100), (101, 99, 100, 100), (190, 10, 10, 190))
    second = looks.add(counted(spectrum(*rows), [2, 5, 9]))
    assert second.labels() == [Verdict.UNDECIDED, Verdict.MATTERS, Verdict.MATTERS]
    assert second.growth[1] == 1.0
    assert looks.count == 2


def joined(one: Spectrum, other: Spectrum) -> Spectrum:
    cells = zip(vars(one).values(), vars(other).values(), strict=True)
    return Spectrum(*(left + right for left, right in cells))


def no_effects() -> Chain:
    return chain(np.zeros(60), np.append(np.linspace(0.1, 0.6, 59), 1.0), 0.3)


def false_share(codes: np.ndarray, effect: np.ndarray) -> float:
    labels = [list(Verdict)[code] if code >= 0 else None for code in codes.tolist()]
    hair = 1e-9
    false = {
        Verdict.MATTERS: effect <= hair,
        Verdict.DEFAULT_BETTER: effect >= -hair,
        Verdict.HARMLESS: np.abs(effect) >= MARGIN - hair,
    }
    given = [(row, label) for row, label in enumerate(labels) if label in false]
    return sum(bool(false[label][row]) for row, label in given) / max(len(given), 1)


@pytest.mark.slow
@pytest.mark.parametrize("world", [mixed_chain(60), no_effects()], ids=["mixed", "none"])
def test_over_all_looks_at_most_one_verdict_in_twenty_is_false(world: Chain) -> None:
    generator, shares = np.random.default_rng(12), []
    for _ in range(400):
        looks = Looks(Rules(10, MARGIN))
        suite = world.play(200, generator)
        for more in (200, 400, 800, 0):
            codes = looks.add(counted(suite)).codes
            grown = vars(world.play(more, generator)) if more else {}
            suite = Spectrum(
                **{name: cell + grown.get(name, 0) for name, cell in vars(suite).items()}
            )
        shares.append(false_share(codes, world.effect))
    assert evidence_of(suite).sum() >= 50
    assert np.mean(shares) <= 0.05 + 2 * np.std(shares) / np.sqrt(len(shares))

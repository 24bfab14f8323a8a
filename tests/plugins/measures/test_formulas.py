"""The further measures of fault localisation: by hand, against a library, and their families."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
import pytest
from flitsr.suspicious import Suspicious
from hypothesis import given
from measure_tables import TABLE, TABLES, scores

from rpd_core.errors import SpecError
from rpd_core.plugin.registry import installed

INF = 2.0**200
"""x / 0 is x times this."""

ALIKE = {
    "jaccard": [1 / 2, 0, 1, 0, 1 / 2, 0, 1 / 7],
    "dice": [2 / 3, 0, 1, 0, 2 / 3, 0, 1 / 4],
    "anderberg": [1 / 3, 0, 1, 0, 1 / 3, 0, 1 / 13],
    "goodman": [1 / 3, -1, 1, -1, 1 / 3, 0, -1 / 2],
    "kulczynski1": [1, 0, 5 * INF, 0, 1, 0, 1 / 6],
    "kulczynski2": [27 / 40, 0, 1, 0, 3 / 4, 0, 1 / 4],
    "overlap": [3, 0, 5 * INF, 0, 2 * INF, 0, 1],
    "russell-rao": [1 / 4, 0, 5 / 8, 0, 1 / 2, 0, 1 / 8],
    "simple-matching": [3 / 4, 1 / 4, 1, 1 / 2, 1 / 2, 0, 1 / 4],
    "hamann": [1 / 2, -1 / 2, 1, 0, 0, 0, -1 / 2],
    "sokal": [6 / 7, 2 / 5, 1, 2 / 3, 2 / 3, 0, 2 / 5],
    "rogers-tanimoto": [3 / 5, 1 / 7, 1, 1 / 3, 1 / 3, 0, 1 / 7],
    "m1": [3, 1 / 3, 8 * INF, 1, 1, 0, 1 / 3],
    "m2": [1 / 5, 0, 5 / 8, 0, 1 / 3, 0, 1 / 14],
    "hamming": [9, 2, 8, 1, 2, 0, 2],
    "euclid": [3, sqrt(2), sqrt(8), 1, sqrt(2), 0, sqrt(2)],
    "phi": [16 / sqrt(1120), -8 / sqrt(192), 1, 0, 0, 0, -1 / 2],
    "ochiai2": [18 / sqrt(1120), 0, 1, 0, 0, 0, 1 / 16],
    "arithmetic-mean": [32 / 67, -4 / 7, 1, 0, 0, 0, -1 / 2],
    "harmonic-mean": [16 / 35 + 1 / 2, -7 / 6, 2, 0, 0, 0, -1],
    "cohen": [8 / 17, -1 / 2, 1, 0, 0, 0, -1 / 2],
    "scott": [7 / 15, -3 / 5, 1, -1 / 3, -1 / 3, 0, -1 / 2],
    "rogot1": [11 / 30, 1 / 10, 1 / 2, 1 / 6, 1 / 6, 0, 1 / 8],
    "dstar": [3, 0, 25 * INF, 0, 2, 0, 1 / 6],
    "dstar:star=3": [9, 0, 125 * INF, 0, 4, 0, 1 / 6],
    "wong1": [3, 0, 5, 0, 2, 0, 1],
    "gp19": [3 * sqrt(6), 0, 5 * sqrt(8), 0, 0, 0, 2],
}
"""Measures in which a_ep and a_nf play the same part, so that both readings give the same."""

PUBLISHED = {
    "ample": [1 / 2, 1 / 2, 1, 1 / 2, 1 / 2, 0, 1 / 2],
    "ample2": [1 / 2, -1 / 2, 1, -1 / 2, 1 / 2, 0, -1 / 2],
    "op": [-1, -1, 3, 1, -1, 0, -1],
    "op2": [25 / 9, -2 / 5, 5, -1 / 3, 2, 0, 2 / 5],
    "barinel": [3 / 5, 0, 1, 0, 1, 0, 1 / 4],
    "wong3": [1, -2, 5, -1, 2, 0, -1.1],
    "gp02": [6 + 2 * sqrt(6) + sqrt(2), sqrt(18), 10 + sqrt(12), 3, 4, 0, 4 + sqrt(3)],
    "gp03": [sqrt(9 - sqrt(2)), 2**0.25, 5, 1, 2, 0, sqrt(sqrt(3) - 1)],
    "gp13": [24 / 7, 0, 6, 0, 3, 0, 8 / 7],
}
MUTATION = {
    "ample": [16 / 35, 2 / 3, 1, 0, 0, 0, 1 / 2],
    "ample2": [16 / 35, -2 / 3, 1, 0, 0, 0, -1 / 2],
    "op": [-1, -1, 3, -1, 0, 0, -1],
    "op2": [23 / 8, -4 / 7, 5, 0, 4 / 3, 0, 2 / 5],
    "barinel": [3 / 4, 0, 1, 0, 1 / 2, 0, 1 / 4],
    "wong3": [2, -2.2, 5, 0, 0, 0, -1.1],
    "gp02": [7 + 2 * sqrt(6), sqrt(8) + 2, 10 + sqrt(12), 2, 4 + sqrt(2), 0, 4 + sqrt(3)],
    "gp03": [sqrt(8), sqrt(2), 5, 0, sqrt(4 - sqrt(2)), 0, sqrt(sqrt(3) - 1)],
    "gp13": [18 / 5, 0, 6, 0, 7 / 3, 0, 8 / 7],
}
FORMULAS = [*ALIKE, *PUBLISHED]


def in_reading(spec: str, reading: str) -> str:
    """Return the spec with a reading."""
    name, _, rest = spec.partition(":")
    return f"{name}:{reading}" + (f",{rest}" if rest else "")


@pytest.mark.parametrize("spec", FORMULAS)
def test_scores_in_both_readings_are_those_worked_out_by_hand(spec: str) -> None:
    for reading, table in (("published", PUBLISHED), ("mutation", MUTATION)):
        by_hand = ALIKE.get(spec) or table[spec]
        found = scores(in_reading(spec, reading), TABLE)
        np.testing.assert_allclose(found, by_hand, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("spec", FORMULAS)
def test_the_published_reading_is_used_when_none_is_given(spec: str) -> None:
    np.testing.assert_array_equal(scores(spec, TABLE), scores(in_reading(spec, "published"), TABLE))


THEIR_NAMES = {
    "dice": "sorensen_dice",
    "russell-rao": "russell_rao",
    "simple-matching": "simpl_match",
    "rogers-tanimoto": "rogers_tanimoto",
    "phi": "geometric",
    "arithmetic-mean": "arith_mean",
    "harmonic-mean": "harmonic",
    "op2": "naish2",
    "barinel": "sbi",
}
"""What the library calls those for which it has another name."""
THEIRS_DIFFERS = {"m2", "op", "ample2", "gp02", "gp03", "gp19", "dstar:star=3"}
"""Not on offer there; its m2 doubles a_ef + a_ep instead of a_nf + a_ep."""


@pytest.mark.parametrize("spec", [name for name in FORMULAS if name not in THEIRS_DIFFERS])
def test_scores_agree_with_an_independent_library(spec: str) -> None:
    tables = np.random.default_rng(1).integers(0, 30, (300, 4))
    tables[np.random.default_rng(2).random((300, 4)) < 0.2] = 0
    for reading in ("published", "mutation"):
        found = scores(in_reading(spec, reading), tables)
        theirs = np.array([their_score(spec, reading, row) for row in tables.tolist()])
        endless = theirs == Suspicious.inf
        np.testing.assert_allclose(found[~endless], theirs[~endless], rtol=1e-12, atol=1e-13)
        assert (found[endless] >= INF).all()
        assert found[~endless].max() < INF


def their_score(spec: str, reading: str, row: list[int]) -> float:
    """Return the library's score of a state."""
    mf, mp, kf, kp = row
    ep, nf = (kf, mp) if reading == "published" else (mp, kf)
    return float(Suspicious(mf, mf + nf, ep, ep + kp).execute(THEIR_NAMES.get(spec, spec)))


def test_the_library_is_still_another_in_what_is_left_out() -> None:
    """If this fails, the library has been mended, and m2 can be compared, too."""
    assert Suspicious(3, 4, 2, 8).m2() == pytest.approx(3 / 19)
    assert scores("m2", [[3, 1, 2, 6]])[0] == pytest.approx(3 / 15)


@pytest.mark.parametrize("spec", ["dstar", "kulczynski1", "m1", "overlap"])
@given(table=TABLES)
def test_a_state_without_exceptions_ranks_above_all_finite_ones(spec: str, table: Any) -> None:
    pure = [[1, 0, 0, 0], [2, 0, 0, 0], [3, 0, 0, 0]]
    found = scores(spec, [*pure, *table.tolist()])
    mp, kf = table[:, 1], table[:, 2]
    finite = found[3:][(np.minimum(kf, mp) if spec == "overlap" else kf + mp) > 0]
    assert 0 < found[0] < found[1] < found[2] < np.inf
    assert (finite < found[0]).all()


FAMILIES = [
    ("jaccard", ["dice", "anderberg", "goodman", "kulczynski1"]),
    ("simple-matching", ["hamann", "sokal", "rogers-tanimoto", "m1"]),
    ("hamming", ["euclid"]),
]


@pytest.mark.parametrize(("first", "others"), FAMILIES)
def test_a_family_makes_one_ranking(first: str, others: list[str]) -> None:
    table = np.random.default_rng(3).integers(1, 40, (200, 4))
    order = np.argsort(np.round(scores(first, table), 12), kind="stable")
    for other in others:
        gaps = np.diff(scores(other, table)[order])
        assert (gaps >= -1e-9).all(), other


def test_ample2_as_published_is_the_difference_of_risks() -> None:
    mf, mp, kf, kp = table = np.random.default_rng(4).integers(1, 40, (4, 100))
    np.testing.assert_allclose(scores("ample2", table.T), mf / (mf + mp) - kf / (kf + kp))


def test_wong3_grows_ever_more_lenient() -> None:
    table = [[20, 0, kept_failed, 0] for kept_failed in (0, 2, 6, 10, 12, 1010)]
    np.testing.assert_allclose(scores("wong3", table), [20, 18, 17.6, 17.2, 17.198, 16.2])


def test_phi_is_the_correlation_of_mutation_and_failure() -> None:
    mutated = np.repeat([1, 1, 0, 0], [3, 1, 2, 6])
    failed = np.repeat([1, 0, 1, 0], [3, 1, 2, 6])
    assert scores("phi", TABLE)[0] == pytest.approx(np.corrcoef(mutated, failed)[0, 1])


def test_the_power_of_dstar_is_checked() -> None:
    with pytest.raises(SpecError, match=r"dstar: star must lie in 1\.\.10, got 11"):
        installed().make("measure", "dstar:star=11")

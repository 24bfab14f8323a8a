"""Every measure against tables worked out by hand, an independent library, and its symmetries."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
import pytest
from flitsr.suspicious import Suspicious
from hypothesis import given
from hypothesis import strategies as st
from measure_tables import TABLE, TABLES, evidence, scores

from rpd_core.analysis.ranking import rank
from rpd_core.plugin.registry import Registry, installed

BY_HAND = {
    "tarantula": [3 / 4, 0, 1, 0, 1, 0, 1 / 4],
    "tarantula:reading=mutation": [21 / 26, 0, 1, 0, 1 / 2, 0, 1 / 4],
    "ochiai": [3 / sqrt(20), 0, 1, 0, 1 / sqrt(2), 0, 1 / 4],
    "ochiai:reading=mutation": [3 / sqrt(20), 0, 1, 0, 1 / sqrt(2), 0, 1 / 4],
    "zoltar": [9 / 20018, 0, 1, 0, 1 / 2, 0, 1 / 90007],
    "zoltar:reading=mutation": [9 / 20018, 0, 1, 0, 1 / 2, 0, 1 / 90007],
    "wong2": [1, -2, 5, -1, 2, 0, -2],
    "wong2:reading=mutation": [2, -4, 5, 0, 0, 0, -2],
    "freqvis": [12, 8, 8, 2, 4, 0, 8],
}
STANDARD = ["tarantula", "ochiai", "zoltar", "wong2"]


@pytest.mark.parametrize("spec", list(BY_HAND))
def test_scores_are_those_worked_out_by_hand(spec: str) -> None:
    np.testing.assert_allclose(scores(spec, TABLE), BY_HAND[spec], rtol=1e-14, atol=0)


def test_published_is_the_reading_used_when_none_is_given() -> None:
    for name in STANDARD:
        np.testing.assert_array_equal(
            scores(name, TABLE), scores(f"{name}:reading=published", TABLE)
        )
        np.testing.assert_array_equal(scores(name, TABLE), scores(f"{name}:published", TABLE))


def test_weights_between_zero_and_one_are_counted_as_they_are() -> None:
    assert scores("tarantula", [[0.5, 1.5, 0.25, 0.75]]).tolist() == [0.5]
    assert scores("wong2", [[0.5, 1.5, 0.25, 0.75]]).tolist() == [0.25]


@given(TABLES, st.data())
def test_permuting_states_permutes_scores(table: Any, data: Any) -> None:
    order = data.draw(st.permutations(range(len(table))))
    keys = np.arange(len(table)) * 7919
    for spec in [*BY_HAND, "random:seed=3"]:
        np.testing.assert_array_equal(
            scores(spec, table[order], keys[order]), scores(spec, table, keys)[order]
        )


@given(TABLES)
def test_scores_are_finite_and_in_their_range(table: Any) -> None:
    for spec in [*BY_HAND, "random"]:
        found = scores(spec, table)
        assert found.shape == (len(table),)
        assert np.isfinite(found).all()
        if spec.partition(":")[0] in ("tarantula", "ochiai", "zoltar", "random"):
            assert ((found >= 0) & (found <= 1 + 1e-12)).all()


@given(st.integers(1, 50), st.integers(0, 50), st.integers(0, 50), st.integers(1, 50))
def test_one_more_failure_when_mutated_never_lowers_a_score(
    mf: int, mp: int, kf: int, kp: int
) -> None:
    for name in STANDARD:
        less, more = scores(name, [[mf, mp, kf, kp], [mf + 1, mp, kf, kp]])
        assert more >= less - 1e-12


def test_published_tarantula_is_the_share_of_the_risk() -> None:
    table = np.random.default_rng(0).integers(1, 50, (100, 4)).astype(float)
    mf, mp, kf, kp = table.T
    mutated, kept = mf / (mf + mp), kf / (kf + kp)
    np.testing.assert_allclose(scores("tarantula", table), mutated / (mutated + kept))


def test_scores_agree_with_an_independent_library() -> None:
    tables = np.random.default_rng(1).integers(0, 30, (300, 4))
    tables[np.random.default_rng(2).random((300, 4)) < 0.2] = 0
    for reading in ("published", "mutation"):
        for name in STANDARD:
            found = scores(f"{name}:reading={reading}", tables)
            for row, (mf, mp, kf, kp) in enumerate(tables.tolist()):
                ep, nf = (kf, mp) if reading == "published" else (mp, kf)
                theirs = Suspicious(mf, mf + nf, ep, ep + kp).execute(name)
                assert found[row] == pytest.approx(theirs, rel=1e-12), (name, mf, mp, kf, kp)


def test_random_scores_depend_on_key_and_seed_alone() -> None:
    keys = np.arange(50_000) * 31
    table = np.ones((50_000, 4))
    one = scores("random", table, keys)
    np.testing.assert_array_equal(one, scores("random:seed=0", table * 3, keys))
    other = scores("random:seed=1", table, keys)
    assert abs(np.corrcoef(one, other)[0, 1]) < 5 / sqrt(50_000)
    assert abs(one.mean() - 0.5) < 5 / sqrt(12 * 50_000)


def test_the_six_measures_are_on_offer(registry: Registry) -> None:
    names = {found.component.name for found in registry.of_kind("measure") if found.ready}
    assert names >= {"tarantula", "ochiai", "zoltar", "wong2", "freqvis", "random"}


def test_a_perfect_culprit_is_ranked_first_by_all() -> None:
    for name in STANDARD:
        ranking = rank(name, installed().make("measure", name), evidence(TABLE))
        assert ranking.scores[2] == ranking.scores.max()

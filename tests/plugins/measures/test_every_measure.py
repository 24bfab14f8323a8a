"""What every bundled measure promises, on soft counts, too."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from measure_tables import TABLE, TABLES, full_evidence, rows_of

from rpd_core.analysis.ranking import evidence_for
from rpd_core.analysis.spectrum import tally
from rpd_core.plugin.protocols import Evidence, Scores
from rpd_core.plugin.registry import installed
from rpd_kit.measures import sample_suite

BUNDLED = [
    found.component.name
    for found in installed().of_kind("measure")
    if found.plugin == "rpd_measures"
]
VARIANTS = [
    *("effect:shrunken", "effect-return:shrunken", "impact:shrunken", "dstar:star=3"),
    *("differ:visits", "differ:episodes", "differ:first"),
]
WITHOUT_SUITE = [name for name in BUNDLED if name != "regression"] + VARIANTS


def values(spec: str, evidence: Evidence) -> Any:
    """Return the scores alone, checked to have sound intervals if any."""
    found = installed().make("measure", spec)(evidence)
    if not isinstance(found, Scores):
        return found
    known = ~np.isnan(found.low)
    assert found.estimate is not None
    assert np.isfinite(found.estimate).all()
    assert (found.low[known] <= found.estimate[known]).all()
    assert (found.estimate[known] <= found.high[known]).all()
    assert np.isnan(found.high[~known]).all()
    return found.values


def test_there_are_more_than_forty() -> None:
    assert len(BUNDLED) > 40


def test_the_reference_lists_every_one_once_in_a_table() -> None:
    page = Path(__file__).resolve().parents[3] / "docs" / "reference" / "measures.md"
    text = page.read_text(encoding="utf-8")
    listed = re.findall(r"^\| `([a-z0-9-]+)` \|", text, re.MULTILINE)
    for table in re.findall(r"^:file: (measures-[\w-]+\.csv)$", text, re.MULTILINE):
        lines = page.with_name(table).read_text(encoding="utf-8").splitlines()[1:]
        listed += [line.partition(",")[0] for line in lines]
    assert sorted(listed) == sorted(BUNDLED)


@given(table=TABLES, data=st.data())
@settings(max_examples=25)
def test_scores_of_soft_counts_are_finite_and_follow_their_states(table: Any, data: Any) -> None:
    order = np.array(data.draw(st.permutations(range(len(table)))))
    evidence = full_evidence(table)
    turned = rows_of(evidence, order)
    for spec in WITHOUT_SUITE:
        found = values(spec, evidence)
        assert found.shape == (len(table),), spec
        assert np.isfinite(found).all(), spec
        np.testing.assert_allclose(
            values(spec, turned), found[order], rtol=1e-9, atol=1e-9, err_msg=spec
        )


@pytest.mark.parametrize("outcome", ["failure", "return"])
@given(seed=st.integers(0, 100))
@settings(max_examples=20)
def test_regression_is_finite_and_follows_its_states(outcome: str, seed: int) -> None:
    suite = sample_suite(states=12, episodes=30, seed=seed)
    weights = np.random.default_rng(seed).random(30)
    measure = installed().make("measure", f"regression:{outcome}")
    evidence = evidence_for(measure, tally([suite], weights), weights, lambda: suite)
    found = measure(evidence)
    assert found.shape == (12,)
    assert np.isfinite(found).all()
    order = np.random.default_rng(seed).permutation(12)
    turned = replace(evidence, keys=evidence.keys[order])
    np.testing.assert_array_equal(measure(turned), found[order])


@pytest.mark.parametrize("spec", WITHOUT_SUITE)
def test_evidence_is_left_as_it_is_and_scores_are_arrays_of_their_own(spec: str) -> None:
    evidence = full_evidence(TABLE)
    found = values(spec, evidence)
    found[:] = -7
    fresh = full_evidence(TABLE)
    for name in ("spectrum", "returns", "states"):
        for column in vars(getattr(evidence, name)):
            now, then = (getattr(getattr(e, name), column) for e in (evidence, fresh))
            np.testing.assert_array_equal(now, then)
    np.testing.assert_array_equal(evidence.differed, fresh.differed)

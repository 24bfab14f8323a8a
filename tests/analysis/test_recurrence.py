"""Lists by any measure are split and resampled: drawn episodes say what a suite of them would."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from commands import rpd_command
from stores import corridor, finish, ready

from rpd_core.analysis.analysis import Analysis
from rpd_core.analysis.recurrence import Recurrence, counted_visits, streamed_visits
from rpd_core.analysis.spectrum import tally
from rpd_core.analysis.suite import redrawn
from rpd_core.config.resolve import choose
from rpd_core.plugin.protocols import Evidence, Measure
from rpd_core.plugin.registry import installed


@pytest.fixture(scope="module")
def analysis(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    return ready(tmp_path_factory.mktemp("recurrence") / "run").analysis


def measure(spec: str) -> Measure:
    made: Measure = choose(installed(), "measure", spec).recipe
    return made


class OddEpisodes:
    """Scores states by how many episodes of odd seed visit them, out of the whole suite."""

    needs: ClassVar[tuple[str, ...]] = ("suite",)
    seen: ClassVar[list[int]] = []

    def __call__(self, evidence: Evidence) -> np.ndarray:
        assert evidence.suite is not None
        assert evidence.weights is not None
        suite = evidence.suite
        self.seen.append(evidence.episodes)
        assert len(suite.episodes) == len(evidence.weights) == evidence.episodes
        odd = (suite.episodes.seed % 2)[suite.episode_of_visit()]
        return np.bincount(suite.state_of_visit(), odd, len(suite.states))


class Steps:
    """Scores states by what only the table of states of the whole suite holds."""

    def __call__(self, evidence: Evidence) -> np.ndarray:
        assert evidence.states is not None
        return evidence.states.visits.astype(np.float64)


def test_all_episodes_drawn_once_say_what_the_suite_says(analysis: Analysis) -> None:
    drawn = counted_visits(analysis).draw(np.ones(len(analysis.episodes)))
    counted = analysis.counted
    assert drawn.part("returns") is not None
    for one, two in ((drawn.spectrum, counted.spectrum), (drawn.part("returns"), counted.returns)):
        for name, column in vars(two).items():
            np.testing.assert_allclose(getattr(one, name), column, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(drawn.part("differed"), counted.differed)
    np.testing.assert_array_equal(drawn.part("differed_first"), counted.differed_first)


def test_a_redrawn_suite_has_the_counts_of_the_drawn_visits(analysis: Analysis) -> None:
    counts = np.random.default_rng(2).integers(0, 4, size=len(analysis.episodes))
    suite = redrawn(analysis.suite, counts)
    assert len(suite.episodes) == counts.sum()
    assert (np.diff(suite.episodes.index) > 0).all()
    drawn = counted_visits(analysis).draw(counts.astype(np.float64))
    spectrum = tally([suite], np.repeat(analysis.weights, counts)).spectrum
    for name, column in vars(drawn.spectrum).items():
        np.testing.assert_array_equal(getattr(spectrum, name), column)
    again = tally([suite], np.repeat(analysis.weights, counts))
    visited = np.isin(analysis.counted.states.key, suite.visits.key)
    assert drawn.part("differed_first") is not None
    np.testing.assert_array_equal(
        drawn.part("differed_first")[visited], again.differed_first[visited]
    )


def test_every_kind_of_measure_is_split(analysis: Analysis) -> None:
    for spec in ("tarantula", "effect-return", "differ:episodes", "regression"):
        found = Recurrence(analysis, measure(spec), 2)
        stability, ranks = found.stability(), found.ranks(np.arange(3))
        assert stability is not None, spec
        assert 0 < stability.top10 <= 1
        assert ranks is not None, spec
        assert (ranks.low <= ranks.high).all()


@pytest.mark.parametrize("spec", ["tarantula", "effect", "effect-return", "regression"])
def test_halves_read_from_disk_are_those_of_visits_in_memory(analysis: Analysis, spec: str) -> None:
    held = Recurrence(analysis, measure(spec), 2).stability()
    assert held is not None
    assert Recurrence(analysis, measure(spec), 2, streamed=True).stability() == held


def test_what_is_added_up_from_disk_is_exact(analysis: Analysis) -> None:
    soft = replace(analysis, weights=np.round(analysis.weights * 0.7 * 2**20) / 2**20)
    soft = replace(soft, counted=tally(soft.stored.chunks(), soft.weights))
    streamed, first = streamed_visits(soft), np.arange(len(soft.episodes)) % 3 == 0
    held = counted_visits(soft).halves([first, ~first])
    for one, two in zip(streamed.halves([first, ~first]), held, strict=True):
        for ours, theirs in zip(one, two, strict=True):
            for cell, column in vars(ours.spectrum).items():
                np.testing.assert_array_equal(column, getattr(theirs.spectrum, cell))


def test_a_measure_that_needs_the_suite_gets_one_of_the_drawn_episodes(analysis: Analysis) -> None:
    size = len(analysis.episodes)
    OddEpisodes.seen.clear()
    found = Recurrence(analysis, OddEpisodes(), 2)
    assert found.stability() is not None
    assert {*OddEpisodes.seen} == {size // 2, size}  # halves, and the whole list once
    assert found.ranks(np.arange(2)) is not None
    assert {*OddEpisodes.seen[-50:]} == {size}


@pytest.mark.parametrize("spec", ["random", "differ:visits"])
def test_what_does_not_come_from_single_episodes_cannot_be_told(
    analysis: Analysis, spec: str
) -> None:
    assert Recurrence(analysis, measure(spec), 2).stability() is None
    assert Recurrence(analysis, Steps(), 2).stability() is None
    assert Recurrence(analysis, Steps(), 2).ranks(np.arange(2)) is None


def test_where_nothing_is_listed_there_is_nothing_to_come_back(analysis: Analysis) -> None:
    assert Recurrence(analysis, measure("effect"), 10_000).stability() is None


def test_a_run_says_where_it_cannot_be_told(tmp_path: Path) -> None:
    run = finish(tmp_path / "run", corridor(list_by="random:seed=3", evidence=2))
    assert run.summary.stability is None
    told = " ".join(rpd_command("rank", run.path).stdout.split())
    assert "Is the list stable? That cannot be told of random:3: its scores" in told

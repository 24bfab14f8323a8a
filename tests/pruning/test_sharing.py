"""Parts of evaluations that are played in the same lanes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import worlds
from lines import Cell, Does, Gives, Line, always
from stores import contents, corridor, session_at

from rpd_core.chance import Phase, canonical, state_keys
from rpd_core.execute.local import ThisProcess
from rpd_core.play.chunks import Evaluation, EvaluationChunk, perform_evaluations
from rpd_core.play.recipe import Recipe
from rpd_core.plugin.protocols import Outcome, WorkItem
from rpd_core.pruning.evaluation import Evaluations, ask, number_of_items

CELLS = state_keys(canonical(np.arange(6.0)[:, None]))


@pytest.mark.parametrize(
    ("episodes", "chunk", "lanes", "workers", "items"),
    [
        (36_000, 2500, 2500, 2, 8),  # lanes are filled twice
        (36_000, 2500, 2500, 16, 15),  # and not left empty for the sake of more workers
        (800, 2500, 2500, 2, 1),
        (800, 250, 64, 2, 4),  # a chunk fills the lanes often enough
        (800, 250, 64, 3, 6),
        (240, 250, 64, 8, 4),
        (100, 50, 25, 1, 2),
        (1, 50, 25, 4, 1),
    ],
)
def test_items_fill_the_lanes_and_keep_workers_busy(
    episodes: int, chunk: int, lanes: int, workers: int, items: int
) -> None:
    assert number_of_items(episodes, chunk, lanes, workers) == items


def jobs() -> list[EvaluationChunk]:
    """Return jobs on a line of cells that differ in states, unknown states, points and visits."""
    recipe = Recipe(Line(truncate_at=9), Does(always(1)), Cell(), Gives(always(0)), 5, 7)
    both = (CELLS[:4], CELLS[[3, 1, 0, 2]])
    points = ((1, 1), (0, 3), (1, 4), (0, 0))
    many = Evaluation(recipe, 0, Phase.TEST, 0, both, points, False, 3)
    others = Evaluation(recipe, 1, Phase.CONFIRM, 2, (CELLS[2:],), ((0, 2),), True, 4, True)
    none = Evaluation(recipe, 1, Phase.CONFIRM, 2, (CELLS[:0],), ((0, 0),), True, 4, True)
    return [EvaluationChunk(many, 2, 9), EvaluationChunk(others, 0, 3), EvaluationChunk(none, 1, 2)]


def test_what_shares_lanes_is_what_is_played_alone() -> None:
    together = perform_evaluations(jobs()).chunks
    for job, chunk in zip(jobs(), together, strict=True):
        alone = perform_evaluations([job]).chunks[0]
        np.testing.assert_equal(vars(chunk.episodes), vars(alone.episodes))
        assert (chunk.visits is None) == (not job.evaluation.visits)
        if chunk.visits is not None and alone.visits is not None:
            np.testing.assert_equal(vars(chunk.visits), vars(alone.visits))
            np.testing.assert_equal(vars(chunk.states), vars(alone.states))
    assert len({chunk.episodes.length.sum() for chunk in together}) == 3, "they do differ"


class Counting(ThisProcess):
    """Does the work here and remembers what it was."""

    def __init__(self) -> None:
        self.labels: list[str] = []

    def execute(self, queue: Any) -> Iterator[Outcome]:
        yield from super().execute(Noting(queue, self.labels))


class Noting:
    """A queue that notes what is taken."""

    def __init__(self, queue: Any, labels: list[str]) -> None:
        self.queue, self.labels = queue, labels

    def take(self) -> WorkItem | None:
        item: WorkItem | None = self.queue.take()
        self.labels.extend([item.label] if item is not None else [])
        return item


def play_sets(path: Path, workers: int) -> tuple[list[str], dict[str, bytes]]:
    """Play three sets of pruned policies; return the items of work and what is stored."""
    engine = Counting()
    session = session_at(path, corridor(lanes=8, chunk=20), engine=engine, workers=workers)
    keys = state_keys(canonical(np.arange(worlds.STATES)[:, None]))
    asked = {
        "one": ask(session, [keys], [(0, kept) for kept in range(4)]),
        "two": ask(session, [keys[::-1]], [(0, kept) for kept in range(5)], True),
        "three": ask(session, [keys[:0]], [(0, 0)], True),
    }
    Evaluations(session).play("pruning", asked)
    return engine.labels, contents(path / "pruning")


def test_sets_that_share_items_are_stored_as_if_they_did_not(tmp_path: Path) -> None:
    few, stored = play_sets(tmp_path / "few", workers=1)
    assert few == [
        "episodes 0 to 19 of one",
        "episodes 0 to 19 of two",
        "episodes 20 to 24 of two and 1 more",
    ]
    many, same = play_sets(tmp_path / "many", workers=50)
    assert len(many) > len(few)
    assert same == stored


def test_only_what_is_missing_is_played_again(tmp_path: Path) -> None:
    _, stored = play_sets(tmp_path, workers=1)
    for record in [
        *tmp_path.glob("pruning/one-*/*.json"),
        *tmp_path.glob("pruning/three-*/*.json"),
    ]:
        record.unlink()
    again, same = play_sets(tmp_path, workers=1)
    assert again == ["episodes 0 to 19 of one", "episodes 0 to 4 of three"]
    assert same == stored


def test_a_set_with_visits_knows_what_was_chosen_in_each_state(tmp_path: Path) -> None:
    session = session_at(tmp_path, corridor(lanes=8, chunk=3))
    keys = worlds.corridor_keys()
    kept = np.sort(keys[[1, 2]])
    pruned = replace(ask(session, [kept], [(0, 2)], False), test_episodes=7, visits=True)
    whole = replace(ask(session, [keys[:0]], [(0, 0)], True), test_episodes=7, visits=True)
    evaluations = Evaluations(session)
    evaluations.play("pruning", {"pruned": pruned, "whole": whole})
    states, visits = evaluations.states("pruned"), evaluations.visits("pruned", 0, 6)
    assert (np.diff(states.key.astype(np.float64)) > 0).all(), "of three parts, joined by key"
    for key, seen, does, default in zip(
        states.key, states.visits, states.choices, states.default_choices, strict=True
    ):
        assert visits.count[visits.key == key].sum() == seen
        assert does.tolist() == [0, seen], "the policy goes, whoever decides"
        assert default.tolist() == [seen, 0], "the default action drifts"
    both = evaluations.states("pruned", "whole")
    assert both.visits.sum() == states.visits.sum() + evaluations.states("whole").visits.sum()
    assert evaluations.visits("pruned", 2, 4).episode.min() == 2
    assert evaluations.visits("pruned", 2, 4).episode.max() == 4
    later = visits.key[visits.episode >= 5]
    assert evaluations.visited("pruned", 5, 6).tolist() == np.unique(later).tolist()

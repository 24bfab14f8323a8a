"""The paper's 25 games, each from the first mutant episode to pruned policies."""

from __future__ import annotations

import numpy as np
import pytest

from rpd_atari.grid import AREAS
from rpd_core.config import Request, resolve
from rpd_core.hashing import Phase
from rpd_core.jobs import (
    Evaluation,
    EvaluationJob,
    SuiteJob,
    close_players,
    perform_evaluation,
    perform_suite,
)
from rpd_core.registry import installed
from rpd_core.suite import merge


def run_end_to_end(game: str, steps: int) -> None:
    request = Request(env=f"atari:{game},max_steps={steps}", policy="random", lanes=3)
    recipe = resolve(request, installed()).recipe
    whole = perform_suite(SuiteJob(recipe, 0, 0.2, 0, 5))
    parts = merge([perform_suite(SuiteJob(recipe, 0, 0.2, *part)) for part in ((3, 5), (0, 2))])
    np.testing.assert_array_equal(whole.states.key, parts.states.key)
    np.testing.assert_array_equal(whole.episodes.total_return, parts.episodes.total_return)
    assert whole.episodes.length.max() == steps
    assert whole.states.value.shape[1:] == (18, 14)
    assert whole.states.value.max() <= 8
    keys = whole.states.key
    assert len(keys) > 1
    for kept, cutoff in ((False, 0), (True, len(keys))):
        pruned = Evaluation(recipe, 0, Phase.TEST, 0, (keys,), ((0, cutoff),), kept, 3)
        episodes = perform_evaluation(EvaluationJob(pruned, 0, 2))
        assert (episodes.policy_steps == (episodes.length if kept else 0)).all()
    close_players()


def test_two_games_run_end_to_end() -> None:
    run_end_to_end("Pong", 25)
    run_end_to_end("SpaceInvaders", 25)


@pytest.mark.slow
@pytest.mark.parametrize("game", AREAS)
def test_every_game_of_the_paper_runs_end_to_end(game: str) -> None:
    run_end_to_end(game, 60)

"""The paper's 25 games, each from the first mutant episode to the answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from rpd import run
from rpd_atari.grid import AREAS


def run_end_to_end(game: str, folder: Path, steps: int) -> None:
    """Random play is the policy: what it earns does not matter here, only that all of it works."""
    finished = run(
        f"atari:{game},max_steps={steps}",
        "random",
        out=folder,
        episodes=24,
        test_episodes=2,
        reference=-1e6,  # so that random play is clearly better than it
        shares=(0.0, 0.5, 1.0),
        random_rankings=1,
        unmutated_episodes=4,
        confirm_episodes=4,
        lanes=4,
        finish=(),
    )
    suite = finished.suite
    assert len(suite.episodes.total_return) == 24
    assert suite.episodes.length.max() <= steps
    assert suite.states.value.shape[1:] == (18, 14)
    assert suite.states.value.max() <= 8
    summary = finished.summary
    assert summary.condition.startswith("return>=")
    assert 0 < summary.suite.passed < 24
    assert {"tarantula", "ochiai", "zoltar", "wong2", "freqvis"} <= set(finished.curves)
    assert finished.ranking("tarantula").to_arrow().num_rows == len(suite.states.key)
    assert set(summary.thresholds["0.9"]) >= {"portfolio", "tarantula"}
    assert (folder / "analyses" / str(finished.name) / "summary.json").exists()


def test_a_game_runs_end_to_end(tmp_path: Path) -> None:
    run_end_to_end("SpaceInvaders", tmp_path, 60)


@pytest.mark.slow
@pytest.mark.parametrize("game", AREAS)
def test_every_game_of_the_paper_runs_end_to_end(game: str, tmp_path: Path) -> None:
    run_end_to_end(game, tmp_path, 300)

"""What thresholds stand on, and states that no suite saw."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lines import Cell, Does, Gives, Line, always
from stores import build, corridor, session_at

from rpd_core.analysis.ranking import Ranking
from rpd_core.chance import canonical, state_keys
from rpd_core.config.settings import Request
from rpd_core.pruning import sweep
from rpd_core.pruning.curves import Curve
from rpd_core.pruning.evaluation import Evaluations
from rpd_core.pruning.records import PrunedPoint
from rpd_core.pruning.references import References, measure_references
from rpd_core.pruning.sweep import Sweep
from rpd_core.results.summary import _thresholds
from rpd_core.store.session import Session


def line_session(path: Path, **settings: Any) -> Session:
    """On the line a policy that goes right earns 1 in each of six steps, the default nothing."""
    asked = {
        "test_episodes": 3,
        "confirm_episodes": 4,
        "reference": 0.0,
        "random_rankings": 2,
        **settings,
    }
    components = {"abstraction": (Cell(),), "default_action": Gives(always(0))}
    return session_at(path, Request(Line(), Does(always(1)), **components, **asked))


def references(session: Session) -> References:
    return measure_references(session, Evaluations(session))


@pytest.mark.parametrize(("unvisited", "returns"), [("default", [0, 3]), ("policy", [0, 6])])
def test_states_that_no_suite_saw_follow_the_flag(
    unvisited: str, returns: list[int], tmp_path: Path
) -> None:
    """Only the first three of six cells are ranked."""
    session = line_session(tmp_path, unvisited=unvisited, shares=(0.0, 1.0))
    cells = state_keys(canonical(np.arange(3.0)[:, None]))
    rankings = {"tarantula": Ranking("tarantula", np.arange(3), np.zeros(3), cells)}
    swept = sweep.sweep(Evaluations(session), rankings, references(session))
    assert swept.curves["tarantula"].mean_return.tolist() == returns
    assert [len(curve.returns) for curve in swept.random_curves] == [2, 2]


def test_references_are_the_policy_the_default_and_random_play(tmp_path: Path) -> None:
    given = references(line_session(tmp_path, test_episodes=40))
    assert (given.original_mean, given.reference, given.reference_source) == (6.0, 0.0, "given")
    assert given.default_everywhere.total_return.tolist() == [0.0] * 40
    assert given.target(0.9) == pytest.approx(5.4)


def seeds_of(session: Session) -> dict[str, set[int]]:
    """Return the seeds of each set of pruned episodes."""
    found = {}
    for folder in (session.directory.path / "pruning").iterdir():
        parts = session.directory.evaluation(folder.name)
        rows = [parts.read(*some)["episodes"]["seed"].to_pylist() for some in parts.covered()]
        found[folder.name.rpartition("-")[0]] = {seed for row in rows for seed in row}
    return found


def test_random_play_is_measured_on_episodes_of_its_own(tmp_path: Path) -> None:
    session = session_at(tmp_path, corridor(test_episodes=200, reference=None))
    found = references(session)
    assert found.reference_source == "random play"
    assert 0 < found.reference < 3.5
    seeds = seeds_of(session)
    assert seeds["original"] == seeds["default-everywhere"], "common episodes"
    assert not seeds["original"] & seeds["random-play"]


def test_pruned_episodes_share_no_seed_with_the_suite(tmp_path: Path) -> None:
    session = session_at(tmp_path, corridor())
    suite, played = build(session), references(session).original
    assert not set(suite.episodes.seed.tolist()) & set(played.seed.tolist())


def curve(share: float) -> Curve:
    """A ranking that reaches the target 1 at the given share."""
    shares = np.array([0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
    returns = (shares >= share).astype(float)[:, None]
    ones = np.ones_like(returns, dtype=np.int64)
    return Curve("r", shares, (shares * 10).astype(int), returns, ones, ones, ones, ones)


def test_the_best_random_ranking_is_taken_of_as_many_as_the_portfolio_has_measures() -> None:
    randoms = [curve(share) for share in (1.0, 0.8, 0.6, 0.8, 0.2, 0.0)]
    found = _thresholds(Sweep({}, randoms), 1.0)
    best, mean = found["random_best"], found["random"]
    assert best is not None
    assert mean is not None
    assert best.fewest_states == PrunedPoint("r", 6, 0.6, 1.0, 1.0, 1.0, 1)
    assert mean.fewest_states.states == 1.0, "the mean over rankings needs all of them"
    assert found["portfolio"] is None

"""The straight line: references, conditions, and states that no suite saw."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import worlds
from lines import Cell, Does, Gives, Line, always
from rpd_core.execute.workshop import Workshop

from rpd_core import pipeline
from rpd_core.analysis.ranking import Ranking
from rpd_core.config.resolve import resolve
from rpd_core.config.settings import Request
from rpd_core.errors import EvidenceError
from rpd_core.play.chance import canonical, state_keys
from rpd_core.plugin.registry import Registry
from rpd_core.pruning import sweep
from rpd_core.pruning.curves import Curve
from rpd_core.pruning.evaluation import measure_references
from rpd_core.report.results import _thresholds
from rpd_core.store.directory import RunDirectory


def line_shop(path: Path, registry: Registry, **settings: Any) -> Workshop:
    """On the line a policy that goes right earns 1 in each of six steps, the default nothing."""
    asked = {"test_episodes": 3, "reference": 0.0, "random_rankings": 2, **settings}
    request = Request(Line(), Does(always(1)), (Cell(),), Gives(always(0)), **asked)
    return Workshop(resolve(request, registry), RunDirectory(path), registry)


def corridor_shop(path: Path, registry: Registry, **settings: Any) -> Workshop:
    asked = {"episodes": 60, "chunk": 30, "test_episodes": 5, **settings}
    request = Request(worlds.Corridor(), worlds.Goes(), **asked)
    return Workshop(resolve(request, registry), RunDirectory(path), registry)


@pytest.mark.parametrize(("unvisited", "returns"), [("default", [0, 3]), ("policy", [0, 6])])
def test_states_that_no_suite_saw_follow_the_flag(
    unvisited: str, returns: list[int], tmp_path: Path, registry: Registry
) -> None:
    """Only the first three of six cells are ranked."""
    shop = line_shop(tmp_path, registry, unvisited=unvisited, shares=(0.0, 1.0))
    cells = state_keys(canonical(np.arange(3.0)[:, None]))
    rankings = {"tarantula": Ranking("tarantula", np.arange(3), np.zeros(3), cells)}
    pruning = sweep.prune(shop, rankings, measure_references(shop))
    assert pruning.curves["tarantula"].mean_return.tolist() == returns
    assert [len(curve.returns) for curve in pruning.random_curves] == [2, 2]
    assert pruning.original_coverage == 0.5


def test_references_are_the_policy_the_default_and_random_play(
    tmp_path: Path, registry: Registry
) -> None:
    shop = line_shop(tmp_path, registry, test_episodes=40)
    given = measure_references(shop)
    assert (given.original_mean, given.reference, given.reference_source) == (6.0, 0.0, "given")
    assert given.default_everywhere.total_return.tolist() == [0.0] * 40
    assert given.target(0.9) == pytest.approx(5.4)


def test_random_play_is_measured_on_episodes_of_its_own(tmp_path: Path, registry: Registry) -> None:
    shop = corridor_shop(tmp_path, registry, test_episodes=200)
    analysis = shop.setup.config.analysis
    object.__setattr__(analysis, "reference", None)
    found = measure_references(shop)
    assert found.reference_source == "random play"
    assert 0 < found.reference < 3.5
    seeds = {}
    for folder in (tmp_path / "pruning").iterdir():
        parts = shop.directory.evaluation(folder.name)
        rows = [parts.read(*some)["episodes"]["seed"].to_pylist() for some in parts.covered()]
        seeds[folder.name.rpartition("-")[0]] = {seed for row in rows for seed in row}
    assert seeds["original"] == seeds["default-everywhere"], "common episodes"
    assert not seeds["original"] & seeds["random-play"]


def test_pruned_episodes_share_no_seed_with_the_suite(tmp_path: Path, registry: Registry) -> None:
    shop = corridor_shop(tmp_path, registry)
    pipeline.open_run(shop)
    suite = pipeline.build_suite(shop)
    played = measure_references(shop).original
    assert not set(suite.episodes.seed.tolist()) & set(played.seed.tolist())


def test_a_one_sided_suite_is_refused_and_kept(tmp_path: Path, registry: Registry) -> None:
    shop = corridor_shop(tmp_path, registry, condition="return>=-1")
    pipeline.open_run(shop)
    suite = pipeline.build_suite(shop)
    with pytest.raises(EvidenceError, match="all 60 episodes passed return>=-1"):
        pipeline.analyse(shop, suite)
    assert len(pipeline.load_suite(shop.directory).episodes) == 60


def test_an_automatic_cut_is_chosen_once_for_the_life_of_a_run(
    tmp_path: Path, registry: Registry
) -> None:
    shop = corridor_shop(tmp_path, registry, condition="auto")
    pipeline.open_run(shop)
    first = pipeline.analyse(shop, pipeline.build_suite(shop))
    shop.directory.write_json(
        "conditions.json", {"auto": {"resolved": "return>=1.5", "episodes": 60}}
    )
    grown = corridor_shop(tmp_path, registry, condition="auto", episodes=90)
    pipeline.open_run(grown)
    again = pipeline.analyse(grown, pipeline.build_suite(grown))
    assert first.condition.startswith("return>=")
    assert again.condition == "return>=1.5"
    assert len(again.weights) == 90


def curve(share: float) -> Curve:
    """A ranking that reaches the target 1 at the given share."""
    shares = np.array([0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
    returns = (shares >= share).astype(float)[:, None]
    ones = np.ones_like(returns, dtype=np.int64)
    return Curve("r", shares, (shares * 10).astype(int), returns, ones, ones, ones)


def test_the_best_random_ranking_is_taken_of_as_many_as_the_portfolio_has_measures() -> None:
    randoms = [curve(share) for share in (1.0, 0.8, 0.6, 0.8, 0.2, 0.0)]
    results: Any = SimpleNamespace(
        references=SimpleNamespace(target=lambda fraction: 1.0),
        pruning=SimpleNamespace(curves={}, random_curves=randoms, confirmations={}),
    )
    found = _thresholds(results, 0.9)
    assert found["random_best"]["states"] == 0.6
    assert found["random"]["states"] == 1.0, "the mean over rankings needs all of them"
    assert found["portfolio"] is None

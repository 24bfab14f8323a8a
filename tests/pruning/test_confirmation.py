"""Chosen pruned policies on fresh episodes.

On the line, with the policy going right, a pruned policy that keeps the first k cells earns
exactly k. The curves are made up and promise more, so that confirmation has something to refuse.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lines import Cell, Does, Gives, Line, always
from rpd_core.execute.workshop import Workshop

from rpd_core.analysis.ranking import Ranking
from rpd_core.config.resolve import resolve
from rpd_core.config.settings import Request
from rpd_core.play.chance import canonical, state_keys
from rpd_core.plugin.protocols import Episodes
from rpd_core.plugin.registry import Registry
from rpd_core.pruning import sweep
from rpd_core.pruning.curves import Curve, reach
from rpd_core.pruning.evaluation import References, measure_references
from rpd_core.pruning.sweep import Confirmation
from rpd_core.report.results import _entry
from rpd_core.store.directory import RunDirectory

KEPT = np.arange(7)
CELLS = state_keys(canonical(np.arange(6.0)[:, None]))


def shop_at(path: Path, registry: Registry) -> Workshop:
    request = Request(
        Line(), Does(always(1)), (Cell(),), Gives(always(0)), test_episodes=3, reference=0.0
    )
    return Workshop(resolve(request, registry), RunDirectory(path), registry)


def promising(name: str, means: list[float]) -> Curve:
    returns = np.repeat(np.array(means, dtype=float)[:, None], 3, axis=1)
    steps = np.ones_like(returns, dtype=np.int64)
    return Curve(name, KEPT / 6, KEPT, returns, steps, steps, steps)


def references(mean: float) -> References:
    index = np.arange(3)
    original = Episodes(index, index, np.full(3, mean), index + 1, index * 0, index)
    return References(original, original, 0.0, "given")


def confirm(
    path: Path, registry: Registry, curves: dict[str, list[float]], original: float = 4.0
) -> tuple[Workshop, dict[tuple[float, str], Confirmation]]:
    shop = shop_at(path, registry)
    orders = {"tarantula": np.arange(6), "ochiai": np.arange(6)[::-1]}
    rankings = {name: Ranking(name, orders[name], np.zeros(6), CELLS) for name in curves}
    made = {name: promising(name, means) for name, means in curves.items()}
    return shop, sweep._confirm(shop, rankings, made, references(original))


def test_a_choice_that_misses_gives_way_to_the_next_larger_share(
    tmp_path: Path, registry: Registry
) -> None:
    _, found = confirm(tmp_path, registry, {"tarantula": [0, 9, 9, 9, 9, 9, 9]})
    # The target at 50 % is 2: keeping one cell earns 1 and misses, keeping two earns 2.
    half = found[0.5, "tarantula"]
    assert (half.confirmed, half.tries, half.candidate.kept, half.mean_return) == (True, 2, 2, 2.0)
    # At 90 % it is 3.6: one, two and three cells miss.
    most = found[0.9, "tarantula"]
    assert (most.confirmed, most.tries, most.candidate.kept, most.mean_return) == (True, 4, 4, 4.0)
    assert most.step_share == pytest.approx(4 / 6)


def test_shares_that_missed_the_target_in_the_sweep_are_not_tried(
    tmp_path: Path, registry: Registry
) -> None:
    _, found = confirm(tmp_path, registry, {"tarantula": [0, 9, 0, 0, 9, 9, 9]})
    assert (found[0.5, "tarantula"].tries, found[0.5, "tarantula"].candidate.kept) == (2, 4)


def test_a_choice_that_holds_is_confirmed_at_once(tmp_path: Path, registry: Registry) -> None:
    _, found = confirm(tmp_path, registry, {"tarantula": [0, 1, 2, 3, 4, 5, 6]})
    assert (found[0.5, "tarantula"].tries, found[0.5, "tarantula"].candidate.kept) == (1, 2)


def test_when_all_miss_the_last_is_shown_unconfirmed(tmp_path: Path, registry: Registry) -> None:
    _, found = confirm(tmp_path, registry, {"tarantula": [0, 9, 9, 9, 9, 9, 9]}, original=100)
    assert found == {}, "nothing promised 50"
    _, found = confirm(tmp_path, registry, {"tarantula": [0, 99, 99, 0, 0, 0, 0]}, original=100)
    half = found[0.5, "tarantula"]
    assert (half.confirmed, half.tries, half.candidate.kept) == (False, 2, 2)
    assert not found[0.9, "tarantula"].confirmed


def test_the_portfolio_follows_the_best_curve_at_each_share(
    tmp_path: Path, registry: Registry
) -> None:
    _, found = confirm(
        tmp_path, registry, {"tarantula": [0, 3, 3, 3, 3, 3, 3], "ochiai": [0, 5, 0, 0, 0, 0, 0]}
    )
    # One cell of the reversed ranking earns nothing; then tarantula's two cells earn 2.
    half = found[0.5, "portfolio"]
    assert (half.candidate.name, half.candidate.kept, half.tries) == ("tarantula", 2, 2)


def test_every_try_has_fresh_episodes(tmp_path: Path, registry: Registry) -> None:
    shop, _ = confirm(tmp_path, registry, {"tarantula": [0, 9, 9, 9, 9, 9, 9]})
    measure_references(shop)
    seeds: dict[str, set[int]] = {}
    for folder in (tmp_path / "pruning").iterdir():
        parts = shop.directory.evaluation(folder.name)
        table = parts.read(*parts.covered()[0])["episodes"]
        seeds[folder.name] = set(table["seed"].to_pylist())
    tries = {frozenset(some) for name, some in seeds.items() if name.startswith("confirm")}
    sweep = next(some for name, some in seeds.items() if name.startswith("original"))
    assert len(tries) == 4
    together = sweep.union(*tries)
    assert len(together) == 15, "no seed is used twice"


def test_the_summary_shows_the_optimistic_and_the_confirmed_figure(
    tmp_path: Path, registry: Registry
) -> None:
    means = [0, 9, 9, 9, 9, 9, 9.0]
    _, found = confirm(tmp_path, registry, {"tarantula": means})
    entry: Any = _entry(reach(promising("tarantula", means), 2.0), found[0.5, "tarantula"])
    assert (entry["kept"], entry["confirmed"]) == (1, True)
    assert entry["confirmation"]["kept"] == 2
    assert entry["confirmation"]["tries"] == 2
    assert _entry(None, None) is None

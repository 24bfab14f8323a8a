"""Chosen pruned policies on fresh episodes.

On the line, with the policy going right, a pruned policy that keeps the first k cells earns
exactly k. The curves are made up and promise more, so that confirmation has something to refuse.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from lines import Cell, Does, Gives, Line, always
from stores import session_at

from rpd_core.analysis.ranking import Ranking
from rpd_core.config.settings import Request
from rpd_core.play.chance import canonical, state_keys
from rpd_core.plugin.protocols import Episodes
from rpd_core.pruning import sweep
from rpd_core.pruning.curves import Curve
from rpd_core.pruning.evaluation import Evaluations
from rpd_core.pruning.references import References, measure_references
from rpd_core.pruning.sweep import Confirmation
from rpd_core.report.results import ConfirmedPolicy
from rpd_core.report.summary import _threshold
from rpd_core.store.session import Session

KEPT = np.arange(7)
CELLS = state_keys(canonical(np.arange(6.0)[:, None]))


def session(path: Path) -> Session:
    components = {"abstraction": (Cell(),), "default_action": Gives(always(0))}
    request = Request(Line(), Does(always(1)), test_episodes=3, reference=0.0, **components)
    return session_at(path, request)


def promising(name: str, means: list[float]) -> Curve:
    returns = np.repeat(np.array(means, dtype=float)[:, None], 3, axis=1)
    steps = np.ones_like(returns, dtype=np.int64)
    return Curve(name, KEPT / 6, KEPT, returns, steps, steps, steps)


def references(mean: float) -> References:
    index = np.arange(3)
    original = Episodes(index, index, np.full(3, mean), index + 1, index * 0, index)
    return References(original, original, 0.0, "given")


def confirm(
    path: Path, curves: dict[str, list[float]], original: float = 4.0
) -> tuple[Evaluations, dict[tuple[float, str], Confirmation]]:
    evaluations = Evaluations(session(path))
    orders = {"tarantula": np.arange(6), "ochiai": np.arange(6)[::-1]}
    rankings = {name: Ranking(name, orders[name], np.zeros(6), CELLS) for name in curves}
    made = {name: promising(name, means) for name, means in curves.items()}
    return evaluations, sweep._confirm(evaluations, rankings, made, references(original))


def test_a_choice_that_misses_gives_way_to_the_next_larger_share(
    tmp_path: Path,
) -> None:
    _, found = confirm(tmp_path, {"tarantula": [0, 9, 9, 9, 9, 9, 9]})
    # The target at 50 % is 2: keeping one cell earns 1 and misses, keeping two earns 2.
    half = found[0.5, "tarantula"]
    assert (half.confirmed, half.tries, half.candidate.kept, half.mean_return) == (True, 2, 2, 2.0)
    # At 90 % it is 3.6: one, two and three cells miss.
    most = found[0.9, "tarantula"]
    assert (most.confirmed, most.tries, most.candidate.kept, most.mean_return) == (True, 4, 4, 4.0)
    assert most.step_share == pytest.approx(4 / 6)


def test_shares_that_missed_the_target_in_the_sweep_are_not_tried(
    tmp_path: Path,
) -> None:
    _, found = confirm(tmp_path, {"tarantula": [0, 9, 0, 0, 9, 9, 9]})
    assert (found[0.5, "tarantula"].tries, found[0.5, "tarantula"].candidate.kept) == (2, 4)


def test_a_choice_that_holds_is_confirmed_at_once(tmp_path: Path) -> None:
    _, found = confirm(tmp_path, {"tarantula": [0, 1, 2, 3, 4, 5, 6]})
    assert (found[0.5, "tarantula"].tries, found[0.5, "tarantula"].candidate.kept) == (1, 2)


def test_when_all_miss_the_last_is_shown_unconfirmed(tmp_path: Path) -> None:
    _, found = confirm(tmp_path, {"tarantula": [0, 9, 9, 9, 9, 9, 9]}, original=100)
    assert found == {}, "nothing promised 50"
    _, found = confirm(tmp_path, {"tarantula": [0, 99, 99, 0, 0, 0, 0]}, original=100)
    half = found[0.5, "tarantula"]
    assert (half.confirmed, half.tries, half.candidate.kept) == (False, 2, 2)
    assert not found[0.9, "tarantula"].confirmed


def test_the_portfolio_follows_the_best_curve_at_each_share(
    tmp_path: Path,
) -> None:
    _, found = confirm(
        tmp_path, {"tarantula": [0, 3, 3, 3, 3, 3, 3], "ochiai": [0, 5, 0, 0, 0, 0, 0]}
    )
    # One cell of the reversed ranking earns nothing; then tarantula's two cells earn 2.
    half = found[0.5, "portfolio"]
    assert (half.candidate.name, half.candidate.kept, half.tries) == ("tarantula", 2, 2)


def test_every_try_has_fresh_episodes(tmp_path: Path) -> None:
    evaluations, _ = confirm(tmp_path, {"tarantula": [0, 9, 9, 9, 9, 9, 9]})
    measure_references(evaluations.session, evaluations)
    seeds: dict[str, set[int]] = {}
    for folder in (tmp_path / "pruning").iterdir():
        parts = evaluations.session.directory.evaluation(folder.name)
        table = parts.read(*parts.covered()[0])["episodes"]
        seeds[folder.name] = set(table["seed"].to_pylist())
    tries = {frozenset(some) for name, some in seeds.items() if name.startswith("confirm")}
    sweep = next(some for name, some in seeds.items() if name.startswith("original"))
    assert len(tries) == 4
    together = sweep.union(*tries)
    assert len(together) == 15, "no seed is used twice"


def test_the_summary_shows_the_optimistic_and_the_confirmed_policy_apart(tmp_path: Path) -> None:
    means = [0, 9, 9, 9, 9, 9, 9.0]
    _, found = confirm(tmp_path, {"tarantula": means})
    made = [promising("tarantula", means)]
    entry = _threshold(made, 2.0, found[0.5, "tarantula"])
    assert entry is not None
    assert (entry.fewest_states.kept, entry.fewest_states.return_mean) == (1, 9.0)
    assert entry.confirmed == ConfirmedPolicy(
        "tarantula", kept=2, states=2 / 6, steps=2 / 6, return_mean=2.0, coverage=1.0, met=True,
        tries=2,
    )  # fmt: skip
    missed = _threshold(made, 2.0, None)
    assert missed is not None
    assert missed.confirmed is None
    assert _threshold(made, 9.5) is None

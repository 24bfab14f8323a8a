"""A sweep that stops where it can: what it plays, what it may not change, and in which order."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from stores import contents, corridor, finish, session_at

import rpd
from rpd_core.analysis.intervals import upper_t
from rpd_core.analysis.ranking import Ranking, random_ranking
from rpd_core.config.settings import STANDARD_MEASURES, check_value
from rpd_core.errors import ConfigError, StoreError
from rpd_core.play.chunks import Evaluation
from rpd_core.plugin.protocols import Episodes
from rpd_core.plugin.protocols.suite import RANKED_STEPS
from rpd_core.pruning.curves import fewest_states, fewest_steps, mean_curve, reaching, shown_curves
from rpd_core.pruning.evaluation import Evaluations
from rpd_core.pruning.references import References
from rpd_core.pruning.stored_sweep import stored_table
from rpd_core.pruning.sweep import Sweep, sweep
from rpd_core.pruning.sweep_rule import ERROR, FIRST, Rule, episode_looks, is_open, rule_for

STATES, LENGTH, TESTED = 200, 50, 100


# ------------------------------------------------------------------------------ the rule


@pytest.mark.parametrize(
    ("total", "sizes"),
    [(100, (6, 12, 24, 48, 100)), (50, (6, 12, 24, 50)), (20, (6, 12, 20)), (6, (6,)), (3, (3,))],
)
def test_looks_double_and_the_last_one_sees_all(total: int, sizes: tuple[int, ...]) -> None:
    assert episode_looks(total) == sizes


def test_a_point_is_open_while_the_rest_could_change_its_side() -> None:
    rule = Rule((), TESTED, best=1.0, worst=0.0)
    assert not is_open(np.zeros(8), 0.5, rule), "eight failures of eight are not half"
    assert is_open(np.ones(8), 0.9, rule), "but eight of eight may still be less than 90 %"
    assert not is_open(np.ones(64), 0.9, rule)
    assert is_open(np.array([0.0, 1.0] * 8), 0.5, rule)
    assert not is_open(np.array([0.0, 1.0] * 50), 0.5, rule), "there is no rest"


@pytest.mark.parametrize(("passed", "target"), [(90, 0.9), (50, 0.5), (89, 0.9), (49, 0.5)])
def test_looking_often_lets_go_of_few_that_lie_at_the_target(passed: int, target: float) -> None:
    """Of a hundred episodes just enough pass, or one too few; their order is chance."""
    generator, rule = np.random.default_rng(7), Rule((), TESTED, best=1.0, worst=0.0)
    returns = (np.arange(TESTED) < passed).astype(float)
    wrong = 0
    for _ in range(300):
        generator.shuffle(returns)
        for size in episode_looks(TESTED)[:-1]:
            seen = returns[:size]
            if not is_open(seen, target, rule):
                wrong += (seen.mean() >= target) != (passed >= 100 * target)
                break
    assert wrong <= 300 * ERROR


def test_one_lucky_episode_of_the_policy_does_not_keep_every_point_open() -> None:
    """Half of its episodes return 10 and one 1000; a pruned policy returns nothing at all."""
    returns = np.array([0.0] * 49 + [10.0] * 50 + [1000.0])
    played: Any = SimpleNamespace(total_return=returns)
    rule = rule_for([5.0], References(played, played, 0.0, "given"))
    assert (rule.best, rule.worst) == ((49 * 10 + 1000) / 50, 0.0)
    assert not is_open(np.zeros(24), 5.0, rule)
    assert is_open(np.zeros(24), 5.0, dataclasses.replace(rule, best=1000.0))


# ------------------------------------------------------------- the same answer as in full


class Scripted(Evaluations):
    """Plays nothing: whether a pruned policy passes a test episode is drawn once for all.

    Each ranking has a chance of passing that rises with the states it keeps, but not at every step,
    and a share of steps that does not rise with it either.
    """

    def __init__(self, session: Any, world: int) -> None:
        super().__init__(session)
        self.world, self.count, self.asked = world, 0, {}
        self.luck = np.random.default_rng(world).random(TESTED)

    def play(
        self, stage: str, asked: Mapping[str, Evaluation], before: int = 0
    ) -> dict[str, Episodes]:
        assert before == self.count
        self.asked |= asked
        found = {name: self._episodes(one) for name, one in asked.items()}
        self.count += sum(len(one) for one in found.values())
        return found

    def _episodes(self, asked: Evaluation) -> Episodes:
        index = np.arange(asked.total)
        tests = asked.test_numbers(index)
        returns, used = np.zeros(asked.total), np.zeros(asked.total, dtype=np.int64)
        for row, (ranking, kept) in enumerate(asked.points):
            mine = slice(row * asked.test_episodes, (row + 1) * asked.test_episodes)
            chance, share = self._nature(asked.rankings[ranking], kept)
            own = np.random.default_rng([self.world, kept, int(asked.rankings[ranking][0])])
            luck = 0.7 * self.luck + 0.3 * own.random(TESTED)
            returns[mine] = luck[tests[mine]] < chance
            used[mine] = np.round(LENGTH * share * (0.8 + 0.4 * own.random(TESTED)[tests[mine]]))
        used = np.minimum(used, LENGTH)
        length = np.full(asked.total, LENGTH)
        info = {RANKED_STEPS: length.astype(float)}
        return Episodes(index, tests, returns, length, index * 0, used, used, info)

    def _nature(self, ranked: Any, kept: int) -> tuple[float, float]:
        if kept in (0, len(ranked)):
            return float(kept > 0), float(kept > 0)
        shape = np.random.default_rng([self.world, int(ranked[0])])
        middle, width = shape.uniform(0.1, 0.8), shape.uniform(0.02, 0.2)
        bump = 0.1 * np.sin(shape.uniform(5, 20) * kept / STATES)
        share = kept / STATES
        chance = 1 / (1 + np.exp(-(share - middle) / width)) + bump
        return float(np.clip(chance, 0, 1)), float(np.clip(share + 2 * bump, 0.01, 1))


def references() -> References:
    ones = np.ones(TESTED)
    index = np.arange(TESTED)
    played = Episodes(index, index, ones, index + 1, index * 0, index, index, {})
    return References(played, played, 0.0, "given")


def scripted(path: Path, world: int, kind: str) -> tuple[Sweep, Scripted]:
    settings = {"test_episodes": TESTED, "sweep": kind, "random_rankings": 4}
    shares = tuple(np.round(np.linspace(0, 1, 21), 2).tolist())
    evaluations = Scripted(session_at(path, corridor(**settings, shares=shares)), world)
    keys = np.arange(STATES, dtype=np.uint64) + 1
    rankings = {}
    for number, name in enumerate(STANDARD_MEASURES):
        order = np.random.default_rng([world, number]).permutation(STATES)
        rankings[name] = Ranking(name, order, np.zeros(STATES), keys)
    return sweep(evaluations, rankings, references()), evaluations


def thresholds(swept: Sweep) -> Iterator[tuple[str, float, Any, Any]]:
    """Return what is reported: of each measure, of random rankings, their best and their mean."""
    groups = {name: [curve] for name, curve in swept.curves.items()}
    groups["random_best"] = list(swept.random_curves)
    groups["random"] = [mean_curve("random", swept.random_curves).by_test_episode()]
    for target in (0.9, 0.5):
        for name, curves in groups.items():
            points = reaching(curves, target)
            yield name, target, fewest_states(points), fewest_steps(points)


@pytest.mark.parametrize("world", range(3))
def test_thresholds_lie_within_a_grid_step_of_a_full_sweep(world: int, tmp_path: Path) -> None:
    full, whole = scripted(tmp_path / "full", world, "full")
    adaptive, played = scripted(tmp_path / "adaptive", world, "adaptive")
    for one, other in zip(thresholds(full), thresholds(adaptive), strict=True):
        assert one[:2] == other[:2]
        assert abs(one[2].states - other[2].states) <= 0.05 + 1e-9, one[:2]
        assert abs(one[3].steps - other[3].steps) <= 0.05 + 1e-9, one[:2]
        assert {other[2].episodes, other[3].episodes} == {TESTED}, "what is reported has them all"
    assert whole.count == full.episodes == 15 * 19 * TESTED + 2 * TESTED, "share 0 and 1 once"
    assert played.count == adaptive.episodes < full.whole / 2
    assert full.whole == adaptive.whole == 15 * 21 * TESTED


def test_no_point_is_judged_by_less_than_the_first_block(tmp_path: Path) -> None:
    adaptive, played = scripted(tmp_path, 0, "adaptive")
    counts = {int(n) for curve in adaptive.all_curves for n in curve.episodes}
    assert min(counts) == FIRST
    assert counts <= {*episode_looks(TESTED)}
    full, _ = scripted(tmp_path, 0, "full")
    for one, other in zip(full.all_curves, adaptive.all_curves, strict=True):
        shown = ~np.isnan(other.returns)
        np.testing.assert_array_equal(one.returns[shown], other.returns[shown])
        assert (np.diff(shown.astype(int), axis=1) <= 0).all(), "the first test episodes, no others"
    assert all(one.test_episodes * len(one.points) == one.total for one in played.asked.values())


# ------------------------------------------------------------------------- on a real world

FINE = {
    "test_episodes": 40, "shares": tuple(np.round(np.linspace(0, 1, 16), 4).tolist()), "chunk": 30,
    "confirm_episodes": 4,
}  # fmt: skip


@pytest.fixture(scope="module")
def adaptive(tmp_path_factory: pytest.TempPathFactory) -> rpd.Run:
    return finish(tmp_path_factory.mktemp("sweep") / "run", corridor(**FINE))


def test_equal_pruned_policies_are_played_once(adaptive: rpd.Run) -> None:
    """Fifteen states have few sets of first ones, so that rankings share many."""
    keys = np.sort(adaptive.ranking("tarantula").columns["key"])
    places: dict[frozenset[int], set[Any]] = {}
    for name, points in adaptive.asked.sweep.items():
        random = name.startswith("random:")
        ranked = (
            random_ranking(keys, int(name.partition("=")[2])).ranked_keys
            if random
            else adaptive.ranking(name).columns["key"]
        )
        for point in points:
            kept = frozenset(ranked[: point.kept].tolist())
            places.setdefault(kept, set()).add((point.sets, point.ranking, point.episodes))
    assert {len(some) for some in places.values()} == {1}
    assert len(places) < 0.7 * sum(len(points) for points in adaptive.asked.sweep.values())
    played = sum(episodes for some in places.values() for _, _, episodes in some)
    names = {one for points in adaptive.asked.sweep.values() for p in points for one in p.sets}
    folders = [adaptive.asked.evaluations[name] for name in names]
    stored = [stored_table(adaptive.directory, folder) for folder in folders]
    assert played == sum(map(len, stored)) == adaptive.summary.sweep.episodes
    assert played < adaptive.summary.sweep.whole / 4


def test_an_adaptive_sweep_answers_as_a_full_one_does(adaptive: rpd.Run) -> None:
    full = finish(adaptive.path, corridor(**FINE, sweep="full"))
    assert "sweep-full" in full.summary.analysis
    assert full.summary.sweep.whole == adaptive.summary.sweep.whole
    for fraction in (0.9, 0.5):
        found = adaptive.summary.thresholds[f"{fraction:g}"]
        for name, one in full.summary.thresholds[f"{fraction:g}"].items():
            other = found[name]
            assert one is not None
            assert other is not None
            assert abs(one.fewest_states.kept - other.fewest_states.kept) <= 1, name
            assert abs(one.fewest_steps.steps - other.fewest_steps.steps) <= 1 / 15, name
        chosen, same = full.policy(fraction), adaptive.policy(fraction)
        assert chosen is not None
        assert same is not None
        assert chosen.target == same.target
        assert chosen.met == same.met


def test_curves_tell_the_episodes_behind_each_point(adaptive: rpd.Run) -> None:
    counts = {name: curve.episodes.tolist() for name, curve in adaptive.curves.items()}
    assert {one for some in counts.values() for one in some} == {6, 40}
    lines = shown_curves(adaptive.curves, adaptive.random_curves)
    for name, curve in adaptive.curves.items():
        line, known = lines[name], [row[~np.isnan(row)] for row in curve.returns]
        assert list(line.episodes) == counts[name] == [len(row) for row in known]
        assert list(line.returns) == pytest.approx([row.mean() for row in known])
        errors = [row.std(ddof=1) / np.sqrt(len(row)) for row in known]
        half = [upper_t(0.025, len(row) - 1) * e for row, e in zip(known, errors, strict=True)]
        assert np.subtract(line.high, line.returns) == pytest.approx(np.array(half))
        assert np.isfinite([line.low, line.high, line.steps]).all()
    assert np.isfinite(lines["random"].high).all()
    assert lines["random"].episodes == tuple(
        np.min([curve.episodes for curve in adaptive.random_curves], axis=0).tolist()
    )
    page = adaptive.report(adaptive.path / "report.html").read_text()
    assert "test episodes: a point is played until it is clear" in page


def test_which_episodes_are_played_depends_on_nothing_but_the_question(
    adaptive: rpd.Run, tmp_path: Path
) -> None:
    """Interrupted again and again, and with two workers, it ends with the same bytes."""
    wanted = pruned_files(adaptive.path, adaptive)
    stored = []
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            finish(tmp_path / "broken", corridor(**FINE), progress=after_parts(4))
        stored.append(len(list((tmp_path / "broken" / "pruning").glob("sweep-*"))))
    assert stored[0] < stored[-1], "it was broken off in different rounds"
    run = finish(tmp_path / "broken", corridor(**FINE))
    assert pruned_files(run.path, run) == wanted
    both = finish(tmp_path / "both", corridor(**FINE), workers=2)
    assert pruned_files(both.path, both) == wanted


def after_parts(count: int) -> Any:
    """Return what ends a run when so many items of the sweep's work are stored."""
    told = []

    def progress(stage: str, done: int, total: int) -> None:
        told.extend([done] if stage == "pruning" and done not in told else [])
        if len(told) > count:
            raise KeyboardInterrupt

    return progress


def pruned_files(path: Path, run: rpd.Run) -> dict[str, bytes]:
    """Return the tables of pruned episodes that an analysis stands on, and what it says of them."""
    folders = {*run.asked.evaluations.values()}
    found = {
        name: content
        for name, content in contents(path / "pruning").items()
        if name.partition("/")[0] in folders
    }
    return {**found, "sweep": repr(run.asked.sweep).encode()}


def test_a_point_that_lacks_an_episode_is_not_shown(adaptive: rpd.Run, tmp_path: Path) -> None:
    run = rpd.open_run(shutil.copytree(adaptive.path, tmp_path / "copy"))
    name = run.asked.sweep["ochiai"][3].sets[-1]
    parts = run.directory.evaluation(run.asked.evaluations[name])
    first, last = parts.covered()[-1]
    (parts.path / f"part-{first:09d}-{last:09d}.json").unlink()
    with pytest.raises(StoreError, match=r"run rpd prune again$"):
        _ = run.curves, run.random_curves


def test_a_bench_is_always_played_in_full() -> None:
    with pytest.raises(ConfigError, match="bench\\(\\) has no argument 'sweep'"):
        rpd.bench("cartpole", sweep="adaptive")
    with pytest.raises(ConfigError, match="sweep must be adaptive or full, got 'some'"):
        check_value("sweep", "some")

"""Refining in the corridor, where what any set of kept states earns is enumerated."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import worlds
from commands import refusal, rpd_command
from stores import contents, corridor, finish
from strangers import having, plugin

import rpd
from rpd_core.analysis.spectrum import tally
from rpd_core.chance import Phase
from rpd_core.play.chunks import Around, SuiteChunk, perform_suite
from rpd_core.play.recipe import Recipe
from rpd_core.plugin.protocols import Component
from rpd_core.pruning.refine import ORDERS, Order, return_effects, scores_of

ASKED: dict[str, Any] = {
    "episodes": 400,
    "chunk": 400,
    "test_episodes": 20,
    "refine_episodes": 400,
    "shares": (0.0, 1.0),
}
PATH = [0, 1, 2, 3, 5, 7, 10, 12, 14]
"""States that the policy visits; keeping them all is what trimming leaves."""


@pytest.fixture(scope="module")
def refined(tmp_path_factory: pytest.TempPathFactory) -> rpd.Run:
    return finish(tmp_path_factory.mktemp("refined") / "run", corridor(**ASKED, rounds=3))


def kept_states(run: rpd.Run) -> list[int]:
    kept = run.kept(0.9)
    assert kept is not None
    numbers = {key: state for state, key in enumerate(worlds.corridor_keys().tolist())}
    return sorted(numbers[key] for key in kept.keys)


def earned(kept: list[int]) -> float:
    """Return the mean return of keeping some states, from both starts."""
    mutated = np.ones((2, worlds.STATES), dtype=bool)
    mutated[:, kept] = False
    returns, _ = worlds.play_fates(mutated, np.arange(2))
    return float(returns.mean())


def test_a_confirmed_policy_becomes_smaller_and_keeps_what_it_earns(refined: rpd.Run) -> None:
    policy, first = refined.summary.policy, refined.summary.rounds[0]
    assert policy is not None
    assert (policy.met, policy.measure) == (True, "refined")
    assert first.centre == len(PATH)
    assert first.shrunk
    assert policy.kept == len(kept_states(refined)) <= len(PATH) - 2
    assert policy.states == policy.kept / worlds.STATES
    assert earned(kept_states(refined)) >= 0.9 * earned(PATH) == 0.9 * 3.5


def test_a_round_that_shrinks_nothing_is_the_last(refined: rpd.Run) -> None:
    assert [one.shrunk for one in refined.summary.rounds] == [True, False]
    assert [one.number for one in refined.summary.rounds] == [1, 2]


def test_rounds_lie_below_their_analysis_and_leave_the_suite_alone(
    refined: rpd.Run, tmp_path: Path
) -> None:
    plain = finish(tmp_path / "plain", corridor(**ASKED))
    assert plain.summary.rounds == ()
    suite = contents(plain.path / "suite")
    assert contents(refined.path / "suite") == suite, "the first suite never changes"
    for one in refined.summary.rounds:
        folder = refined.path / one.folder
        assert folder.parent.name == "refine"
        assert len(list(folder.glob("part-*.json"))) == 1
        assert one.episodes == 400
    assert rpd_command("verify", refined.path).exit_code == 0


def test_the_same_run_refines_to_the_same_bytes(refined: rpd.Run, tmp_path: Path) -> None:
    again = finish(tmp_path / "again", corridor(**ASKED, rounds=3))
    assert contents(again.path, "*.json") == contents(refined.path, "*.json")
    assert contents(again.path) == contents(refined.path)


def test_a_round_that_has_gone_is_named(refined: rpd.Run, tmp_path: Path) -> None:
    run = shutil.copytree(refined.path, tmp_path / "run")
    shutil.rmtree(next(run.glob("analyses/*/refine")))
    result = rpd_command("verify", run)
    assert result.exit_code == 3
    assert f"stands on '{refined.summary.rounds[0].folder}', which is not there" in result.output


def test_a_broken_round_is_named_and_played_again(tmp_path: Path) -> None:
    run = finish(tmp_path / "run", corridor(**ASKED, rounds=1))
    before = contents(run.path)
    record = next((run.path / run.summary.rounds[0].folder).glob("visits/part-*.parquet"))
    record.write_bytes(record.read_bytes()[:-9])
    assert "was changed after it was written" in rpd_command("verify", run.path).output
    notes: list[str] = []
    finish(run.path, corridor(**ASKED, rounds=1), note=notes.append)
    assert any("it is played again" in note for note in notes)
    assert contents(run.path) == before


def test_without_given_rounds_they_must_pay(tmp_path: Path) -> None:
    few = finish(tmp_path / "few", corridor(**{**ASKED, "episodes": 60, "rounds": None}))
    assert few.summary.rounds == (), "a round would cost more than all that was played"


STRANGE = plugin(
    "halls",
    "0.1",
    (
        ("environment", Component("corridor", "worlds:Corridor", "x", runs_code=False)),
        ("policy", Component("goes", "worlds:Goes", "x", runs_code=False)),
    ),
)


def test_the_command_refines_a_stored_run(tmp_path: Path) -> None:
    with having(STRANGE):
        asked = corridor(**ASKED, env="corridor", policy="goes")
        run = finish(tmp_path / "run", asked)
        result = rpd_command("refine", run.path, "--rounds", "1", "--workers", "1")
        assert result.exit_code == 0, result.output
        opened = rpd.open_run(run.path)
        assert opened.name != run.name, "beside the analysis that it refines"
        assert len(opened.summary.rounds) == 1
        assert opened.summary.rounds[0].folder.startswith("analyses/return-ge-2.5_")
        assert "refined in 1 round," in " ".join(result.stdout.split())
        assert "rounds must be at least 1" in refusal("refine", run.path, "--rounds", "0")


# ------------------------------------------------------------------------- what a state is worth


def mutants(kept: list[int]) -> Any:
    recipe = Recipe(
        worlds.Corridor(), worlds.Goes(), worlds.Itself(), worlds.Drifts(), 500, worlds.MAX_STEPS
    )
    around = Around(worlds.corridor_keys()[kept], 0.98)
    job = SuiteChunk(recipe, 1, 0.2, 0, 1999, Phase.REFINE, 1, around)
    return perform_suite(job).suite


def test_mutants_around_a_policy_follow_both_rates() -> None:
    visits = mutants(PATH).visits
    inside = np.isin(visits.key, worlds.corridor_keys()[PATH])
    assert set(visits.mutation_rate[inside]) == {0.2}
    assert set(visits.mutation_rate[~inside]) == {0.98}
    assert abs(visits.mutated[inside].mean() - 0.2) < 0.02
    assert visits.mutated[~inside].mean() > 0.95


def test_effects_on_the_return_are_differences_of_means() -> None:
    suite = mutants(PATH)
    counted = tally([suite], np.zeros(2000))
    estimate, error = return_effects(counted)
    row = int(np.searchsorted(counted.states.key, worlds.corridor_keys()[7]))
    here = suite.visits.key == counted.states.key[row]
    returns = suite.episodes.total_return[suite.visits.episode]
    kept = returns[here & ~suite.visits.mutated]
    mutated = returns[here & suite.visits.mutated]
    assert estimate[row] == pytest.approx(kept.mean() - mutated.mean())
    assert estimate[row] > 2, "drifting from 7 ends in the pit"
    spread = np.sqrt(kept.var() / len(kept) + mutated.var() / len(mutated))
    assert spread <= error[row] * (1 + 1e-9)
    irrelevant = np.searchsorted(counted.states.key, worlds.corridor_keys()[worlds.IRRELEVANT])
    assert abs(estimate[irrelevant]) < 4 * error[irrelevant]


@pytest.mark.parametrize("order", ORDERS)
def test_needed_states_come_before_the_irrelevant_one(order: Order) -> None:
    counted = tally([mutants(PATH)], np.zeros(2000))
    scores = scores_of(counted, worlds.corridor_keys()[PATH], order)
    rows = np.searchsorted(counted.states.key, worlds.corridor_keys())
    needed = scores[rows[[3, 5, 7, 10]]]
    assert needed.min() > scores[rows[worlds.IRRELEVANT]]

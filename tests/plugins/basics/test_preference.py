"""States made of how much the policy prefers its action to the default's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import worlds
from commands import rpd_command
from gymnasium import spaces
from stores import build, corridor, session_at

import rpd
from rpd_basics.auto import Auto
from rpd_basics.default_actions import Repeat
from rpd_basics.preference import Preference
from rpd_basics.pruned import PrunedFile
from rpd_basics.rules import Rules
from rpd_core.chance import Phase, episode_keys
from rpd_core.config.resolve import resolve
from rpd_core.config.settings import Request
from rpd_core.errors import FitError, SpecError
from rpd_core.play.deciders import always
from rpd_core.play.loop import Plan, Player
from rpd_core.play.recipe import Recipe, policy_alone
from rpd_core.plugin.protocols import POLICY_ACTION, POLICY_GAP, Facts, FitSample
from rpd_core.plugin.registry import installed
from rpd_core.store.prepared import prepared_setup
from rpd_gym.cartpole import CartPole
from rpd_gym.cartpole_policy import CartPolePolicy

GAPS = np.array([0.0, -1.0, *np.linspace(0.1, 8.0, 80)])
ACTIONS = np.arange(len(GAPS)) % 2


def sample(gaps: Any = GAPS, actions: Any = ACTIONS, space: Any = None, **facts: Any) -> FitSample:
    known = Facts(None, space or spaces.Discrete(2), 4, **facts)
    views = {POLICY_ACTION: actions, POLICY_GAP: gaps}
    episodes = np.zeros(len(gaps), dtype=np.int64)
    return FitSample(gaps[:, None], views, episodes, actions, known, 0, 100, 0.3, gap_unit="value")


def states(fitted: Preference, gaps: Any, actions: Any) -> list[list[int]]:
    views = {POLICY_ACTION: np.array(actions), POLICY_GAP: np.array(gaps)}
    return list(fitted(np.zeros((len(gaps), 1)), views).tolist())


@pytest.fixture(scope="module")
def fitted() -> Preference:
    return Preference(bins=4).fit(sample(action_names=("left", "right")))


def test_bins_are_equally_full_above_0_and_apart_from_the_rest(fitted: Preference) -> None:
    assert len(fitted.edges) == 3
    found = np.array(states(fitted, GAPS, ACTIONS))[:, 1]
    assert np.unique(found, return_counts=True)[0].tolist() == [-1, 0, 1, 2, 3, 4]
    assert np.unique(found, return_counts=True)[1].tolist() == [1, 1, 20, 20, 20, 20]


def test_a_state_is_an_action_and_a_bin_and_nothing_of_the_observation(fitted: Preference) -> None:
    assert states(fitted, [0.1, 0.1, 0.0, 99.0], [0, 1, 1, 0]) == [[0, 1], [1, 1], [1, 0], [0, 4]]


def test_states_are_shown_in_words() -> None:
    known = Preference(bins=4, edges=(1.2, 2.5, 5.0), unit="log odds", actions=("left", "right"))
    shown = [known.show(np.array([1, place])) for place in (-1, 0, 1, 2, 3, 4)]
    assert shown == [
        "does right and prefers the default's (log odds)",
        "prefers right by 0 (log odds)",
        "prefers right by less than 1.2 (log odds)",
        "prefers right by 1.2 to 2.5 (log odds)",
        "prefers right by 2.5 to 5 (log odds)",
        "prefers right by 5 or more (log odds)",
    ]
    assert replace(known, edges=()).show(np.array([0, 1])) == "prefers left (log odds)"


def test_actions_without_names_are_numbered_from_their_first() -> None:
    known = Preference(bins=2).fit(sample(actions=ACTIONS + 5, space=spaces.Discrete(2, start=5)))
    assert states(known, [9.0], [6]) == [[1, 2]]
    assert known.show(np.array([1, 2])).startswith("prefers action 6 by ")


def test_actions_that_are_not_discrete_are_not_told_apart() -> None:
    pushes = np.linspace(-1, 1, len(GAPS))[:, None]
    known = Preference(bins=2).fit(sample(actions=pushes, space=spaces.Box(-1, 1, (1,))))
    assert states(known, [0.0, 9.0], [[0.5], [-0.5]]) == [[0, 0], [0, 2]]
    assert known.show(np.array([0, 2])).startswith("prefers its action by ")


def test_a_policy_that_never_prefers_its_action_has_states_all_the_same() -> None:
    known = Preference().fit(sample(gaps=np.zeros(3), actions=np.array([0, 1, 1])))
    assert known.edges == ()
    assert states(known, [0.0, 3.0], [1, 1]) == [[1, 0], [1, 1]]


def test_wrong_parameters_and_no_fit_are_refused() -> None:
    with pytest.raises(SpecError, match=r"bins must lie in 1..1000, got 0"):
        Preference(bins=0)
    with pytest.raises(FitError, match="preference is not fitted"):
        Preference()(np.zeros((1, 1)), {POLICY_GAP: np.zeros(1), POLICY_ACTION: np.zeros(1)})


# ------------------------------------------------------------------------- in a run


def prefers(**more: Any) -> Any:
    """The corridor, whose policy always goes and prefers that by the number of the state."""
    return corridor(abstraction="preference:bins=3", policy=worlds.Minds(), **more)


def test_mutants_are_mutated_by_what_the_policy_prefers(tmp_path: Path) -> None:
    session = session_at(tmp_path, prefers())
    suite = build(session)
    learned = session.recipe.links[-1]
    assert isinstance(learned, Preference)
    assert (learned.unit, learned.actions) == ("value", ("drift", "go"))
    assert suite.states.value[:, 0].tolist() == [1] * len(suite.states)
    assert sorted(suite.states.value[:, 1].tolist()) == [0, 1, 2, 3]
    means = suite.states.default_gap / suite.states.visits
    cut = np.searchsorted(np.array(learned.edges), means, side="right")
    assert np.where(means > 0, cut + 1, 0).tolist() == suite.states.value[:, 1].tolist()


def test_a_default_action_that_draws_by_the_state_is_circular(tmp_path: Path) -> None:
    with pytest.raises(FitError, match=r"draws by the state.*circular: choose another --default"):
        build(session_at(tmp_path / "once", prefers(default_action="random")))
    build(session_at(tmp_path / "anew", prefers(default_action="random:redraw=true")))


def test_a_policy_that_offers_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FitError, match="offers neither action values nor probabilities: choose"):
        build(session_at(tmp_path, corridor(abstraction="preference")))


@pytest.mark.parametrize(
    "asked",
    [
        corridor(default_action="repeat"),  # whose policy offers nothing
        corridor(policy=worlds.Minds(), default_action="random"),
    ],
)
def test_another_abstraction_takes_its_place_where_nobody_can_tell(
    tmp_path: Path, asked: Request
) -> None:
    either = replace(asked, abstraction="preference:otherwise=auto")
    session = session_at(tmp_path / "either", either)
    suite = build(session)
    assert type(session.recipe.links[-1]) is Auto
    stored = prepared_setup(session.directory, resolve(either, installed()))
    assert stored == session.setup
    alone = build(session_at(tmp_path / "alone", replace(asked, abstraction="auto")))
    assert alone.states.key.tolist() == suite.states.key.tolist()


def test_the_other_abstraction_waits_where_it_can_be_told(tmp_path: Path) -> None:
    either = replace(prefers(), abstraction="preference:bins=3,otherwise=auto")
    session = session_at(tmp_path / "either", either)
    suite = build(session)
    stored = prepared_setup(session.directory, resolve(either, installed()))
    assert stored == session.setup
    alone = build(session_at(tmp_path / "alone", prefers()))
    assert alone.states.key.tolist() == suite.states.key.tolist()


def test_an_abstraction_that_grows_cannot_take_its_place() -> None:
    with pytest.raises(SpecError, match="otherwise cannot be an abstraction that learns by play"):
        Preference(otherwise=Rules())


def test_only_an_abstraction_is_told_what_the_policy_prefers(tmp_path: Path) -> None:
    class Curious(worlds.Drifts):
        needs = (POLICY_GAP,)

    with pytest.raises(FitError, match=r"default action needs the view 'policy.gap', which Corr"):
        Player(replace(session_at(tmp_path, prefers()).recipe, default_action=Curious()))


# ------------------------------------------------------------------- exported and replayed

SMALL = {
    "abstraction": "preference", "episodes": 200, "test_episodes": 6, "unmutated_episodes": 50,
    "confirm_episodes": 60, "confirm_tries": 2, "workers": 1, "progress": False, "finish": (),
}  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> rpd.Run:
    return rpd.run("cartpole", out=tmp_path_factory.mktemp("preference") / "run", **SMALL)


def test_a_replayed_episode_is_in_the_same_states(run: rpd.Run) -> None:
    for index in range(3):
        again, row = run.replay(index), run.suite.episodes
        assert (again.total_return, len(again.steps)) == (
            row.total_return[index],
            row.length[index],
        )
        visited = run.suite.visits.key[run.suite.visits.episode == index]
        assert {step.key for step in again.steps} == {*visited.tolist()}
        assert all("(log odds)" in step.state for step in again.steps)


def test_the_policy_is_asked_at_every_step_so_that_nothing_goes_without_it(run: rpd.Run) -> None:
    policy = run.policy()
    assert policy is not None
    assert policy.met
    assert policy.steps < 1
    assert (policy.calls_saved, policy.rules_alone) == (0.0, None)


def test_an_exported_policy_decides_in_the_same_states(run: rpd.Run, tmp_path: Path) -> None:
    told = rpd_command("prune", run.path, "--export", tmp_path / "small.rpd", "--workers", "1")
    assert told.exit_code == 0, told.output
    file = PrunedFile(tmp_path / "small.rpd")
    assert file.needs == ()
    kept = run.kept()
    assert kept is not None
    index = np.arange(20)
    plan = Plan(index, episode_keys(1, Phase.PROBE, index))
    links = restored(file)
    whole = Recipe(CartPole(), CartPolePolicy(), links, Repeat(), 20, 200)
    pruned = Player(whole).play(
        plan, lambda keys, at: np.isin(keys, np.array(kept.keys, dtype=np.uint64))
    )
    alone = Player(policy_alone(CartPole(), file, 20)).play(plan, always)
    assert pruned.policy_steps.sum() < pruned.length.sum()
    assert alone.total_return.tolist() == pruned.total_return.tolist()


def restored(file: PrunedFile) -> Any:
    """Return the abstraction of an exported policy, with what it has learned."""
    return file._abstraction(file.about())

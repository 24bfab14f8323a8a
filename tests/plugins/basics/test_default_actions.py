"""Default actions and Python policies at the edges of their spaces."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from rpd_basics.default_actions import parse_action
from rpd_core.chance import Domain, Draws, Phase, domain_keys, episode_keys
from rpd_core.config.trust import runs_code
from rpd_core.errors import FitError, RpdError, SpecError
from rpd_core.plugin.importing import import_attribute
from rpd_core.plugin.protocols import Choice, Facts, FitSample, Moment, PolicyInput
from rpd_core.plugin.registry import installed

LANES = 3


def facts(space: Any, **more: Any) -> Facts:
    return Facts(spaces.Box(0, 1, (2,)), space, LANES, description="World", **more)


def draws(domain: Domain, within: Any = None) -> Draws:
    roots = domain_keys(episode_keys(0, Phase.SUITE, np.arange(LANES)), domain)
    return Draws(roots, np.zeros(LANES, dtype=np.int64) if within is None else within)


def moment(
    previous: Any, starts: Any = (False, False, False), keys: Any = None, step: int = 0
) -> Moment:
    return Moment(
        np.zeros((LANES, 2)), {}, np.asarray(previous), np.zeros(LANES), np.array(starts),
        draws(Domain.DEFAULT_STATE, keys), draws(Domain.DEFAULT_STEP, np.full(LANES, step)),
    )  # fmt: skip


def act(spec: str, space: Any, at: Moment, **more: Any) -> Any:
    return installed().make("default-action", spec).open(facts(space, **more))(at)


class Weekday(spaces.Discrete):
    """A space of somebody's own that is one of Gymnasium's all the same."""

    def __init__(self) -> None:
        super().__init__(7, start=1)


DISCRETE = spaces.Discrete(4)
BOX = spaces.Box(-2, 2, (2,), np.float32)


@pytest.mark.parametrize(
    ("spec", "space", "more", "expected"),
    [
        ("constant:2", DISCRETE, {}, 2),
        ("constant:left", DISCRETE, {"action_names": ("up", "left", "down", "right")}, 1),
        ("constant:left", spaces.Discrete(2, start=5), {"action_names": ("left", "right")}, 5),
        ("constant:5", spaces.Discrete(2, start=5), {}, 5),
        ("constant:0.5+-1", BOX, {}, [0.5, -1.0]),
        ("constant:0.5", BOX, {}, [0.5, 0.5]),
        ("no-op", DISCRETE, {"no_op": 3}, 3),
        ("no-op", BOX, {}, [0.0, 0.0]),
        ("no-op", spaces.Box(1, 2, (2,), np.float32), {}, [1.0, 1.0]),
        ("zero", BOX, {}, [0.0, 0.0]),
        ("zero", spaces.Box(1, 2, (2,), np.float32), {}, [1.0, 1.0]),
        ("mean", BOX, {}, [0.0, 0.0]),  # before it has learned
        ("hold:3", DISCRETE, {"no_op": 2}, 2),
        ("hold:3,first=1", BOX, {}, [1.0, 1.0]),
        ("repeat:first=3", DISCRETE, {}, 3),
        ("repeat", DISCRETE, {"no_op": 2}, 2),
        ("repeat", spaces.Discrete(2, start=5), {}, 5),
    ],
)
def test_the_action_of_a_first_step(spec: str, space: Any, more: Any, expected: Any) -> None:
    blank = np.zeros((LANES, *space.shape), dtype=space.dtype)
    found = act(spec, space, moment(blank, (True, True, True)), **more)
    assert found.tolist() == [expected] * LANES


def test_repeat_takes_the_first_action_only_in_lanes_that_start() -> None:
    found = act("repeat:1", DISCRETE, moment([3, 2, 0], (False, True, False)))
    assert found.tolist() == [3, 1, 0]


@pytest.mark.parametrize(
    ("spec", "space", "message"),
    [
        ("constant:4", DISCRETE, r"constant: 4 is not in Discrete\(4\)"),
        ("constant:-1", DISCRETE, r"constant: -1 is not in Discrete\(4\)"),
        ("constant:up", DISCRETE, "constant cannot read the action 'up': give a number"),
        ("constant:1+2+3", BOX, "is not in Box"),
        ("constant:9", BOX, "is not in Box"),
        ("constant:nan", BOX, "is not in Box"),
        ("constant:1.5", DISCRETE, r"constant: 1.5 is not in Discrete\(4\)"),
        ("constant:1+2", DISCRETE, r"constant: 1\+2 is not in Discrete\(4\)"),
        ("constant:0+0", DISCRETE, r"constant: 0\+0 is not in Discrete\(4\)"),
        ("repeat:first=3+3", DISCRETE, r"repeat: 3\+3 is not in Discrete\(4\)"),
        ("constant:1e30", DISCRETE, r"constant: 1e30 is not in Discrete\(4\)"),
        ("constant:1e400", DISCRETE, r"constant: 1e400 is not in Discrete\(4\)"),
        ("constant:1e400", BOX, r"constant: 1e400 is not in Box"),
        ("constant:300", spaces.MultiBinary(2), r"constant: 300 is not in MultiBinary\(2\)"),
        ("no-op", Weekday(), "World has no action that does nothing: use constant:<action>"),
        ("repeat:first=7", DISCRETE, r"repeat: 7 is not in Discrete\(4\)"),
        ("no-op", DISCRETE, "World has no action that does nothing: use constant:<action>"),
        ("random", spaces.Box(-np.inf, np.inf, (2,)), "random cannot draw from the unbounded"),
        ("random:0+4", DISCRETE, r"random: 4 is not in Discrete\(4\)"),
        ("random:up", DISCRETE, "random cannot read the action 'up': give a number"),
    ],
)
def test_an_action_that_cannot_work_is_refused(spec: str, space: Any, message: str) -> None:
    with pytest.raises(FitError, match=message) as caught:
        installed().make("default-action", spec).open(facts(space))
    assert "\n" not in str(caught.value)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("number", ["nan", "inf", "1e30"])
def test_a_silly_number_is_refused_without_a_warning(number: str) -> None:
    with pytest.raises(FitError, match=f"constant: {number} is not in"):
        installed().make("default-action", f"constant:{number}").open(facts(DISCRETE))


def test_a_name_is_an_action_of_a_subclass_of_discrete_too() -> None:
    named = facts(Weekday(), action_names=("Monday", "Tuesday"))
    assert parse_action("Tuesday", named, "x").item() == 2


def test_names_of_the_parts_of_an_action_are_not_actions() -> None:
    with pytest.raises(FitError, match="constant cannot read the action 'gas': give a number"):
        parse_action("gas", facts(BOX, action_names=("gas", "brake")), "constant")


def test_names_come_before_numbers() -> None:
    named = facts(DISCRETE, action_names=("3", "2", "1", "0"))
    assert parse_action("3", named, "x").item() == 0


def test_random_is_keyed_by_state_and_not_by_step() -> None:
    keys = np.array([11, 12, 13], dtype=np.uint64)
    space = spaces.Discrete(1000)
    one = act("random", space, moment([0, 0, 0], keys=keys))
    later = moment([9, 9, 9], keys=keys, step=7)
    assert act("random", space, later).tolist() == one.tolist()
    assert act("random", space, moment([0, 0, 0], keys=keys + 5)).tolist() != one.tolist()


def test_random_that_is_redrawn_is_keyed_by_step_and_not_by_state() -> None:
    keys = np.array([11, 12, 13], dtype=np.uint64)
    space = spaces.Discrete(1000)
    one = act("random:redraw=true", space, moment([0, 0, 0], keys=keys))
    elsewhere = moment([0, 0, 0], keys=keys + 5)
    assert act("random:redraw=true", space, elsewhere).tolist() == one.tolist()
    later = moment([0, 0, 0], keys=keys, step=7)
    assert act("random:redraw=true", space, later).tolist() != one.tolist()


def test_random_draws_from_the_actions_that_it_is_given() -> None:
    keys = np.arange(3, dtype=np.uint64)
    drawn = {
        number
        for start in range(0, 300, 3)
        for number in act("random:3+1", DISCRETE, moment([0, 0, 0], keys=keys + start)).tolist()
    }
    assert drawn == {1, 3}


# ------------------------------------------------------------------------- Python policies


def see(observations: Any) -> PolicyInput:
    return PolicyInput(
        observations, {}, np.zeros(LANES, dtype=bool), None, draws(Domain.POLICY),
        np.zeros(LANES, dtype=np.int64), np.zeros(LANES),
    )  # fmt: skip


def load(spec: Any) -> Any:
    made = installed().make("policy", spec) if isinstance(spec, str) else spec
    return made.load(facts(DISCRETE))


def test_a_function_by_its_name_is_found_in_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_own_policy.py").write_text(
        "import numpy as np\n\ndef decide(batch):\n    return np.full(len(batch), 2)\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", ["/nowhere", *__import__("sys").path])
    assert (
        load("python:my_own_policy:decide")(see(np.zeros((LANES, 2)))).actions.tolist() == [2] * 3
    )


@pytest.mark.parametrize("target", ["nothing", "no_such_module_here:f", "math:squareroot", ":f"])
def test_a_function_that_cannot_be_imported_is_refused(target: str) -> None:
    with pytest.raises(SpecError, match=r"must be written module:attribute|cannot import"):
        import_attribute(target)


@pytest.mark.parametrize(
    ("text", "runs"),
    [("python:my_own_policy:decide", True), ("random", False), ("cartpole:weak", False)],
)
def test_a_default_action_runs_code_if_its_policy_does(text: str, runs: bool) -> None:
    policy = installed().make("policy", text)
    by_policy = installed().make("default-action", f"policy:{text}")
    assert runs_code("policy", policy, installed()) is runs
    assert runs_code("default-action", by_policy, installed()) is runs


def test_a_function_may_give_a_list_an_array_or_a_choice() -> None:
    python = installed().resolve("policy", "python")
    for answer in ([1, 2, 3], np.array([1, 2, 3]), Choice(np.array([1, 2, 3]))):
        found = load(python(lambda batch, answer=answer: answer))(see(np.zeros((LANES, 2))))
        assert found.actions.tolist() == [1, 2, 3]


def test_a_function_that_ignores_the_batch_is_refused() -> None:
    python = installed().resolve("policy", "python")
    with pytest.raises(FitError, match=r"one action for each of the 3 observations.*shape \(2,\)"):
        load(python(lambda batch: [1, 2]))(see(np.zeros((LANES, 2))))
    with pytest.raises(RpdError, match="one action for each"):
        load(python(lambda batch: 1))(see(np.zeros((LANES, 2))))


def test_random_play_covers_the_space_and_changes_with_the_step() -> None:
    policy, seen = load("random"), see(np.zeros((LANES, 2)))
    steps = [
        dataclasses.replace(seen, draws=draws(Domain.POLICY, np.full(LANES, step)))
        for step in range(100)
    ]
    found = np.stack([policy(step).actions for step in steps])
    assert found.dtype == np.int64
    for lane in range(LANES):
        assert set(found[:, lane].tolist()) == {0, 1, 2, 3}


def test_hold_repeats_for_some_steps_in_each_lane_and_lets_go() -> None:
    actor = installed().make("default-action", "hold:2,first=0").open(facts(DISCRETE))
    starts, going = (True, True, True), (False, False, False)
    assert actor(moment([9, 9, 9], starts)).tolist() == [0, 0, 0]
    assert actor(moment([1, 2, 0], going)).tolist() == [1, 2, 0]  # each executed once
    assert actor(moment([1, 3, 0], going)).tolist() == [0, 3, 0]  # 1 and 0 twice: let go
    assert actor(moment([1, 3, 2], (False, False, True))).tolist() == [0, 0, 0]
    assert actor(moment([2, 0, 3], going)).tolist() == [2, 0, 3]


def test_mean_learns_what_the_policy_does_and_stays_in_the_space() -> None:
    recipe = installed().make("default-action", "mean")
    chosen = np.array([[1.0, 9.0], [0.0, 9.0], [0.5, 9.0]])
    sample = FitSample(
        values=np.zeros((3, 2)), views={}, episodes=np.zeros(3, dtype=np.int64), actions=chosen,
        facts=facts(BOX), seed=0, planned_episodes=1, mutation_rate=0.2,
    )  # fmt: skip
    learned = recipe.fit(sample)
    assert learned.action == (0.5, 9.0)
    assert learned.open(facts(BOX))(moment(np.zeros((LANES, 2)))).tolist() == [[0.5, 2.0]] * LANES


@pytest.mark.parametrize("spec", ["zero", "mean"])
def test_numbers_that_mean_nothing_are_refused(spec: str) -> None:
    with pytest.raises(FitError, match=f"{spec} is for continuous actions, not Discrete"):
        act(spec, DISCRETE, moment(np.zeros(LANES)))


def test_hold_needs_a_step() -> None:
    with pytest.raises(SpecError, match="steps must be at least 1, got 0"):
        installed().make("default-action", "hold:0")

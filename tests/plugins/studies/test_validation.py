"""Single states mutated alone, in the corridor, where it is known what that does."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import worlds
from commands import refusal, rpd_command
from stores import corridor, finish, session_at

import rpd
from rpd_core.chance import Phase
from rpd_core.errors import ConfigError
from rpd_core.pruning.evaluation import Evaluations, ask
from rpd_studies.alone import twins_of
from rpd_studies.validation import Validation, choose_states, sentences

REACHED = {0, 1, 2, 3, 5, 7, 10, 12, 14}
"""States that a policy which always goes comes by, from either start."""


class Stop(Exception):
    """Stands for whatever ends a run from outside."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> rpd.Run:
    request = corridor(episodes=400, chunk=100)
    return finish(tmp_path_factory.mktemp("validation") / "run", request)


@pytest.fixture(scope="module")
def found(run: rpd.Run) -> Validation:
    return rpd.validate(run, states=15, episodes=40)


def exact(state: int) -> tuple[float, float]:
    """Return the effects on risk and return of mutating one state, from a start that reaches it."""
    start = np.array([state if state < 2 else 0])
    mutated = np.arange(worlds.STATES)[None] == state
    changed, _ = worlds.play_fates(mutated, start)
    as_it_is, _ = worlds.play_fates(np.zeros_like(mutated), start)
    failed = (changed < 2.5).astype(float) - (as_it_is < 2.5)
    return float(failed[0]), float((changed - as_it_is)[0])


def number_of(key: int) -> int:
    return worlds.corridor_keys().tolist().index(key)


def test_a_state_alone_does_what_enumeration_says(found: Validation) -> None:
    rows = {number_of(row.key): row for row in found.rows}
    reached = {state for state, row in rows.items() if row.reached}
    assert reached == REACHED & set(rows)
    assert len(reached) >= 6
    for state in reached:
        risk, total = exact(state)
        effect, effect_return = rows[state].effect, rows[state].effect_return
        assert effect is not None
        assert effect_return is not None
        assert (effect.estimate, effect_return.estimate) == (risk, pytest.approx(total))
        assert effect.low is not None
        assert effect.high is not None
        assert effect.low <= risk <= effect.high


def test_states_that_are_not_reached_are_counted_and_nothing_is_said_of_them(
    found: Validation,
) -> None:
    lost = [row for row in found.rows if not row.reached]
    assert lost
    assert all(row.effect is None and row.effect_return is None for row in lost)
    assert found.reached == len(found.rows) - len(lost)
    assert found.same_sign + found.other_sign + found.no_difference == found.reached


def test_only_episodes_that_visit_a_state_get_a_twin(found: Validation) -> None:
    assert found.twins == sum(row.reached for row in found.rows)
    starts = [row.reached for row in found.rows if number_of(row.key) < 2]
    assert sum(starts) == found.episodes  # each begins in one of the two


def test_an_episode_that_never_reaches_the_state_is_its_own_twin(
    run: rpd.Run, tmp_path: Path
) -> None:
    """What the saving of work stands on: all twins played, those of other starts are the same."""
    session = session_at(tmp_path / "run", corridor())
    evaluations = Evaluations(session)
    nothing = np.zeros(0, dtype=np.uint64)
    whole = ask(session, [nothing], [(0, 0)], True, Phase.VALIDATE)
    key = int(worlds.corridor_keys()[0])
    twins = twins_of(whole, key, tuple(range(whole.test_episodes)))
    played = evaluations.play("both", {"unmutated": whole, "twins": twins})
    before, after = played["unmutated"], played["twins"]
    elsewhere = before.seed % 2 == 1
    assert elsewhere.any()
    assert not elsewhere.all()
    assert (before.seed == after.seed).all()
    assert (before.total_return == after.total_return)[elsewhere].all()
    assert (before.length == after.length)[elsewhere].all()
    assert (before.length != after.length)[~elsewhere].all()


def test_some_chosen_episodes_are_those_of_the_whole_set(tmp_path: Path) -> None:
    session = session_at(tmp_path / "run", corridor(test_episodes=12))
    nothing = np.zeros(0, dtype=np.uint64)
    whole = ask(session, [nothing], [(0, 0)], True, Phase.VALIDATE)
    key = int(worlds.corridor_keys()[3])
    asked = {
        "all": twins_of(whole, key, tuple(range(12))),
        "some": twins_of(whole, key, (2, 3, 7)),
    }
    played = Evaluations(session).play("both", asked)
    assert played["some"].seed.tolist() == played["all"].seed[[2, 3, 7]].tolist()
    assert played["some"].total_return.tolist() == played["all"].total_return[[2, 3, 7]].tolist()


def test_the_answer_is_stored_and_comes_back_without_playing(
    run: rpd.Run, found: Validation
) -> None:
    path = run.path / "analyses" / str(run.name) / "validation.json"
    before = path.read_bytes()
    waiting = []

    def heard(stage: str, done: int, total: int) -> None:
        waiting.append(total - done)

    assert rpd.validate(run, states=15, episodes=40, progress=heard) == found
    assert not any(waiting)
    assert path.read_bytes() == before
    assert json.loads(before)["reached"] == found.reached
    assert json.loads(before)["sentences"] == list(found.sentences) == sentences(found)


def test_a_validation_that_was_broken_off_goes_on(
    run: rpd.Run, found: Validation, tmp_path: Path
) -> None:
    other = finish(tmp_path / "run", corridor(episodes=400, chunk=100))

    def stop(stage: str, done: int, total: int) -> None:
        if stage == "one by one" and done > total / 2:
            raise Stop

    with pytest.raises(Stop):
        rpd.validate(other, states=15, episodes=40, progress=stop)
    assert rpd.validate(other, states=15, episodes=40) == found
    assert json.loads(rpd_command("verify", other.path, "--json").stdout)["faults"] == []


def test_states_are_chosen_from_the_top_the_middle_and_at_random(run: rpd.Run) -> None:
    decided = run.decided()
    listed = decided.listed()
    chosen = choose_states(decided, listed, 3, seed=0)
    assert chosen["top"].tolist() == [0, 1, 2]
    middle = (len(listed) - 3) // 2
    assert chosen["middle"].tolist() == [middle, middle + 1, middle + 2]
    assert len(set(chosen["random"].tolist())) == 3
    assert choose_states(decided, listed, 3, seed=0)["random"].tolist() == chosen["random"].tolist()


def test_only_what_is_reached_can_be_asked_for(run: rpd.Run) -> None:
    found = rpd.validate(run, states=4, episodes=20, reached=True)
    assert found.reached == found.states == len(found.rows)


def test_a_list_that_is_hardly_reached_is_the_result(found: Validation) -> None:
    said = sentences(replace(found, states=40, reached=3))[0]
    assert said.startswith("37 of 40 decisions are not reached in 40 unmutated episodes")
    assert "That is the result" in said
    assert "That is the result" not in sentences(found)[0]


def test_the_command_needs_the_components_and_prints_what_it_found(run: rpd.Run) -> None:
    """The corridor is no registered environment, so a file that names it is not enough."""
    assert "environment" in refusal("validate", run.path)


def test_impossible_numbers_are_refused(run: rpd.Run) -> None:
    with pytest.raises(ConfigError, match="states must be at least 1, got 0"):
        rpd.validate(run, states=0)

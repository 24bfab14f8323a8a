"""`rules`: states are the leaves of a tree over what the policy does, in words."""

from __future__ import annotations

import json
import math
import pickle
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rpd_basics.rule_words import Column, rule_in_words
from rpd_basics.rules import Rules
from rpd_basics.tree_nodes import Nodes, Walk, nodes_of, tree_of
from rpd_core.config.configuration import stored_fields
from rpd_core.errors import FitError, RpdError, SpecError
from rpd_core.play.prepare import restore_fitted
from rpd_core.plugin.chain import Chain
from rpd_core.plugin.protocols import Bound, Entry, Facts, FitSample
from rpd_core.plugin.registry import installed

EPISODES, STEPS = 40, 30
FACTS = Facts(None, None, 1, entry_names=("angle", "velocity"))

FACING = Column(
    "facing", whole=True, words=tuple(f"facing {way}" for way in ("right", "down", "left", "up"))
)


def vectors(seed: int = 0, episodes: int = EPISODES) -> np.ndarray:
    """Angles and velocities between -1 and 1, in hundredths."""
    return np.random.default_rng(seed).integers(-100, 101, (episodes * STEPS, 2)) / 100


def sample(values: Any, actions: np.ndarray, **more: Any) -> FitSample:
    episodes = np.repeat(np.arange(len(actions) // STEPS), STEPS)
    fields = {"facts": FACTS, "seed": 0, "planned_episodes": 2000, "mutation_rate": 0.2}
    return FitSample(values, {}, episodes, actions, **{**fields, **more})


def quadrants(rows: np.ndarray) -> np.ndarray:
    """Actions 0 below an angle of 0.25, above it 1 or 2 by velocity."""
    return np.where(rows[:, 0] < 0.25, 0, np.where(rows[:, 1] < -0.4, 1, 2))


def fitted(tree: Rules = Rules(), rows: np.ndarray | None = None, **more: Any) -> Rules:  # noqa: B008
    rows = vectors() if rows is None else rows
    return tree.fit(sample(rows, quadrants(rows), **more))


def shown(tree: Rules) -> list[str]:
    return [tree.show(np.array([leaf])) for leaf in range(tree.entries.count(-1))]


def test_a_policy_of_three_rules_has_three_states_in_these_words() -> None:
    assert shown(fitted()) == [
        "angle < 0.25",
        "angle >= 0.25 and velocity < -0.4",
        "angle >= 0.25 and velocity >= -0.4",
    ]


def test_the_state_is_the_number_of_the_leaf_whoever_stands_beside() -> None:
    rows = np.array([[0.24, 0], [0.25, -0.41], [0.9, -0.4], [np.nan, np.inf], [-np.inf, 0]])
    values = fitted()(rows, {})
    assert (values.dtype, values.shape) == (np.dtype(np.int16), (5, 1))
    assert values[:, 0].tolist() == [0, 1, 2, 2, 0]
    assert fitted()(rows[2:3], {}).tolist() == [[2]]


def test_bounds_of_one_entry_are_joined() -> None:
    rows = vectors()
    inside = ((rows[:, 0] >= -0.1) & (rows[:, 0] < 0.05)).astype(int)
    assert shown(Rules().fit(sample(rows, inside))) == [
        "angle < -0.1",
        "-0.1 <= angle < 0.05",
        "angle >= 0.05",
    ]


def test_cuts_are_the_roundest_numbers_that_part_the_same_steps() -> None:
    rows = np.array([[0.1234567, 1.0]] * 20 + [[0.1312345, 1.0]] * 40)
    tree = Rules(leaves=2).fit(sample(rows, np.repeat([0, 1, 1], 20)))
    assert tree.cuts == (0.13, 0.0, 0.0)
    assert tree(rows, {})[:, 0].tolist() == [0] * 20 + [1] * 40


def test_numbers_that_32_bits_cannot_tell_apart_are_told_apart() -> None:
    near = 1 + 1e-12
    rows = np.array([[1e300, 1.0], [1e300, near]] * 30)
    tree = Rules().fit(sample(rows, np.tile([0, 1], 30)))
    assert tree(rows, {})[:, 0].tolist() == [0, 1] * 30
    assert shown(tree)[0] == "velocity < 1.000000000001"


def test_entries_without_names_or_with_equal_ones_are_numbered() -> None:
    for names in ((), ("angle",), ("same", "same"), ("angle", "two\nlines")):
        assert shown(fitted(facts=replace(FACTS, entry_names=names)))[0] == "x0 < 0.25"


def test_a_policy_that_does_one_thing_has_one_state() -> None:
    for actions in (np.zeros(1200, dtype=int), np.full((1200, 2), 0.1)):
        tree = Rules().fit(sample(vectors(), actions))
        assert shown(tree) == ["anything"]
        assert tree(np.zeros((3, 2)), {}).tolist() == [[0]] * 3


def test_continuous_actions_are_predicted_as_quantities() -> None:
    rows = vectors()
    force = np.stack([np.where(rows[:, 0] < 0.25, -3.0, 2.0), np.full(len(rows), 0.7)], axis=1)
    tree = Rules().fit(sample(rows, force.astype(np.float32)))
    assert shown(tree) == ["angle < 0.25", "angle >= 0.25"]
    ramp = Rules(leaves=4).fit(sample(rows, rows[:, :1]))
    assert [round(cut, 1) for cut in ramp.cuts if cut] == [0.0, -0.5, 0.5]


def test_actions_of_several_parts_are_predicted_part_by_part() -> None:
    rows = vectors()
    parts = np.stack([rows[:, 0] < 0.25, rows[:, 1] < -0.4], axis=1).astype(np.int8)
    tree = Rules().fit(sample(rows, parts))
    assert len(shown(tree)) == 4


def test_parts_of_a_dict_are_joined_and_pictures_refused_in_one_line() -> None:
    rows = vectors()
    parts = {"b": rows[:, 1], "a": rows[:, :1]}
    tree = Rules().fit(sample(parts, quadrants(rows)))
    assert tree(parts, {}).tolist() == fitted()(rows, {}).tolist()
    for values in (np.zeros((60, 8, 8)), {"a": np.zeros((60, 2)), "b": np.zeros((60, 3, 3))}):
        with pytest.raises(FitError, match=r"^rules works on vectors of shape \(n,\) and got"):
            Rules().fit(sample(values, np.zeros(60, dtype=int)))
    with pytest.raises(FitError, match=r"rules is fitted to shape \(2,\) and got"):
        tree(np.zeros((4, 3)), {})
    with pytest.raises(FitError, match="rules is not fitted and got"):
        Rules()(rows, {})


def test_nothing_is_learned_from_what_is_not_a_number() -> None:
    rows = vectors()
    rows[7, 1] = np.nan
    with pytest.raises(FitError, match="rules cannot learn from nan in entry 1"):
        fitted(rows=rows)


def test_few_steps_or_a_single_episode_are_enough_to_fit() -> None:
    rows = vectors(episodes=1)
    assert len(shown(fitted(rows=rows))) <= 3
    assert len(shown(Rules(leaves=2).fit(sample(rows, quadrants(rows))))) == 2
    one = FitSample(rows[:1], {}, np.zeros(1, int), np.zeros(1, int), FACTS, 0, 20, 0.2)
    assert shown(Rules().fit(one)) == ["anything"]


def test_as_many_actions_as_steps_are_fitted_without_a_word(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = vectors(episodes=2)
    Rules(leaves=4).fit(sample(rows, np.arange(len(rows))))  # a warning would be an error here
    assert capsys.readouterr() == ("", "")


def test_a_long_sample_is_thinned_evenly() -> None:
    rows = vectors(episodes=5000)
    assert len(rows) == 150_000
    assert shown(fitted(rows=rows)) == shown(fitted())


def test_what_was_learned_is_the_same_again_and_survives_json_and_pickle() -> None:
    tree = fitted()
    assert fitted() == tree
    tree(vectors(), {})
    assert pickle.loads(pickle.dumps(tree)) == tree
    stored = json.loads(json.dumps(stored_fields(tree)))
    assert restore_fitted(Chain((Rules(),)), [stored]).links[0] == tree


def test_a_learned_tree_works_without_scikit_learn() -> None:
    stored = json.dumps(stored_fields(fitted()))
    code = (
        "import json, sys; import numpy as np; sys.modules['sklearn'] = None\n"
        "from rpd_basics.rules import Rules; from rpd_core.play.prepare import restore_fitted\n"
        "from rpd_core.plugin.chain import Chain\n"
        f"tree = restore_fitted(Chain((Rules(),)), [json.loads({stored!r})]).links[0]\n"
        "print(tree.show(tree(np.zeros((1, 2)), {})[0]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "angle < 0.25\n"


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"others": [2, 0, 2, 0, 0]}, "node 2 leads to node 2"),
        ({"others": [0, 0, 4, 0, 0]}, "node 0 leads to node 0"),
        ({"others": [3, 0, 4, 0, 0]}, "no way leads to node 2"),
        ({"others": [2, 0, 9, 0, 0]}, "node 2 leads to node 9"),
        ({"others": [2, 0, "4", 0, 0]}, "node 2 leads to node '4'"),
        ({"entries": [0, -1, 7, -1, -1]}, "node 2 asks about entry 7 of 2"),
        ({"entries": [0, -1, 0.0, -1, -1]}, r"node 2 asks about entry 0\.0 of 2"),
        ({"entries": [0, -1, -1, -1, -1]}, "no way leads to node 3"),
        ({"entries": {"0": 1}}, "its nodes are not lists"),
        ({"entries": []}, "its lists have 0, 5, 5 nodes"),
        ({"cuts": [0.25, 0.0, float("nan"), 0.0, 0.0]}, "node 2 has the cut nan"),
        ({"cuts": [[1], 0.0, 0.0, 0.0, 0.0]}, r"node 0 has the cut \(1,\)"),
        ({"columns": []}, "node 0 asks about entry 0 of 0"),
        ({"columns": "many"}, "not a list of entries"),
        ({"columns": [["a"], ["b"]]}, "is no entry"),
        ({"columns": [["a", "\x1b[31m", 1.0, False, [], []]]}, "is no entry"),
        ({"columns": [["", "", 1.0, False, [], []]]}, "is no entry"),
        ({"columns": [["a", "", 0.0, False, [], []]]}, "cannot have such numbers"),
        ({"angles": [[0, 1]]}, r"entries \(0, 1\) of 1 are no angle"),
        ({"angles": [[0]]}, r"entries \(0,\) of 1 are no angle"),
        ({"angles": 7}, "not a list of entries"),
        ({"kept": [3]}, r"of 3 leaves these cannot be kept: \(3,\)"),
        ({"kept": "all"}, "of 3 leaves these cannot be kept: 'all'"),
        ({"target": 1.0}, r"target must lie in \(0, 1\), got 1"),
        ({"leaves": 10**9}, "leaves must lie in 2..10000"),
    ],
)
def test_a_strangers_tree_is_refused_in_one_line(change: dict[str, Any], complaint: str) -> None:
    stored = {**json.loads(json.dumps(stored_fields(fitted()))), **change}
    with pytest.raises(RpdError, match=complaint) as refused:
        restore_fitted(Chain((Rules(),)), [stored])
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize(("questions", "complaint"), [(65, "asks 65 questions"), (10_001, "nodes")])
def test_a_tree_that_is_too_deep_or_too_large_is_refused(questions: int, complaint: str) -> None:
    count = 2 * questions + 1
    asks = [0, -1] * questions + [-1]
    others = [node + 2 if entry == 0 else 0 for node, entry in enumerate(asks)]
    columns = [["x", "", 1.0, False, [], []]]
    large = {"columns": columns, "entries": asks, "cuts": [0.0] * count, "others": others}
    with pytest.raises(SpecError, match=complaint):
        restore_fitted(Chain((Rules(),)), [large])


@given(st.lists(st.tuples(st.integers(-2, 2), st.floats(), st.integers(-1, 8)), max_size=7))
def test_whatever_passes_for_a_tree_can_be_walked(rows: list[tuple[int, float, int]]) -> None:
    nodes = Nodes(*(tuple(row[place] for row in rows) for place in range(3)))  # type: ignore[arg-type]
    try:
        nodes.check(2)
    except SpecError:
        return
    leaves = Walk(nodes)(np.random.default_rng(0).normal(size=(20, 2)))
    words = [rule_in_words(box, (Column("a"), Column("b", whole=True))) for box in nodes.boxes()]
    assert len(words) == nodes.entries.count(-1) > leaves.max() >= 0
    again = nodes_of(tree_of(nodes))
    assert again.entries == nodes.entries
    assert Walk(again).depth == Walk(nodes).depth


def test_the_number_of_leaves_is_checked() -> None:
    for text in ("rules:1", "rules:leaves=20000"):
        with pytest.raises(SpecError, match=r"rules: leaves must lie in 2\.\.10000, got"):
            installed().make("abstraction", text)
    with pytest.raises(RpdError, match="cuts"):
        installed().make("abstraction", "rules:8,cuts=1")


@pytest.mark.parametrize(
    ("column", "low", "high", "words"),
    [
        (Column("weekday", whole=True), 2, 3, "weekday = 2"),
        (Column("weekday", whole=True), 2, 5, "2 <= weekday <= 4"),
        (Column("weekday", whole=True), -math.inf, 5, "weekday <= 4"),
        (Column("weekday", whole=True), 5, math.inf, "weekday >= 5"),
        (Column("cells", whole=True, ends=(0.0, 6.0)), -math.inf, 1, "cells = 0"),
        (Column("cells", whole=True, ends=(0.0, 6.0)), 6, math.inf, "cells = 6"),
        (Column("cells", whole=True, ends=(0.0, 6.0)), 1, 9, "cells >= 1"),
        (Column("cells", whole=True, ends=(0.0, 6.0)), 1, 4, "1 <= cells <= 3"),
        (Column("leg", whole=True, words=("leg up", "leg down")), -math.inf, 1, "leg up"),
        (Column("leg", whole=True, words=("leg up", "leg down")), 1, math.inf, "leg down"),
        (FACING, -math.inf, 1, "facing right"),
        (FACING, 1, math.inf, "not facing right"),
        (FACING, 1, 3, "(facing down or facing left)"),
        (Column("ahead", whole=True, words=("free", "", "wall")), 1, math.inf, "wall"),
        (Column("tilt", "°", 57.3), -3, 4.5, "-3° <= tilt < 4.5°"),
        (Column("speed", " m/s"), -math.inf, -0.0, "speed < 0 m/s"),
    ],
)
def test_bounds_are_said_as_people_do(column: Column, low: float, high: float, words: str) -> None:
    assert column.tell(low, high) == words


def test_whole_numbers_and_truth_values_are_recognised_in_the_sample() -> None:
    days = np.random.default_rng(0).integers(0, 7, 1200)
    rows = np.stack([days, days % 2], axis=1).astype(np.float32)
    facts = replace(FACTS, entry_names=("weekday", "contact"))
    assert shown(Rules().fit(sample(rows, (days == 2).astype(int), facts=facts))) == [
        "weekday <= 1", "weekday = 2", "weekday >= 3",
    ]  # fmt: skip
    odd = (days % 2).astype(int)
    assert shown(Rules().fit(sample(rows, odd, facts=facts))) == ["contact = 0", "contact = 1"]
    leg = Entry("contact", words=("leg in the air", "leg on the ground"))
    said = Rules().fit(sample(rows, odd, facts=replace(facts, entries=(leg,))))
    assert shown(said) == ["leg in the air", "leg on the ground"]


def test_rules_ask_in_units_and_about_angles_not_their_sines() -> None:
    angle = np.radians(np.random.default_rng(0).integers(-179, 180, 1200) + 0.25)
    rows = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    turn = Entry("turn", "°", factor=180 / math.pi, angle_of=("cos", "sin"))
    facts = Facts(None, None, 1, entry_names=("cos", "sin"), entries=(turn,))
    inside = ((angle >= math.radians(-29)) & (angle < math.radians(46))).astype(int)
    found = Rules().fit(sample(rows, inside, facts=facts))
    assert shown(found) == ["turn < -29°", "-29° <= turn < 46°", "turn >= 46°"]
    assert found(rows, {})[:, 0].tolist() == np.where(angle < -0.51, 0, 2 - inside).tolist()
    (bound,) = found.bounds(np.array([1]))
    assert bound == Bound("turn", (0, 1), -29.0, 46.0, 180 / math.pi)
    tilt = Entry("angle", "°", factor=100.0)
    scaled = fitted(facts=replace(FACTS, entries=(tilt,)))
    assert shown(scaled)[0] == "angle < 25°"
    assert scaled(np.array([[0.249, 0.0], [0.25, 0.0]]), {})[:, 0].tolist() == [0, 2]

"""Rules as sentences, in a stored run and on the screen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import stores

from rpd import open_run
from rpd_core.analysis.rules import Bound
from rpd_core.plugin.protocols import Entry
from rpd_core.results.records import FoundRule, FoundRules
from rpd_core.results.rules import bound_words, bounds_words, rule_lines, rules_in_words

TILT = Entry("pole tilt", "°", factor=229.1831, digits=0)
SPEED = Entry("speed", " m/s")
BINNED = Entry("spin", edges=(-0.51234, 0.0, 1.25))


@pytest.mark.parametrize(
    ("entry", "low", "high", "words"),
    [
        (SPEED, 1.2, None, "speed at least 1.2 m/s"),
        (SPEED, None, 0.0, "speed up to 0 m/s"),
        (SPEED, 0.5, 1.0, "speed 0.5 to 1 m/s"),
        (SPEED, 0.5, 0.5, "speed 0.5 m/s"),
        (TILT, 0.03, None, "pole tilt at least 7°"),
        (TILT, 0.01, 0.02, "pole tilt 2 to 5°"),
        (BINNED, 1.0, None, "spin at least -0.5"),
        (BINNED, None, 1.0, "spin below 0"),
        (BINNED, 1.0, 2.0, "spin -0.5 to below 1.25"),
        (BINNED, 3.0, 3.0, "spin at least 1.25"),
        (BINNED, 0.0, 0.0, "spin below -0.5"),
        (Entry("x", digits=10**9), 1.5, None, "x at least 1.500000000000000"),
        (BINNED, 9.0, None, "spin at least 1.25"),
    ],
)
def test_what_is_asked_of_an_entry_is_said_in_its_units(entry, low, high, words):
    assert bound_words(entry, Bound(0, low, high)) == words


def test_bounds_are_joined_and_many_are_cut():
    two = (Bound(0, 5.0, None), Bound(1, None, 2.0))
    assert bounds_words(two, (SPEED, TILT)) == "speed at least 5 m/s and pole tilt up to 458°"
    assert bounds_words(two[:1], ()) == "x0 at least 5"
    eight = tuple(Bound(place, 1.0, 1.0) for place in range(8))
    assert bounds_words(eight, ()) == "x0 1, x1 1, x2 1, x3 1, x4 1, x5 1 and 2 entries more"


def found(*rules: FoundRule, **more: Any) -> FoundRules:
    return FoundRules(rules, **{"kind": "rules", "matter": 61, "covered": 40, "note": "", **more})


RULE = FoundRule("speed at least 5 m/s", 23, 25, 0.92, 23 / 61, 2)


def test_the_screen_says_how_much_rules_hold():
    assert rule_lines(found(RULE), 4, 100) == [
        "One rule holds 40 of the 61 that matter (share of those judged there; others undecided):",
        "  speed at least 5 m/s: 23 (92% of 25)",
    ]
    settled = FoundRule("spin 1", 4, 5, 0.8, 4 / 61, 0)
    lines = rule_lines(found(RULE, settled, kind="groups"), 4, 100)
    assert lines[0] == (
        "2 groups of neighbours hold 40 of the 61 that matter (share of those judged there):"
    )


def test_the_screen_has_room_for_four_lines_and_shows_one_rule_at_least():
    assert len(rule_lines(found(*[RULE] * 5), 4, 100)) == 4
    assert len(rule_lines(found(*[RULE] * 5), 4, 45)) == 3  # the heading takes two
    assert len(rule_lines(found(*[RULE] * 5), 4, 10)) == 2


def test_the_screen_says_why_there_is_no_rule():
    none = found(note="no short rule tells the 61 that matter from the other 9", covered=0)
    assert rule_lines(none, 4, 100) == [f"{none.note[0].upper()}{none.note[1:]}."]
    assert rule_lines(found(matter=0, note="none is known to matter"), 4, 100) == []


def test_states_that_are_rules_of_their_own_are_named():
    leaf = FoundRule("speed < 5 and spin >= 1 (98 % pure)", 1, 1, 1.0, 0.25, 0)
    assert rule_lines(found(leaf, kind="states", matter=4), 4, 100) == [
        "4 matter, each a rule of its own; the first:",
        "  speed < 5 and spin >= 1 (98 % pure)",
    ]


def test_a_stored_run_has_names_of_entries_and_rules_that_are_counted_again_the_same(
    tmp_path: Path,
):
    stores.finish(tmp_path, stores.corridor(episodes=600, chunk=200, confirm_episodes=20, rounds=0))
    run = open_run(tmp_path)
    names = run.directory.names()
    assert names.state_entries == (Entry("x0"),)
    again = rules_in_words(run.decided(), run.analysis.stored, names)
    assert again == run.summary.rules
    assert again.kind == "rules"
    unnamed = rules_in_words(run.decided(), run.analysis.stored, type(names)())
    assert unnamed.kind == "states"
    matter = [one for one in run.top(100) if one.verdict == "matters"]
    assert unnamed.matter == len(matter) > 0
    assert [rule.text for rule in unnamed.rules] == [one.state for one in matter[:5]]

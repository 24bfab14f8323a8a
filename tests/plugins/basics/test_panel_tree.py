"""The rules of a smallest policy as one small tree."""

from __future__ import annotations

from rpd_basics.panel_tree import with_tree
from rpd_core.plugin.protocols import Bound, Drawing, Entry, PanelDecision, Text

MAP = Drawing(460, 100, (), "A map", name="a map")


def rule(key: int, action: str, *bounds: Bound) -> PanelDecision:
    return PanelDecision(key, f"rule {key}", action, "wait", 9.0, 1.0, True, 0.1, bounds)


def lines(*rules: PanelDecision) -> list[str]:
    """Return the texts of the drawing, line by line, from left to right."""
    drawing = with_tree(MAP, rules)
    assert drawing.height > MAP.height
    texts = [shape for shape in drawing.shapes if isinstance(shape, Text)]
    rows: dict[float, str] = {}
    for one in sorted(texts, key=lambda one: (one.at[1], one.at[0])):
        rows[one.at[1]] = f"{rows[one.at[1]]} {one.text}" if one.at[1] in rows else one.text
    return list(rows.values())


def test_what_rules_share_is_asked_once_and_each_end_says_who_acts() -> None:
    slow = rule(1, "push 99%, wait 1%", Bound("speed", (0,), high=0.5), Bound("place", (1,), 2.0))
    fast = rule(2, "brake", Bound("speed", (0,), low=0.5), Bound("place", (1,), high=7.0))
    assert lines(slow, fast) == [
        "speed < 0.5 and place >= 2 → policy acts: push (1)",
        "speed >= 0.5 and place < 7 → policy acts: brake (2)",
        "everywhere else → default acts",
    ]
    near = rule(3, "wait", Bound("speed", (0,), high=0.5), Bound("place", (1,), high=2.0))
    assert lines(slow, fast, near)[:3] == [
        "speed < 0.5",
        "place < 2 → policy acts: wait (3)",
        "place >= 2 → policy acts: push (1)",
    ]


def test_a_rule_between_two_ends_is_one_line() -> None:
    assert lines(rule(1, "go", Bound("place", (0,), 4.0, 6.0))) == [
        "4 <= place < 6 → policy acts: go (1)",
        "everywhere else → default acts",
    ]


def test_numbers_have_their_units() -> None:
    asked = rule(1, "go", Bound("tilt", (0,), 4.0, 6.0))
    drawing = with_tree(MAP, [asked], [Entry("tilt", "°")])
    assert "4° <= tilt < 6°" in [one.text for one in drawing.shapes if isinstance(one, Text)]


def test_entries_that_have_words_are_told_in_words() -> None:
    asked = rule(1, "go", Bound("leg", (0,), high=1.0))
    drawing = with_tree(MAP, [asked], [Entry("leg", words=("leg in the air", "leg down"))])
    assert "leg in the air" in [one.text for one in drawing.shapes if isinstance(one, Text)]


def test_an_action_that_is_a_number_is_told() -> None:
    assert lines(rule(1, "4", Bound("place", (0,), 4.0)))[0].endswith("policy acts: 4 (1)")
    assert lines(rule(1, "4 80%, 2 20%", Bound("place", (0,), 4.0)))[0].endswith("acts: 4 (1)")


def test_long_lines_are_wrapped() -> None:
    bounds = [Bound(f"a long name of number {n}", (n,), low=float(n)) for n in range(4)]
    found = lines(rule(1, "go", *bounds))
    assert len(found) > 2
    assert found[-2].endswith("→ policy acts: go (1)")


def test_rules_that_no_question_parts_are_no_tree() -> None:
    first = rule(1, "go", Bound("place", (0,), 0.0, 5.0))
    second = rule(2, "go", Bound("place", (0,), 3.0, 8.0))
    assert with_tree(MAP, [first, second]) == MAP
    assert with_tree(MAP, [rule(1, "go")]) == MAP
    assert with_tree(MAP, []) == MAP

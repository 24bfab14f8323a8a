"""States that are too long for the screen."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from rpd_core.cli.listing import _most_often, list_title, print_list
from rpd_core.results.records import Decision
from rpd_core.results.words import cut, shortened_states

RULES = [
    "speed < 1 and angle >= 0.5 and height < 2 (90 % pure)",
    "speed < 1 and angle >= 0.5 and height >= 2 (80 % pure)",
    "speed < 1 and angle < 0.5 (99 % pure)",
]


def test_what_most_states_share_is_left_out_first() -> None:
    assert shortened_states(RULES, 50) == [
        "… angle >= 0.5 and height < 2 (90 % pure)",
        "… angle >= 0.5 and height >= 2 (80 % pure)",
        "speed < 1 and angle < 0.5 (99 % pure)",
    ]
    assert shortened_states(RULES, 30)[:2] == [
        "… height < 2 (90 % pure)",
        "… height >= 2 (80 % pure)",
    ]


@pytest.mark.parametrize("width", [20, 22, 24, 30, 40])
@pytest.mark.parametrize("lines", [1, 2])
def test_what_is_left_out_is_marked_however_narrow_the_screen(width: int, lines: int) -> None:
    for text, one in zip(RULES, shortened_states(RULES, width, lines), strict=True):
        assert " ".join(one.split()) == text or "…" in one


def test_a_short_part_stays_where_a_long_one_did_not_fit() -> None:
    text = "-0.5 <= angular velocity < 0.287 and angle >= 1 and speed >= 2"
    assert shortened_states([text], 30) == ["… angle >= 1 and speed >= 2"]


def test_a_state_takes_as_many_lines_as_it_may_before_anything_is_left_out() -> None:
    assert shortened_states(RULES[:1], 30, lines=2) == [
        "speed < 1 and angle >= 0.5 and\nheight < 2 (90 % pure)"
    ]


def test_parts_in_the_middle_are_marked() -> None:
    texts = ["a 1, same, b 2", "c 3, same, d 4"]
    assert shortened_states(texts, 12) == ["a 1, …, b 2", "c 3, …, d 4"]


def test_a_text_without_parts_loses_its_middle() -> None:
    assert cut("0123456789", 10) == "0123456789"
    assert cut("0123456789abc", 10) == "012345…abc"
    assert shortened_states(["0123456789abc"], 10) == ["012345…abc"]
    assert cut("two\nlines\x0b", 40) == "two lines"


@given(st.lists(st.text(max_size=80), max_size=5), st.integers(1, 40), st.integers(1, 3))
def test_every_text_fits(texts: list[str], width: int, lines: int) -> None:
    for one in shortened_states(texts, width, lines):
        broken = one.split("\n")
        assert len(broken) <= lines
        assert max(map(len, broken)) <= width


def test_texts_of_megabytes_are_cut_at_once() -> None:
    huge = [", ".join(f"cell {place} {row}" for place in range(200_000)) for row in range(3)]
    assert max(map(len, shortened_states(huge, 60, lines=2))) <= 121


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("right 52%, left 48%", "right 52%"),
        ("main engine 87%, no engine 13%", "main engine 87%"),
        ("positive torque 51%, no torque 49%", "positive…que 51%"),
        ("positive torque", "positive torque"),
        ("negative torque to the left", "negative t… left"),
        ("(0.25±0.1, -1)", "(0.25±0.1, -1)"),
    ],
)
def test_an_action_that_is_too_long_keeps_its_share(words: str, shown: str) -> None:
    assert _most_often(words) == shown
    assert len(shown) <= 16


def decision(rank: int) -> Decision:
    where = f"angular velocity 1 >= 0.025 and cos angle 2 < 0.{rank} (99 % pure)"
    return Decision(
        rank=rank, key=rank, state=where, policy_action="main engine 87%, none 13%",
        default_action="right engine 54%, none 46%", risk_mutated=0.8, risk_kept=0.4, effect=0.4,
        low=0.3, high=0.5, reached=1.0, reached_steps=0.1, episodes_mutated=57, episodes_kept=242,
        verdict="matters", settled_at=None, score=0.1, differed=0.5, visits=900,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("width", "left_out"), [(160, []), (100, []), (95, ["m+k"]), (80, ["m+k", "default action"])]
)
def test_the_list_fits_narrow_screens_and_says_what_it_leaves_out(width, left_out) -> None:
    console = Console(width=width, file=io.StringIO())
    print_list(console, "Decisions", [decision(rank) for rank in range(1, 4)])
    told = console.file.getvalue()
    assert max(map(len, told.splitlines())) <= width
    assert "+0.40*" in told
    assert all(f"0.{rank} " in told for rank in range(1, 4))
    assert [one for one in ("m+k", "default action") if one in told.partition("Left out")[2]] == (
        left_out
    )


def test_scores_take_the_place_of_intervals_before_that_of_counts() -> None:
    console = Console(width=100, file=io.StringIO())
    print_list(console, "Decisions", [decision(1)], scores=True)
    assert isinstance(console.file, io.StringIO)
    told = console.file.getvalue()
    assert "57+242" in told
    assert "Left out on this narrow screen: the interval of the effect.\n" in told


@pytest.mark.parametrize("measure", ["impact:shrunken", "effect-return:shrunken"])
def test_the_title_of_a_list_fits_a_line(measure: str) -> None:
    assert len(list_title(measure, 100)) <= 100


def test_the_first_of_the_long_states_get_the_lines_that_are_to_spare() -> None:
    console = Console(width=100, file=io.StringIO())
    rows = [
        replace(decision(rank), state=f"speed {rank}; turning to the left") for rank in (1, 2, 3)
    ]
    print_list(console, "Decisions", rows, spare=2)
    assert isinstance(console.file, io.StringIO)
    assert [line.split("main")[0].split() for line in console.file.getvalue().splitlines()[2:]] == [
        ["1", "speed", "1;", "turning", "to", "the"],
        ["left"],
        ["2", "speed", "2;", "turning", "to", "the"],
        ["left"],
        ["3", "speed", "3;", "…"],
    ]


@pytest.mark.parametrize(
    ("reached", "steps", "shown"),
    [(0.0, 0.0, "never"), (1.0, 0.0909, "100/9"), (0.02, 0.0001, "2/<.1"), (0.3, 0.0052, "30/.5")],
)
def test_reach_tells_episodes_and_steps(reached: float, steps: float, shown: str) -> None:
    console = Console(file=io.StringIO(), width=100)
    print_list(console, "Decisions", [replace(decision(1), reached=reached, reached_steps=steps)])
    assert isinstance(console.file, io.StringIO)
    row = console.file.getvalue().splitlines()[2]
    assert row.split()[-2] == shown


def test_of_words_with_a_drawing_the_words_stay() -> None:
    drawn = "facing down; goal 5 ahead  [#######/###G.../###....]"
    other = "facing down; wall 6 ahead  [#######/....###/....###]"
    assert shortened_states([drawn, other], 39, lines=2) == [
        "facing down; goal 5 ahead […/###....]",
        "facing down; wall 6 ahead […/....###]",
    ]
    assert shortened_states([drawn], 36) == ["facing down; goal 5 ahead"], "no row would be whole"
    assert shortened_states([drawn], 27) == ["facing down; goal 5 ahead"]
    assert shortened_states([drawn], 80) == [" ".join(drawn.split())]


def test_words_that_take_two_lines_come_before_their_drawing() -> None:
    text = "facing right; wall 1 ahead; goal 2 right  [#######/#######/###>.G#]"
    assert shortened_states([text], 37, lines=2) == [
        "facing right; wall 1 ahead; goal 2\nright [#######/#######/###>.G#]"
    ]
    assert shortened_states([text], 37) == ["facing right; …; goal 2 right"]


def test_states_with_the_same_words_are_told_apart_by_their_drawings() -> None:
    texts = [f"facing up; wall 1 ahead  [#######/#######/{row}]" for row in ("#..^###", "###^..#")]
    assert shortened_states(texts, 36) == [
        "facing up; wall 1 ahead […/#..^###]",
        "facing up; wall 1 ahead […/###^..#]",
    ]
    assert shortened_states(texts, 26, lines=2) == [
        "facing up; wall 1 ahead\n[#######/#######/#..^###]",
        "facing up; wall 1 ahead\n[#######/#######/###^..#]",
    ]

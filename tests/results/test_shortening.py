"""States that are too long for the screen."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

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

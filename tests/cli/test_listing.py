"""The list of a mutated policy as a table."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from rpd_core.cli.listing import print_list
from rpd_core.cli.text import short_action
from rpd_core.results.records import RankedDecision


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("right (52%), left (48%)", "right (52%)"),
        ("no engine (87%), main engine (13%)", "no engine (87%)"),
        ("4 (51%), 3 (49%)", "4 (51%)"),
        ("positive torque (51%), no torque (49%)", "positiv…que (51%)"),
        ("positive torque", "positive torque"),
        ("negative torque to the left", "negative to… left"),
        ("(0.25±0.1, -1)", "(0.25±0.1, -1)"),
    ],
)
def test_an_action_that_is_too_long_keeps_its_share(words: str, shown: str) -> None:
    assert short_action(words) == shown
    assert len(shown) <= 17


def test_beside_a_rule_an_action_is_broken_and_not_cut() -> None:
    told = short_action("positive torque (51%), no torque (49%)", whole=True)
    assert told == "positive torque\n(51%)"


def test_no_condition_of_a_rule_is_hidden_in_the_list() -> None:
    console = Console(width=100, file=io.StringIO())
    rule = " and ".join(f"{place} <= entry {place} < {place + 0.5}" for place in range(8))
    print_list(console, "Decisions", [replace(row(1), state=rule)], "rule")
    assert isinstance(console.file, io.StringIO)
    told = console.file.getvalue()
    assert "…" not in told
    assert all(f"entry {place}" in " ".join(told.split()) for place in range(8))


def row(rank: int) -> RankedDecision:
    where = f"angular velocity 1 >= 0.025 and cos angle 2 < 0.{rank} (99 % pure)"
    return RankedDecision(
        rank=rank, key=rank, state=where, policy_action="main engine (87%), none (13%)",
        default_action="right engine (54%), none (46%)", risk_mutated=0.8, risk_kept=0.4,
        effect=0.4, low=0.3, high=0.5, reached=1.0, reached_steps=0.1, episodes_mutated=57,
        episodes_kept=242,
        verdict="matters", settled_at=None, score=0.1, differed=0.5, visits=900,
        in_policy=rank == 2,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("width", "left_out"),
    [
        (180, ""),
        (150, "episodes mutated, episodes kept"),
        (110, "episodes mutated, episodes kept, the interval of the effect"),
        (
            80,
            "episodes mutated, episodes kept, the interval of the effect, what the default action "
            "does",
        ),
    ],
)
def test_the_list_fits_narrow_screens_and_says_what_it_leaves_out(
    width: int, left_out: str
) -> None:
    console = Console(width=width, file=io.StringIO())
    print_list(console, "Decisions", [row(rank) for rank in range(1, 4)])
    assert isinstance(console.file, io.StringIO)
    told = console.file.getvalue()
    assert max(map(len, told.splitlines())) <= width
    assert "+0.40*" in told
    assert all(f"0.{rank} " in told for rank in range(1, 4))
    words = " ".join(told.partition("Left out")[2].split())
    assert words == (f"on this narrow screen: {left_out}." if left_out else "")


def test_a_row_says_whether_it_is_in_the_answer() -> None:
    console = Console(width=180, file=io.StringIO())
    print_list(console, "Decisions", [row(rank) for rank in range(1, 4)])
    assert isinstance(console.file, io.StringIO)
    _, above, below, *rows = console.file.getvalue().splitlines()
    assert (above.split()[-2:], below.split()[-1]) == (["in", "the"], "answer")
    assert [line.split()[-1] for line in rows] == ["no", "yes", "no"]
    cells = ["80%", "40%", "+0.40*", "100%", "57", "242"]
    assert [one for one in rows[0].split() if one in cells] == cells

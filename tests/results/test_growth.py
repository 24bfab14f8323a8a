"""Decisions that are weighed on ever more episodes until the first of them are settled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from commands import refusal
from stores import contents, corridor, finish

import rpd
from rpd_core.errors import ConfigError
from rpd_core.pruning.smallest import look_level, look_sizes
from rpd_core.results.records import Growth
from rpd_core.results.sentences import growth_words

STABLE: dict[str, Any] = {
    "until": "stable", "top": 4, "confirm_episodes": 20, "max_episodes": 320,
    "confidence": 1 - 1e-7,
}  # fmt: skip


@pytest.fixture(scope="module")
def stable(tmp_path_factory: pytest.TempPathFactory) -> rpd.Run:
    return finish(tmp_path_factory.mktemp("growth") / "run", corridor(**STABLE))


def test_decisions_are_weighed_on_twice_as_many_episodes_until_they_are_settled(
    stable: rpd.Run,
) -> None:
    growth = stable.summary.growth
    assert growth is not None
    assert growth.looks == look_sizes(20, growth.looks[-1])
    assert len(growth.looks) > 1, "one look does not show a loss at this confidence"
    assert (growth.stable, growth.open_ranks) == (True, ())
    assert all(one.needed for one in stable.decisions[:4])
    assert growth_words(growth).startswith(f"Settled after {len(growth.looks)} looks (at 20, 40")


def test_the_look_before_the_last_left_something_open(stable: rpd.Run, tmp_path: Path) -> None:
    growth = stable.summary.growth
    assert growth is not None
    fewer = corridor(**{**STABLE, "max_episodes": growth.looks[-2]})
    found = finish(tmp_path / "run", fewer).summary.growth
    assert found is not None
    assert not found.stable
    assert found.looks == growth.looks[:-1]
    assert found.open_ranks
    assert "raise --max-episodes" in growth_words(found)


def test_the_suite_is_that_of_a_run_that_does_not_wait(stable: rpd.Run, tmp_path: Path) -> None:
    plain = finish(tmp_path / "run", corridor(confirm_episodes=20))
    assert plain.summary.growth is None
    for part in ("suite", "unmutated"):
        assert contents(plain.path / part) == contents(stable.path / part)
    assert [one.key for one in plain.decisions] == [one.key for one in stable.decisions]


def test_the_same_question_again_plays_nothing(stable: rpd.Run) -> None:
    before = contents(stable.path, "*")
    again = finish(stable.path, corridor(**STABLE))
    assert again.name == stable.name
    assert contents(stable.path, "*") == before


def test_the_false_claims_of_all_looks_together_are_those_of_one() -> None:
    settings = corridor(confidence=0.95)
    spent = [1 - look_level(number, settings) for number in range(1, 40)]
    assert spent[0] == pytest.approx(0.025)
    assert sum(spent) <= 0.05


def test_sizes_double_up_to_the_largest() -> None:
    assert look_sizes(40, 40) == (40,)
    assert look_sizes(40, 200) == (40, 80, 160, 200)


def test_what_is_open_is_named() -> None:
    words = growth_words(Growth((40, 80), 10, False, (3, 7), 80))
    assert words == (
        "Not settled after 2 looks (at 40, 80 episodes): ranks 3, 7 of the first 10 decisions are "
        "open; raise --max-episodes."
    )


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"until": "stable", "max_episodes": 39}, "at least the 40 episodes"),
        ({"max_episodes": 100}, "max_episodes has a meaning only with until stable"),
        ({"top": 5}, "top has a meaning only with until stable"),
        ({"until": "settled"}, "until must be episodes or stable, got 'settled'"),
        ({"confidence": 95}, "Did you mean 0.95"),
        ({"until": "stable", "top": 0}, "top must be at least 1"),
    ],
)
def test_what_cannot_be_is_refused(settings: dict[str, Any], words: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=words):
        finish(tmp_path / "run", corridor(**settings))


def test_the_command_line_refuses_a_maximum_below_the_first_size(tmp_path: Path) -> None:
    line = ("run", "--env", "cartpole", "--episodes", "50", "--until", "stable")
    assert "at least the 400" in refusal(*line, "--max-episodes", "10", "--out", tmp_path / "x")

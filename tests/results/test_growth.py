"""A suite that doubles until the first decisions of its list have a verdict."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from commands import refusal
from stores import corridor, finish

import rpd
from rpd_core.analysis.decisions import look_sizes
from rpd_core.errors import ConfigError
from rpd_core.results.sentences import growth_words

STABLE: dict[str, Any] = {"until": "stable", "top": 4, "max_episodes": 1000}


class Stop(Exception):
    """Stands for whatever ends a run from outside."""


@pytest.fixture(scope="module")
def stable(tmp_path_factory: pytest.TempPathFactory) -> rpd.Run:
    return finish(tmp_path_factory.mktemp("growth") / "run", corridor(**STABLE))


def content(path: Path) -> dict[str, bytes]:
    """Return everything that a run stores, by name."""
    files = (file for file in path.rglob("*") if file.is_file() and file.name != ".lock")
    return {str(file.relative_to(path)): file.read_bytes() for file in files}


def test_a_suite_doubles_until_the_first_decisions_have_a_verdict(stable: rpd.Run) -> None:
    growth = stable.summary.growth
    assert growth is not None
    assert growth.stable
    assert growth.open_ranks == ()
    assert len(growth.looks) > 1
    assert growth.looks == look_sizes(60, growth.looks[-1])
    assert stable.summary.suite.episodes == growth.looks[-1] == stable.progress[1]
    verdicts = [row.verdict for row in stable.summary.ranking[:4]]
    assert "undecided" not in verdicts
    words = growth_words(growth)
    assert words.startswith(f"Stable after {len(growth.looks)} looks (at 60, 120")


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


def test_reading_gives_the_verdicts_of_the_looks(stable: rpd.Run) -> None:
    count = len(stable.summary.ranking)
    stored = [(row.key, row.verdict) for row in stable.summary.ranking]
    again = rpd.open_run(stable.path).effects(count, "impact:shrunken")
    assert [(row.key, row.verdict) for row in again] == stored


def test_a_run_that_was_broken_off_goes_on_to_the_same_bytes(
    stable: rpd.Run, tmp_path: Path
) -> None:
    growth = stable.summary.growth
    assert growth is not None

    def stop(stage: str, done: int, total: int) -> None:
        if stage == "suite" and done > growth.looks[-2]:
            raise Stop

    with pytest.raises(Stop):
        finish(tmp_path / "run", corridor(**STABLE), progress=stop)
    assert not rpd.open_run(tmp_path / "run").analyses
    finish(tmp_path / "run", corridor(**STABLE))
    assert content(tmp_path / "run").keys() == content(stable.path).keys()
    for name, found in content(tmp_path / "run").items():
        assert found == content(stable.path)[name], name


def test_the_same_question_again_plays_nothing(stable: rpd.Run) -> None:
    before = content(stable.path)
    again = finish(stable.path, corridor(**STABLE))
    assert again.name == stable.name
    assert content(stable.path) == before


def test_a_suite_that_has_grown_still_answers_for_its_first_episodes(
    stable: rpd.Run, tmp_path: Path
) -> None:
    path = shutil.copytree(stable.path, tmp_path / "run")
    first = finish(path, corridor())
    assert first.summary.suite.episodes == 60
    assert rpd.open_run(path, stable.name).summary == stable.summary


@pytest.mark.slow
def test_a_finished_run_can_go_on_until_it_is_stable(stable: rpd.Run, tmp_path: Path) -> None:
    finish(tmp_path / "run", corridor())
    grown = finish(tmp_path / "run", corridor(**STABLE))
    assert grown.summary.decisions == stable.summary.decisions
    assert len(grown.analyses) == 2


def test_a_condition_that_learns_does_so_at_the_first_look(tmp_path: Path) -> None:
    run = finish(tmp_path / "run", corridor(**STABLE, condition="auto"))
    held = json.loads((tmp_path / "run" / "conditions.json").read_text())
    assert held["auto"]["episodes"] == 60
    assert run.summary.growth is not None


@pytest.mark.slow
def test_confidence_without_growth_is_the_level_of_one_look(tmp_path: Path) -> None:
    sure = finish(tmp_path / "run", corridor(confidence=0.999999))
    unsure = finish(tmp_path / "run", corridor(confidence=0.5))
    count = [sum(row.verdict != "undecided" for row in run.summary.ranking)
             for run in (sure, unsure)]  # fmt: skip
    assert count[0] < count[1]
    assert str(unsure.name).partition("_confide")[1]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"until": "stable", "max_episodes": 59}, "at least the 60 episodes"),
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
    assert "at least the 50" in refusal(*line, "--max-episodes", "10", "--out", tmp_path / "x")

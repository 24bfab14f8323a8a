"""Choices counted relative to the state, where mirror images are one state."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
import stores

from rpd_core.errors import ComponentError, StoreError
from rpd_core.plugin.protocols import Entry
from rpd_core.results.replay import replay


@dataclass(frozen=True)
class Parity:
    """Cells by halves; in odd cells drifting counts as going, and the reverse."""

    answer: str = ""
    words_note: ClassVar[str] = "With and against\nthe stream."

    def __call__(self, values: Any, views: Mapping[str, Any]) -> Any:
        return values // 2

    def name_entries(self, before: tuple[Entry, ...]) -> tuple[Entry, ...]:
        return (Entry("half"),)

    def name_relations(self, count: int) -> Any:
        return ("with",) if self.answer == "few" else ("with", "against")

    def relate_actions(self, values: Any, actions: Any) -> Any:
        wrong = {"far": actions + 2, "floats": actions * 1.0, "short": actions[:1]}
        if self.answer == "raises":
            raise KeyError("lost")
        return wrong.get(self.answer, actions ^ (values[:, 0] & 1))


def request(answer: str = "", **more: Any) -> Any:
    return stores.corridor(abstraction=(Parity(answer),), **more)


def test_choices_and_defaults_are_counted_relative_to_the_state(tmp_path: Path) -> None:
    related = stores.build(stores.session_at(tmp_path / "a", request())).states
    plain = stores.build(
        stores.session_at(tmp_path / "b", stores.corridor(abstraction=(Halves(),)))
    ).states
    assert plain.choices[:, 0].sum() == 0  # the policy always goes
    assert plain.default_choices[:, 1].sum() == 0
    assert (related.choices.sum(axis=1) == plain.choices.sum(axis=1)).all()
    assert (related.choices > 0).all(axis=1).any()  # cells of both kinds in one state
    assert (related.choices == related.default_choices[:, ::-1]).all()


@dataclass(frozen=True)
class Halves:
    def __call__(self, values: Any, views: Mapping[str, Any]) -> Any:
        return values // 2


def test_lists_speak_of_relations_and_replays_of_actions(tmp_path: Path) -> None:
    run = stores.finish(tmp_path, request(episodes=200))
    first = run.top(3)
    words = " ".join(f"{one.policy_action} {one.default_action}" for one in first)
    assert set(re.findall("[a-z]+", words)) == {"with", "against"}
    assert first[0].state.startswith("half ")
    assert run.summary.list.note == "With and against the stream."
    played = replay(run, "suite:0", frames=False, trust=False)
    assert {step.action for step in played.steps} <= {"go", "drift"}


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("few", r"Parity: its name_relations\(\) must return a tuple of 2 texts"),
        ("far", r"Parity: its relate_actions\(\) must return one number from 0 to 1 per lane"),
        ("floats", "one number from 0 to 1 per lane"),
        ("short", "one number from 0 to 1 per lane"),
        ("raises", r"its relate_actions\(\) raised KeyError: 'lost'"),
    ],
)
def test_relations_that_are_none_are_refused_in_one_line(answer, message, tmp_path) -> None:
    with pytest.raises(ComponentError, match=message):
        stores.build(stores.session_at(tmp_path, request(answer)))


def test_a_suite_that_was_counted_in_another_way_does_not_grow(tmp_path: Path) -> None:
    stores.build(stores.session_at(tmp_path, request()))
    names = json.loads((tmp_path / "names.json").read_text())
    assert names.pop("relations") == ["with", "against"]
    (tmp_path / "names.json").write_text(json.dumps(names))
    with pytest.raises(StoreError, match="counted the policy's choices in another way"):
        stores.build(stores.session_at(tmp_path, request(episodes=80)))

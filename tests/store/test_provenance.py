"""Who played what: recorded part by part, and never rewritten."""

from __future__ import annotations

import importlib.metadata
import json
from pathlib import Path
from typing import Any

import pytest
from commands import rpd_command
from stores import build, contents, corridor, finish, session_at
from strangers import WORLDS, having, plugin

import rpd
from rpd_core.errors import StoreError
from rpd_core.plugin.blame import Origin
from rpd_core.store.parts import version_changes

ONE, TWO = plugin("strange-worlds", "1.0"), plugin("strange-worlds", "2.0")
THIEF = plugin("other-worlds", "1.0")


def request(**changes: Any) -> Any:
    return corridor(**{"env": "corridor", "policy": "goes", **changes})


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(one.read_text()) for one in sorted(path.rglob("part-*.json"))]


def of_versions(notes: list[str]) -> list[str]:
    """Return notes but for the one on a measure that the policy has nothing for."""
    return [one for one in notes if "default-gap" not in one]


def test_each_part_names_the_distribution_of_every_component(tmp_path: Path) -> None:
    with having(ONE):
        finish(tmp_path, request())
    found = records(tmp_path)
    assert len(found) > 10
    bundled = "ranking-policy-decisions"
    for record in found:
        versions, offered = record["origin"]["distributions"], record["origin"]["components"]
        assert versions["strange-worlds"] == "1.0"
        for name in (bundled, "numpy", "gymnasium", "pyarrow"):
            assert versions[name] == importlib.metadata.version(name)
        assert offered["environment corridor"] == "strange-worlds"
        if "policy goes" in offered:  # or something that learned from it plays in its place
            assert offered == {
                "environment corridor": "strange-worlds",
                "policy goes": "strange-worlds",
                "abstraction identity": bundled,
                "default-action constant": bundled,
            }


def test_a_component_inside_another_counts(tmp_path: Path) -> None:
    with having(ONE):
        build(session_at(tmp_path, request(default_action="policy:goes:0")))
    for record in records(tmp_path):
        offered = record["origin"]["components"]
        assert offered["default-action policy"] == "ranking-policy-decisions"
        assert offered["policy goes"] == "strange-worlds"


def test_components_of_no_distribution_are_named_without_one(tmp_path: Path) -> None:
    build(session_at(tmp_path, corridor()))
    for record in records(tmp_path):
        assert record["origin"]["components"]["environment Corridor"] == ""


def test_continuing_under_other_versions_is_noted_once_and_kept(tmp_path: Path) -> None:
    with having(ONE):
        build(session_at(tmp_path, request(episodes=40)))
    before = contents(tmp_path / "suite", "*")
    notes: list[str] = []
    with having(TWO):
        run = finish(tmp_path, request(episodes=60), note=notes.append)
    assert of_versions(notes) == [
        "this run continues under other versions than it began with (strange-worlds: 1.0 -> 2.0): "
        "results may differ between its parts"
    ]
    after = contents(tmp_path / "suite", "*")
    assert {name: after[name] for name in before} == before, "records are never rewritten"
    played = run.summary.played
    assert {one.origin.distributions["strange-worlds"] for one in played} == {"1.0", "2.0"}
    assert played[0].parts == 2 + 2, "of the suite, and unmutated ones"
    assert sum(one.parts for one in played) == len(records(tmp_path))
    assert rpd.open_run(tmp_path).summary.played == played
    shown = rpd_command("show", tmp_path)
    assert "Note: parts of this run were played by other versions: strange-worlds: 1.0 -> 2.0" in (
        shown.stdout
    )


def test_running_again_under_other_versions_plays_and_rewrites_nothing(tmp_path: Path) -> None:
    with having(ONE):
        finish(tmp_path, request())
    before = contents(tmp_path, "part-*")
    notes: list[str] = []
    with having(TWO):
        again = finish(tmp_path, request(), note=notes.append)
    assert of_versions(notes) == []
    assert contents(tmp_path, "part-*") == before
    assert {one.origin.distributions["strange-worlds"] for one in again.summary.played} == {"1.0"}


def test_a_part_by_another_distribution_is_refused(tmp_path: Path) -> None:
    with having(ONE):
        build(session_at(tmp_path, request(episodes=40)))
    before = contents(tmp_path / "suite", "*")
    asked = request(episodes=60)
    for act in (lambda: build(session_at(tmp_path, asked)), lambda: finish(tmp_path, asked)):
        with having(THIEF), pytest.raises(StoreError) as caught:
            act()
        assert str(caught.value) == (
            "'environment corridor' was played by strange-worlds so far and now comes from "
            "other-worlds: choose another --out"
        )
    assert list(tmp_path.rglob("pruning/*/*")) == [], "references are not played by it either"
    assert contents(tmp_path / "suite", "*") == before


def test_random_play_does_not_look_like_another_version(tmp_path: Path) -> None:
    """The policy's distribution takes no part in it."""
    environment, policy = (
        plugin("strange-a", "1.0", WORLDS[:1]),
        plugin("strange-b", "1", WORLDS[1:]),
    )
    notes: list[str] = []
    with having(environment, policy):
        run = finish(tmp_path, request(reference=None), note=notes.append)
    assert of_versions(notes) == []
    assert {"strange-b" in one.origin.distributions for one in run.summary.played} == {True, False}
    assert "other versions" not in rpd_command("show", tmp_path).stdout


def test_changes_of_versions_by_hand() -> None:
    before = Origin("x86_64", "3.12.1", {"a": "1", "b": "1"}, {"policy p": "a"})
    assert version_changes(before, before) == []
    now = Origin("arm64", "3.13.0", {"a": "2"}, {"policy p": "a"})
    assert version_changes(before, now) == [
        "python: 3.12.1 -> 3.13.0", "machine: x86_64 -> arm64", "a: 1 -> 2", "b: 1 -> none",
    ]  # fmt: skip
    other = Origin("x86_64", "3.12.1", {"a": "2"}, {"policy q": "a"})
    assert version_changes(before, other) == ["a: 1 -> 2"]

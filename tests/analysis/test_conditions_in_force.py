"""The condition of an analysis: what it learned is kept, and one-sided suites are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from stores import build, corridor, session_at

from rpd_core.analysis.analysis import Analysis, analyse, keep_condition
from rpd_core.errors import EvidenceError, StoreError
from rpd_core.store.session import Session


def analysed(session: Session) -> Analysis:
    setup = session.setup
    text = setup.config.settings.condition
    found = analyse(session.directory, setup.condition, text, {})
    keep_condition(session.directory, text, found)
    return found


def test_a_one_sided_suite_is_refused_and_kept(tmp_path: Path) -> None:
    session = session_at(tmp_path, corridor(condition="return>=-1"))
    build(session)
    with pytest.raises(EvidenceError, match="all 60 episodes passed return>=-1"):
        analysed(session)
    assert session.directory.suite().count() == 60


@pytest.mark.parametrize(
    ("asked", "advice"),
    [
        ({"condition": "return>=-1"}, "try --condition auto or another --mutation-rate"),
        (
            {"condition": "return>=3.5", "default_action": "constant:1"},
            "the default action never differed from the policy's: try another --default-action",
        ),
        (
            {"condition": "return>=1000"},
            "the unmutated policy itself never passes (its mean return is 3.5): try a --condition "
            "that it meets, or a better --policy",
        ),
    ],
    ids=["usual", "same actions", "poor policy"],
)
def test_what_the_numbers_suggest_is_advised(
    tmp_path: Path, asked: dict[str, Any], advice: str
) -> None:
    session = session_at(tmp_path, corridor(**asked))
    build(session)
    with pytest.raises(EvidenceError) as refused:
        analysed(session)
    assert str(refused.value).endswith(f"no measure can rank them: {advice}")


def test_an_automatic_cut_is_chosen_once_for_the_life_of_a_run(tmp_path: Path) -> None:
    session = session_at(tmp_path, corridor(condition="auto"))
    build(session)
    first = analysed(session)
    stored = session.directory.read_json("conditions.json") or {}
    assert first.condition_text == f"return>={stored['auto']['learned']['cut']:g}"
    assert stored["auto"]["episodes"] == 60
    held = {"auto": {"learned": {"cut": 1.5}, "episodes": 60}}
    session.directory.write_json("conditions.json", held)
    grown = session_at(tmp_path, corridor(condition="auto", episodes=90))
    build(grown)
    again = analysed(grown)
    assert again.condition_text == "return>=1.5"
    assert len(again.weights) == 90
    assert again.weights.tolist() == (again.episodes.total_return >= 1.5).tolist()
    assert session.directory.read_json("conditions.json") == held


@pytest.mark.parametrize(
    "held", [[], 3, {}, {"learned": 3}, {"learned": {"cup": 3}}, {"learned": [1]}], ids=str
)
def test_what_a_condition_cannot_have_learned_is_refused(tmp_path: Path, held: Any) -> None:
    session = session_at(tmp_path, corridor(condition="auto"))
    build(session)
    (tmp_path / "conditions.json").write_text(json.dumps({"auto": held}))
    with pytest.raises(StoreError, match=r"conditions.json' holds nothing usable for 'auto'"):
        analysed(session)

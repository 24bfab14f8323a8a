"""The reference of the Python interface names every argument and every member."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import rpd_core
from rpd_core.results.replay import DescribedStep, Replay
from rpd_core.results.run import Run

TEXT = (Path(__file__).resolve().parents[2] / "docs/reference/python.md").read_text("utf-8")


def section(heading: str) -> str:
    """Return what stands between a heading and the next of its level."""
    after = TEXT[TEXT.index(f"\n## {heading}") + 1 :]
    return after.partition("\n## ")[0]


def rows(text: str) -> list[str]:
    """Return the first cell of every row of a table, without arguments."""
    return re.findall(r"^\| `(\w+)(?:\([^)]*\))?` \|", text, re.MULTILINE)


def members(kind: type) -> set[str]:
    """Return the fields, properties and methods of a class."""
    own = {*vars(kind), *inspect.signature(kind).parameters}
    return {name for name in own if not name.startswith("_")}


def test_the_arguments_of_run_are_the_rows_of_its_table():
    assert sorted(rows(section("`rpd.run("))) == sorted(inspect.signature(rpd_core.run).parameters)


def test_the_members_of_a_run_are_the_rows_of_its_table():
    assert sorted(rows(section("`Run`"))) == sorted(members(Run))


def test_the_members_of_a_replay_are_named():
    text = section("`Run`")
    names = (members(Replay) | members(DescribedStep)) - {"difference"}
    assert [name for name in sorted(names) if f"`{name}`" not in text] == []


def test_every_public_name_is_in_one_of_the_references():
    hooks = Path(__file__).resolve().parents[2] / "docs/reference/hooks.md"
    both = TEXT + hooks.read_text("utf-8")
    names = [name for name in rpd_core.__all__ if not re.search(rf"\b{name}\b", both)]
    assert names == []

"""The reference of the Python interface names every argument and every member."""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path

import rpd
from rpd_core.results.replay import DescribedStep, Replay

DOCS = Path(__file__).resolve().parents[2] / "docs"
sys.path.insert(0, str(DOCS / "extensions"))

from record_reference import filled_records  # noqa: E402

WRITTEN = (DOCS / "reference/python.md").read_text("utf-8")
TEXT = filled_records(WRITTEN)


def section(heading: str) -> str:
    """Return what stands between a heading and the next of its level."""
    after = TEXT[TEXT.index(f"\n## {heading}") + 1 :]
    return after.partition("\n## ")[0]


def rows(text: str) -> list[str]:
    """Return the first cell of every row of a table, without arguments."""
    return re.findall(r"^\| `(\w+)(?:\([^)]*\))?` \|", text, re.MULTILINE)


def members(kind: type) -> set[str]:
    """Return the fields, properties and methods of a class."""
    own = {name for base in kind.__mro__[:-1] for name in vars(base)}
    own |= {*inspect.signature(kind).parameters}
    return {name for name in own if not name.startswith("_")}


def test_the_arguments_of_run_are_the_rows_of_its_table():
    assert sorted(rows(section("`rpd.run("))) == sorted(inspect.signature(rpd.run).parameters)


def test_arguments_and_members_are_not_kept_by_hand():
    assert re.findall(r"^\| (?:argument|member|field) \|.*", WRITTEN, re.MULTILINE) == []
    rows_of_run = section("`rpd.run(").splitlines()
    assert "| `seed` | Seed of everything; default 0. |" in rows_of_run
    assert [line for line in rows_of_run if line.endswith("|  |")] == []


def test_the_members_of_a_run_are_the_rows_of_its_table():
    assert sorted(rows(section("`Run`"))) == sorted(members(rpd.Run))


def test_the_members_of_a_replay_are_named():
    text = section("`Run`")
    names = (members(Replay) | members(DescribedStep)) - {"difference"}
    assert [name for name in sorted(names) if f"`{name}`" not in text] == []


def test_every_public_name_is_in_one_of_the_references():
    both = TEXT + filled_records((DOCS / "reference/hooks.md").read_text("utf-8"))
    names = [name for name in rpd.__all__ if not re.search(rf"\b{name}\b", both)]
    assert names == []

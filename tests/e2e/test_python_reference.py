"""The reference of the Python interface names every argument and every member."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
import typing
from pathlib import Path

import pytest

import rpd

pytest.importorskip("sphinx", reason="needs the extra docs")
pytestmark = pytest.mark.extras

DOCS = Path(__file__).resolve().parents[2] / "docs"
sys.path.insert(0, str(DOCS / "extensions"))

from record_reference import filled_records, shown_signature  # noqa: E402

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
    assert sorted(rows(section("`rpd.run`"))) == sorted(inspect.signature(rpd.run).parameters)


def test_arguments_and_members_are_not_kept_by_hand():
    assert re.findall(r"^\| (?:argument|member|field) \|.*", WRITTEN, re.MULTILINE) == []
    rows_of_run = section("`rpd.run`").splitlines()
    assert "| `seed` | Seed of everything; default 0. |" in rows_of_run
    assert [line for line in rows_of_run if line.endswith("|  |")] == []


def described(directive: str) -> list[str]:
    """Return what autodoc describes by a directive, as `module.attribute`."""
    return re.findall(rf"^\.\. {directive}:: (\S+)$", WRITTEN, re.MULTILINE)


def test_what_a_run_returns_is_described_beside_it():
    assert "rpd.Run" in described("autoclass")
    assert {"Replay", "DescribedStep", "Curve", "RankingTable"} <= {
        name.rpartition(".")[2] for name in described("autoclass")
    }


@pytest.mark.parametrize("function", described("autofunction"))
def test_a_function_that_is_described_names_each_argument(function):
    shown = shown_signature(getattr(rpd, function.removeprefix("rpd.")))
    assert "Unpack" not in shown
    assert " at 0x" not in shown


def test_no_function_that_is_described_takes_open_keywords():
    functions = {getattr(rpd, one.removeprefix("rpd.")) for one in described("autofunction")}
    assert {one.__name__ for one in functions if "**" in shown_signature(one)} == set()


@pytest.mark.parametrize("method", [rpd.Run.draw, rpd.Run.log_to])
def test_no_method_of_a_run_takes_open_keywords(method):
    assert "**" not in shown_signature(method)
    told = typing.get_overloads(inspect.unwrap(method))
    assert [one for one in told if "**" in str(inspect.signature(one))] == []
    named = {name for one in told for name in inspect.signature(one).parameters}
    assert named | {"guard"} >= {*re.findall(r"(\w+): ", shown_signature(method))}


def test_keywords_of_a_loader_are_shown():
    assert "deterministic: bool | None = ..., divide: float | str | None = ..." in shown_signature(
        rpd.as_policy
    )


def test_keywords_of_what_plays_are_those_of_run():
    shown = shown_signature(rpd.validate)
    assert "workers: int = 1, executor: Any = 'local', trust_policy: bool = False" in shown


@pytest.mark.parametrize("kind", ["rpd.Run", "rpd_core.results.tables.RankingTable"])
def test_every_method_of_a_class_that_is_described_has_a_docstring(kind):
    module, _, name = kind.rpartition(".")
    shown = getattr(importlib.import_module(module), name)
    assert [one for one in sorted(members(shown)) if not doc_of(shown, one)] == []


def doc_of(kind: type, name: str) -> str | None:
    """Return what a member says of itself; fields and inherited members are looked up, too."""
    if name in inspect.signature(kind).parameters:
        return "a field"
    return inspect.getdoc(getattr(kind, name))


def test_every_public_name_is_in_one_of_the_references():
    both = TEXT + filled_records((DOCS / "reference/hooks.md").read_text("utf-8"))
    names = [name for name in rpd.__all__ if not re.search(rf"\b{name}\b", both)]
    assert names == []

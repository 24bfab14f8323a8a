"""One of something, names in narrow columns, what is wrong with a component: all in sentences."""

from __future__ import annotations

import dataclasses
import json

import pytest
from commands import refusal
from extras import BOTH_WAYS, extras
from typer.testing import CliRunner

from rpd_core.cli.app import app
from rpd_core.cli.plugins import blocks_of
from rpd_core.errors import ComponentError, counted
from rpd_core.plugin.discovery import Plugin
from rpd_core.plugin.protocols import Component
from rpd_core.plugin.registry import Registry
from rpd_core.results.records import ListFacts
from rpd_core.results.sentences import list_notes


def test_one_of_a_kind_is_not_several() -> None:
    assert [counted(n, "fault") for n in (0, 1, 2)] == ["0 faults", "1 fault", "2 faults"]
    assert [counted(n, "analysis", "analyses") for n in (1, 3)] == ["1 analysis", "3 analyses"]


def test_verify_counts_one_analysis_and_one_fault(cli, finished, tmp_path) -> None:
    run = finished.copy(tmp_path)
    assert cli("verify", run).stdout.startswith("ok: ")
    assert f" parts and 1 analysis in {run}\n" in cli("verify", run).stdout
    next(run.glob("analyses/*/summary.json")).write_text("{")
    damaged = cli("verify", run)
    assert (damaged.exit_code, "\n1 fault: " in damaged.stdout) == (3, True), damaged.stdout


def test_a_list_of_one_decision_is_told_in_the_singular() -> None:
    one = facts(1, {"matters": 1})
    assert "Of 1 decision with evidence, 1 matters." in " ".join(list_notes(one))
    two = facts(3, {"matters": 2, "harmless": 1})
    assert "Of 3 decisions with evidence, 2 matter, 1 is harmless." in " ".join(list_notes(two))


def test_only_where_nothing_was_told_does_the_list_say_so() -> None:
    none = "No decision can be told from chance: none is known to matter."
    assert none in list_notes(facts(2, {"undecided": 2}))
    assert none not in list_notes(facts(5, {"default-better": 3, "undecided": 2}))
    assert none not in list_notes(facts(5, {"harmless": 1, "undecided": 4}))


def facts(listed: int, verdicts: dict[str, int]) -> ListFacts:
    blank = {field.name: 0 for field in dataclasses.fields(ListFacts)}
    return ListFacts(**{**blank, "listed": listed, "verdicts": verdicts})


def strangers(*components: Component, name: str = "mine") -> Plugin:
    return Plugin(name, f"rpd-{name}", "1.0", tuple(("measure", one) for one in components))


def test_why_a_component_cannot_be_used_is_a_sentence() -> None:
    lacking = Component("a", "x:Y", "A", requires=("nowhere_to_be_found",), install="nowhere")
    broken = Component("b", "no_such_module:Y", "B")
    twice = Component("c", "rpd_core.errors:RpdError", "C")
    registry = Registry([strangers(lacking, broken, twice), strangers(twice, name="other")])
    sentences = []
    for name in "abc":
        with pytest.raises(ComponentError) as caught:
            registry.find("measure", name)
        sentences.append(str(caught.value))
    assert sentences == [
        "measure 'a' (rpd-mine 1.0) needs nowhere_to_be_found: pip install nowhere",
        "measure 'b' (rpd-mine 1.0) is broken: there is no module 'no_such_module'",
        "measure 'c' (rpd-mine 1.0) cannot be used: 'other' (rpd-other) offers the same "
        "name; rename or uninstall one",
    ]
    rows = [one.as_row() for one in registry.registrations]
    assert blocks_of(rows, 60) == [
        "measure",
        "  a  A (rpd-mine 1.0) [needs nowhere_to_be_found: pip",
        "     install nowhere]",
        "  b  B (rpd-mine 1.0) [broken: there is no module",
        "     'no_such_module']",
        "  c  C (rpd-mine 1.0) [clash: 'other' (rpd-other) offers the",
        "     same name; rename or uninstall one]",
        "  c  C (rpd-other 1.0) [clash: 'mine' (rpd-mine) offers the",
        "     same name; rename or uninstall one]",
    ]


def listed(width: int) -> str:
    """Return what `rpd list-plugins` prints on a screen of some width."""
    return CliRunner().invoke(app, ["list-plugins"], env={"COLUMNS": str(width)}).stdout


@BOTH_WAYS
@pytest.mark.parametrize("width", [40, 60, 80, 100])
def test_list_plugins_fits_a_narrow_screen(width: int, present: bool) -> None:
    with extras(present):
        told = listed(width)
    assert max(map(len, told.splitlines())) <= width
    assert "\n  tarantula        Risk if mutated against if kept\n" in told or width == 40
    assert ("needs distributed: pip" in " ".join(told.split())) is not present


def test_list_plugins_has_columns_on_a_wide_screen() -> None:
    with extras(True):
        assert listed(300).startswith("kind            name             status  summary")
    with extras(False):
        lines = listed(300).splitlines()
    needs = ['needs distributed: pip install "ranking-policy-decisions[dask]"']
    needs += ['needs ray: pip install "ranking-policy-decisions[ray]"']
    column = lines[0].index("summary")
    assert lines[0].startswith("kind            name             status  ")
    assert [line[33:column].strip() for line in lines if line.startswith("executor")] == [
        "ready",
        *needs,
    ]


@BOTH_WAYS
def test_a_component_is_described_with_what_it_needs(cli, present: bool) -> None:
    with extras(present):
        told = cli("describe", "executor", "ray").stdout.splitlines()
        row = json.loads(cli("describe", "executor", "ray", "--json").stdout)
    needs = 'needs ray: pip install "ranking-policy-decisions[ray]"'
    assert told[0] == "executor ray"
    assert told[1].startswith("from rpd_ray (ranking-policy-decisions ")
    assert told[2] == ("" if present else needs)
    assert any(line.startswith("address ") for line in told)
    assert row["status"] == ("ready" if present else "needs ray")
    assert row["parameters"][0]["name"] == "address"


def test_a_run_on_an_executor_without_its_extra_says_what_to_install(cli) -> None:
    with extras(False):
        line = refusal("run", "--env", "cartpole", "--executor", "dask")
    assert line == (
        "rpd: executor 'dask' needs distributed: pip install \"ranking-policy-decisions[dask]\""
    )

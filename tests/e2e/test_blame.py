"""A stranger's component that fails inside a run is named with its distribution, in one line."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from commands import refusal, rpd_command

import rpd_core
from rpd_core.errors import RpdError
from rpd_core.plugin.registry import installed
from rpd_kit import check_registration
from rpd_kit.measures import corner_suite

HOOKS = """
from rpd_core import Component, hookimpl

def offered(*names):
    return [Component(name, f"clumsy_parts:{name}", "Clumsy") for name in names]

@hookimpl
def rpd_measures():
    return offered("Nan", "NanInSuite", "NoCall", "Raises")

@hookimpl
def rpd_abstractions():
    return offered("Missing", "Scalar")

@hookimpl
def rpd_default_actions():
    return offered("NoOpen", "Number", "Far")

@hookimpl
def rpd_policy_loaders():
    return offered("NoLoad", "Bare", "Unloaded", "Short", "Outside", "NoLoadPath", "Pathed")

@hookimpl
def rpd_conditions():
    return offered("NoWeights", "TooFew")

@hookimpl
def rpd_environments():
    return offered("NoTask", "HalfLanes")

@hookimpl
def rpd_executors():
    return offered("Idle")
"""
PARTS = '''
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar
import numpy as np


def record(kind):
    return dataclass(frozen=True)(kind)


@record
class Nan:
    """Divides 0 by 0."""
    def __call__(self, evidence):
        cells = evidence.spectrum
        return cells.mutated_failed / (cells.mutated_failed + cells.mutated_passed)

@record
class NanInSuite:
    """Divides 0 by 0 where no kept episode failed, and wants the suite."""
    needs: ClassVar = ("suite",)
    def __call__(self, evidence):
        cells = evidence.spectrum
        total = sum(vars(cells).values())
        return np.where(total >= 12, 0.0, cells.kept_passed / cells.kept_passed)

@record
class NoCall:
    """Is not callable."""
    def score(self, evidence): ...

@record
class Raises:
    """Asks for what is not there."""
    def __call__(self, evidence):
        return evidence.nothing

@record
class Missing:
    """Asks an array for what it does not have."""
    def __call__(self, values, views):
        return values.nothing

@record
class Scalar:
    """Gives one number."""
    def __call__(self, values, views):
        return 3

@record
class NoOpen:
    """Cannot be opened."""
    def act(self, moment): ...

@record
class Number:
    """Opens into a number."""
    def open(self, facts):
        return 3

@record
class NoLoad:
    """Cannot be loaded."""
    def act(self, seen): ...

@record
class Bare:
    """Gives actions without a Choice."""
    def load(self, facts):
        return lambda seen: np.zeros(len(seen.starts), dtype=int)

@record
class Unloaded:
    """Loads nothing."""
    def load(self, facts):
        return None

@record
class Short:
    """Gives one action too few."""
    def load(self, facts):
        from rpd_core import Choice
        return lambda seen: Choice(np.zeros(len(seen.starts) - 1, dtype=int))

@record
class Outside:
    """Gives actions that there are not."""
    def load(self, facts):
        from rpd_core import Choice
        return lambda seen: Choice(np.full(len(seen.starts), 5))

@record
class Far:
    """Gives default actions that there are not."""
    def open(self, facts):
        return lambda moment: np.full(len(moment.starts), 5)

@record
class NoLoadPath:
    """Cannot be loaded, and needs a file."""
    path: str
    """The file."""
    def open(self, facts): ...

@record
class Pathed:
    """Always does the same, which must be said."""
    action: int
    """What it does."""
    def load(self, facts):
        from rpd_core import Choice, FitError
        if not hasattr(facts.action_space, "n"):
            raise FitError("wants whole numbers")
        return lambda seen: Choice(np.full(len(seen.starts), self.action))

@record
class NoWeights:
    """Is not callable."""

@record
class TooFew:
    """Weighs one episode."""
    def __call__(self, episodes):
        return [1.0]

@record
class NoTask:
    """Has no task."""
    def open(self, opening): ...

@record
class HalfLanes:
    """Opens lanes that cannot step."""
    def task(self):
        from rpd_core import Task
        return Task(("identity",), "repeat", "auto", 0.2, 50, 2, 9, policy="random")
    def open(self, opening):
        class Half:
            facts = None
            def reset(self, lanes, seeds): ...
            def observe(self): ...
            def view(self, name): ...
            def info(self, lane): ...
            def close(self): ...
        return Half()

@record
class Idle:
    """Opens into nothing."""
    @contextmanager
    def open(self, workers):
        yield object()
'''


@pytest.fixture(scope="module")
def clumsy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Install a distribution, as far as Python can tell, for the tests of this module."""
    folder = tmp_path_factory.mktemp("clumsy")
    (folder / "clumsy_hooks.py").write_text(HOOKS)
    (folder / "clumsy_parts.py").write_text(PARTS)
    about = folder / "rpd_clumsy-0.3.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: rpd-clumsy\nVersion: 0.3\n")
    (about / "entry_points.txt").write_text("[rpd]\nclumsy = clumsy_hooks\n")
    sys.path.insert(0, str(folder))
    installed.cache_clear()
    yield folder
    sys.path.remove(str(folder))
    installed.cache_clear()
    for name in ("clumsy_hooks", "clumsy_parts"):
        sys.modules.pop(name, None)


LACKS = {
    ("measures", "NoCall"): "measure 'NoCall' (rpd-clumsy 0.3) lacks __call__ of the protocol "
    "Measure, which asks for __call__(evidence)",
    ("default_action", "NoOpen"): "default-action 'NoOpen' (rpd-clumsy 0.3) lacks open of the "
    "protocol DefaultAction, which asks for open(facts)",
    ("policy", "NoLoad"): "policy 'NoLoad' (rpd-clumsy 0.3) lacks load of the protocol "
    "PolicyLoader, which asks for load(facts)",
    ("condition", "NoWeights"): "condition 'NoWeights' (rpd-clumsy 0.3) lacks __call__ of the "
    "protocol Condition, which asks for __call__(episodes)",
    ("env", "NoTask"): "environment 'NoTask' (rpd-clumsy 0.3) lacks task of the protocol "
    "Environment, which asks for task() and open(opening)",
}
FAILS = {
    ("abstraction", "Missing"): "abstraction 'Missing' (rpd-clumsy 0.3) failed: the call raised "
    "AttributeError: 'numpy.ndarray' object has no attribute 'nothing' (clumsy_parts.py, line 43)",
    ("abstraction", "Scalar"): "abstraction 'Scalar' (rpd-clumsy 0.3) gave an int where an array "
    "is needed",
    ("default_action", "Number"): "default-action 'Number' (rpd-clumsy 0.3) failed: open() gave an "
    "int where a function of a Moment is needed",
    ("policy", "Bare"): "policy 'Bare' (rpd-clumsy 0.3) gave an ndarray where a Choice is needed",
    ("policy", "Unloaded"): "policy 'Unloaded' (rpd-clumsy 0.3) failed: load() gave a NoneType, "
    "which lacks __call__ of the protocol Policy",
    ("env", "HalfLanes"): "environment 'HalfLanes' (rpd-clumsy 0.3) failed: open() gave a Half, "
    "which lacks step and render of the protocol Lanes",
    ("executor", "Idle"): "executor 'Idle' (rpd-clumsy 0.3) failed: open() gave an object, which "
    "lacks execute of the protocol Engine",
}
WHOSE = {
    ("policy", "Short"): "policy 'Short' (rpd-clumsy 0.3) chose actions of shape (2499,) where "
    "(2500,) is needed in step 0 of episode ",
    ("policy", "Outside"): "policy 'Outside' (rpd-clumsy 0.3) chose 5, which is not in Discrete(2)",
    ("default_action", "Far"): "default-action 'Far' (rpd-clumsy 0.3) gave 5, which is not in ",
    ("measures", "Nan"): "measure 'Nan' (rpd-clumsy 0.3) gave nan for a state with ",
    ("measures", "Raises"): "measure 'Raises' (rpd-clumsy 0.3) raised AttributeError: 'Evidence' "
    "object has no attribute 'nothing'",
    ("condition", "TooFew"): "condition TooFew (rpd-clumsy 0.3) gave weights of shape (1,) for 60 "
    "episodes",
}


@pytest.mark.filterwarnings("ignore:invalid value encountered")
@pytest.mark.parametrize(("place", "told"), [*LACKS.items(), *FAILS.items(), *WHOSE.items()])
def test_what_fails_in_a_run_is_named_with_its_distribution(
    clumsy: Path, tmp_path: Path, place: tuple[str, str], told: str
) -> None:
    small = {"episodes": 60, "test_episodes": 2, "unmutated_episodes": 5}
    with pytest.raises(RpdError) as caught:
        rpd_core.run(**{"env": "cartpole", **small, "out": tmp_path / "run", place[0]: place[1]})
    message = str(caught.value)
    assert message.startswith(told)
    if place in WHOSE:
        assert "say what 0/0 means" in message or "Nan" not in place
    else:
        assert message.endswith(". Try: rpd check-plugin clumsy")


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("NanInSuite", "gave nan for a state with "),
        ("Unloaded", "load() gave a NoneType, which lacks __call__ of the protocol Policy"),
        ("Number", "open() gave an int where a function of a Moment is needed"),
        ("HalfLanes", "open() gave a Half, which lacks step and render of the protocol Lanes"),
        ("NoLoad", "lacks load of the protocol PolicyLoader, which asks for load(facts)"),
        ("NoLoadPath", "lacks load of the protocol PolicyLoader, which asks for load(facts)"),
    ],
)
def test_the_kit_finds_it_before_a_run_does(clumsy: Path, name: str, fault: str) -> None:
    (found,) = [r for r in installed().registrations if r.component.name == name]
    faults = check_registration(installed(), found).faults
    assert any(line.startswith(fault) for line in faults), faults


def test_the_corner_suite_has_every_set_of_empty_cells() -> None:
    suite = corner_suite()
    passed = (suite.episodes.total_return > 0)[suite.episode_of_visit()]
    state = suite.state_of_visit()
    cells = [
        np.bincount(state[chosen], minlength=15) > 0
        for chosen in (
            suite.visits.mutated & ~passed,
            suite.visits.mutated & passed,
            ~suite.visits.mutated & ~passed,
            ~suite.visits.mutated & passed,
        )
    ]
    assert len({*zip(*(cell.tolist() for cell in cells), strict=True)}) == 15


def test_a_component_that_needs_parameters_is_checked_with_them(clumsy: Path) -> None:
    told = {
        spec: rpd_command("check-plugin", "rpd-clumsy", "--json", "--spec", spec)
        for spec in ("Pathed:7", "Pathed:1")
    }
    assert [one.exit_code for one in told.values()] == [3, 3]  # the others have faults
    of_pathed = {
        spec: next(row for row in json.loads(one.stdout) if row["name"] == "Pathed")
        for spec, one in told.items()
    }
    assert "7, which is not in Discrete(" in " ".join(of_pathed["Pathed:7"]["faults"])
    assert of_pathed["Pathed:1"] == {"kind": "policy", "name": "Pathed", "faults": [], "notes": []}
    unmade = rpd_command("check-plugin", "rpd-clumsy").stdout
    assert "rpd check-plugin clumsy --spec Pathed:action=..." in unmade
    assert "the plugin offers no 'Pahted'. Did you mean 'Pathed'?" in refusal(
        "check-plugin", "rpd-clumsy", "--spec", "Pahted:1"
    )

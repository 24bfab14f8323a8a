"""`import rpd`: what people hold goes in, and what comes out shows itself."""

from __future__ import annotations

import dataclasses
import html
import inspect
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch

import rpd
import rpd_core
from rpd.parameters import EnvironmentParameters, PolicyParameters
from rpd_core.api import check_name
from rpd_core.errors import RpdError
from rpd_core.execute.local import LocalProcesses
from rpd_core.execute.progress import NotebookBars, shown, silent
from rpd_core.plugin.discovery import BUNDLED
from rpd_core.plugin.registry import installed
from rpd_core.plugin.specs import fields_of
from rpd_core.results.sentences import headline
from rpd_core.store.directory import PROCESS
from rpd_report.notebook import answer_as_html, decisions_as_html

SMALL: dict[str, Any] = {
    "episodes": 120, "chunk": 60, "lanes": 60, "test_episodes": 5, "shares": [0, 0.5, 1],
    "random_rankings": 1, "unmutated_episodes": 20, "confirm_episodes": 80, "confirm_tries": 1,
    "reference": 0.0, "default_action": "constant:0", "abstraction": "identity",
}  # fmt: skip


class Bridge(gymnasium.Env[Any, Any]):
    """Reach the other side of some planks; action 1 goes on, 0 goes back."""

    def __init__(self, planks: int) -> None:
        self.planks = planks
        self.observation_space = gymnasium.spaces.Box(0, planks, (1,), np.float32)
        self.action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.place = int(self.np_random.integers(0, 3))
        return np.array([self.place], np.float32), {}

    def step(self, action: Any) -> Any:
        self.place = max(0, self.place + (1 if action == 1 else -1))
        over = self.place >= self.planks
        return np.array([self.place], np.float32), float(over), over, False, {}


class QGoesOn(torch.nn.Module):
    """Values going on more than going back, everywhere."""

    def __init__(self) -> None:
        super().__init__()
        self.values = torch.nn.Parameter(torch.tensor([0.0, 1.0]))

    def forward(self, seen: torch.Tensor) -> torch.Tensor:
        return self.values.expand(len(seen), 2)


def bridge(planks: int = 6) -> Any:
    return gymnasium.wrappers.TimeLimit(Bridge(planks), 20)


@pytest.fixture(scope="module")
def of_objects(tmp_path_factory: pytest.TempPathFactory) -> rpd.Run:
    out = tmp_path_factory.mktemp("runs") / "objects"
    elsewhere = LocalProcesses(isolate=True)
    return rpd.run(bridge(), QGoesOn(), out=out, executor=elsewhere, **SMALL)


OWN = {
    *("Run", "bench", "build_suite", "compare", "grid", "merge_runs", "open_run", "report"),
    *("reproduce", "run", "validate", "vary", "Comparison", "Grid", "as_environment", "as_policy"),
    *("Reproduction", "PrunedPredictor", "PrunedWrapper", "load", "sb3"),
}
"""What the face adds to the core, or shows in a richer way."""


def test_the_module_rpd_is_rpd_core_with_what_applications_add() -> None:
    assert {*rpd.__all__} == {*rpd_core.__all__, *OWN}
    cores = {*rpd_core.__all__} - OWN
    assert {name: getattr(rpd, name) for name in cores} == {
        name: getattr(rpd_core, name) for name in cores
    }
    assert issubclass(rpd.Run, rpd_core.Run)
    assert rpd.run.__doc__ == rpd_core.run.__doc__
    assert inspect.signature(rpd.run) == inspect.signature(rpd_core.run)
    assert rpd.__version__ == rpd_core.__version__
    assert rpd.__version__[0].isdecimal()
    assert {"run", "__version__"} <= {*dir(rpd)}
    with pytest.raises(AttributeError, match="module 'rpd' has no attribute 'rum'"):
        _ = rpd.rum


def test_objects_reach_a_worker_process(of_objects: rpd.Run) -> None:
    assert of_objects.summary.original.return_mean == 1.0
    assert of_objects.summary.original.default_everywhere == 0.0
    assert of_objects.summary.suite.states <= 6


def test_a_model_is_stored_with_its_run_and_named_there(of_objects: rpd.Run) -> None:
    (file,) = (of_objects.path / "objects").iterdir()
    stored = of_objects.directory.stored()
    assert stored.policy == f"torchscript:{file}"
    assert stored.env == "python:gymnasium.wrappers.common:TimeLimit"
    assert stored.process == PROCESS


def test_the_same_objects_play_nothing_again_and_others_are_refused(of_objects: rpd.Run) -> None:
    told: list[tuple[str, int, int]] = []
    again = rpd.run(
        bridge(), QGoesOn(), out=of_objects.path, progress=lambda *t: told.append(t), **SMALL
    )
    assert all(done == total for _, done, total in told)
    assert again.summary == of_objects.summary
    with pytest.raises(RpdError, match="env"):
        rpd.run(bridge(5), QGoesOn(), out=of_objects.path, **SMALL)
    other = QGoesOn()
    torch.nn.init.constant_(other.values, 3.0)
    with pytest.raises(RpdError, match="policy"):
        rpd.run(bridge(), other, out=of_objects.path, **SMALL)
    assert len([*(of_objects.path / "objects").iterdir()]) == 1


def test_a_run_that_fails_at_once_leaves_no_object_behind(tmp_path: Path) -> None:
    wrong = torch.nn.Linear(7, 2)
    with pytest.raises(RpdError):
        rpd.run(bridge(), wrong, out=tmp_path / "run", **SMALL)
    assert not (tmp_path / "run").exists()


def test_a_run_of_an_id_and_a_model_is_continued_from_its_path_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    env = gymnasium.make("CartPole-v1", max_episode_steps=40)
    balances = torch.nn.Linear(4, 2, bias=False)
    with torch.no_grad():
        balances.weight.copy_(torch.tensor([[0.0, 0.0, -1.0, -1.0], [0.0, 0.0, 1.0, 1.0]]))
    settings = {**SMALL, "abstraction": "round:digits=0", "default_action": "repeat"}
    policy = rpd.as_policy(balances, output="q")
    done = rpd.run(env, policy, out="run", condition="return>=40", **settings)
    assert done.directory.stored().live is False
    assert done.directory.stored().policy.endswith(".pt,output=q")
    found = rpd.validate(done.path, states=1, episodes=20, trust_policy=True, progress=False)
    assert found.episodes == 20
    moved = done.path.rename(tmp_path / "moved away")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    again = rpd.open_run(Path("..") / moved.name).replay("suite:3", trust_policy=True)
    assert again.agrees


def test_what_is_live_cannot_be_continued_from_its_path(of_objects: rpd.Run) -> None:
    with pytest.raises(RpdError, match="hand its Run over instead of its path"):
        rpd.validate(of_objects.path)


READ = """
import json, sys, rpd
run = rpd.open_run(sys.argv[1])
rows = [[one.rank, one.state, one.verdict] for one in run.effects(3, "tarantula")]
rows += [[one.rank, one.state, one.needed] for one in run.top(2)]
print(json.dumps([repr(run), run._repr_html_(), rows, len(run.ranking())]))
"""


def test_a_run_of_objects_and_functions_is_read_in_another_process(of_objects: rpd.Run) -> None:
    command = [sys.executable, "-c", READ, str(of_objects.path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    shown_as, page, rows, states = json.loads(done.stdout)
    assert shown_as == repr(of_objects)
    assert page == of_objects._repr_html_()
    expected, first = of_objects.effects(3, "tarantula"), of_objects.top(2)
    assert len(expected) == 3
    assert len(first) == 2
    assert rows[:3] == [[one.rank, one.state, one.verdict] for one in expected]
    assert rows[3:] == [[one.rank, one.state, one.needed] for one in first]
    assert states == len(of_objects.suite.states)


# ------------------------------------------------------------------- what is shown


def test_a_run_and_its_decisions_are_short_on_the_screen(of_objects: rpd.Run) -> None:
    assert len(repr(of_objects)) < len(str(of_objects.path)) + 70
    rows = of_objects.top(3)
    assert rows == of_objects.summary.decisions[:3]
    lines = repr(rows).splitlines()
    assert len(lines) == len(rows) == 3
    assert lines[0].startswith("[Decision(1: ")
    assert all(len(line) < 200 for line in lines)
    assert rows.to_dataframe()["loss"].tolist() == [row.loss for row in rows]
    listed = of_objects.effects(2)
    assert repr(listed).startswith("[RankedDecision(1: ")
    assert listed.to_dataframe()["effect"].tolist() == [row.effect for row in listed]


def test_a_run_in_a_notebook_shows_its_headline_and_its_decisions(of_objects: rpd.Run) -> None:
    page = of_objects._repr_html_()
    assert f"<strong>{html.escape(headline(of_objects.summary))}" in page
    assert page.count("<tr>") == 1 + len(of_objects.summary.decisions[:10])
    timeline = 1  # states of one number have no map
    assert page.count("<svg") == len(of_objects.summary.decisions[:10]) + timeline
    assert "Typical episode of " in page
    table = of_objects.top(2)._repr_html_()
    assert table.count("<tr>") == 3
    assert "return without it" in table
    assert "in the smallest policy" in of_objects.effects(2)._repr_html_()


def test_a_notebook_shows_no_decision_that_is_not_proven(of_objects: rpd.Run) -> None:
    unproven = dataclasses.replace(of_objects.summary.policy, met=False, outcome="undecided")
    summary = dataclasses.replace(
        of_objects.summary, decisions=(), policy=unproven, policies={"0.9": unproven}
    )
    page = answer_as_html(summary, Path("run"))
    assert "Nothing is proven" in page
    assert "<table" not in page


def test_nothing_from_outside_becomes_markup(of_objects: rpd.Run) -> None:
    bad = '<script>alert("x")</script>'
    words: dict[str, Any] = {"state": bad, "policy_action": bad, "default_action": bad}
    row = dataclasses.replace(of_objects.summary.decisions[0], **words)
    other = dataclasses.replace(of_objects.summary.ranking[0], **words, verdict=bad)
    chosen = dataclasses.replace(of_objects.summary.policy, measure=bad, steps=0.5)
    summary = dataclasses.replace(
        of_objects.summary,
        policy_spec=bad, env=bad, condition=bad, decisions=(row,), policies={"0.9": chosen},
    )  # fmt: skip
    page = answer_as_html(summary, Path(bad)) + decisions_as_html([row])
    page += decisions_as_html([other])
    assert "<script" not in page
    assert page.count("&lt;script&gt;") >= 14


def test_progress_is_shown_by_default_and_can_be_turned_off(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with shown(False) as tell:
        assert tell is silent
    with shown(True) as tell:  # nobody sees standard error here
        tell("suite", 1, 2)
    assert capfd.readouterr() == ("", "")
    with shown(print) as tell:
        assert tell is print
    with pytest.raises(RpdError, match="progress must be True, False or a function"):
        rpd.run("cartpole", progress="yes")


def test_bars_in_a_notebook_are_drawn_now_and_then_and_at_the_end_of_a_stage() -> None:
    drawn: list[str] = []
    bars = NotebookBars(drawn.append)
    for done in range(101):
        bars.tell("<suite>", done, 100)
    assert 2 <= len(drawn) < 20
    assert drawn[-1] == (
        '<table><tr><td>&lt;suite&gt;</td><td><progress value="100" max="100"></progress></td>'
        "<td>100/100</td></tr></table>"
    )


# --------------------------------------------------------------- what is not taken


@pytest.mark.parametrize(
    ("policy", "sentence"),
    [
        (3, r"policy must be a spec string, a model of .*, got 3"),
        (Path("a.zip"), r"Did you mean 'sb3:a.zip'"),
        (Path("a.pt"), r"Did you mean 'torchscript:a.pt'"),
        ({"weight": 1}, r"may be weights: hand over the module"),
        (torch.nn.Linear, r"which is a class: make an object of it"),
    ],
)
def test_a_policy_that_cannot_be_taken_gets_a_sentence(policy: object, sentence: str) -> None:
    with pytest.raises(RpdError, match=sentence) as refused:
        rpd.as_policy(policy)
    assert "\n" not in str(refused.value)


def test_an_environment_that_may_never_end_gets_its_cap() -> None:
    with pytest.raises(RpdError, match="may never end"):
        rpd.as_environment(Bridge(6)).task()
    assert rpd.as_environment(Bridge(6), max_steps=30).task().max_steps == 30
    assert rpd.as_environment("gym:CartPole-v1", max_steps="12").task().max_steps == 12
    with pytest.raises(RpdError, match="max_steps must be a whole number"):
        rpd.as_environment("gym:CartPole-v1", max_steps="many")


def test_a_keyword_that_the_signature_does_not_name_is_refused() -> None:
    with pytest.raises(RpdError, match=r"as_policy\(\) has no argument 'boldness'.*parameters="):
        rpd.as_policy("cartpole:good", boldness=1)  # type: ignore[call-arg]
    with pytest.raises(RpdError, match="Did you mean 'max_steps'"):
        rpd.as_environment("cartpole", max_step=9)  # type: ignore[call-arg]
    with pytest.raises(RpdError, match="'boldness' is not a parameter of this policy"):
        rpd.as_policy("cartpole:good", parameters={"boldness": 1})
    assert rpd.as_environment("cartpole", parameters={"max_steps": 9}).task().max_steps == 9


@pytest.mark.parametrize(
    ("kind", "keywords"),
    [("policy", PolicyParameters), ("environment", EnvironmentParameters)],
)
def test_the_keywords_are_the_parameters_of_the_bundled_plugins(kind: str, keywords: Any) -> None:
    bundled = [one for one in installed().of_kind(kind) if one.distribution == BUNDLED]
    fields = [
        [field.name for field in fields_of(installed().resolve(kind, one.component.name))]
        for one in bundled
    ]
    named = {name for first, *others in filter(None, fields) for name in others}
    assert {*keywords.__annotations__} == named | ({"max_steps"} if kind != "policy" else {"which"})


def test_a_name_that_rpd_makes_for_an_analysis_can_be_given_back() -> None:
    long = "auto_test_episodes-10_random_rankings-1_confirm_episodes-20_confirm_tries-1_reference-0"
    assert len(long) > 80
    assert check_name(long) == long
    for bad in ("", "-a", "a.", "a/b", "é", "a" * 151):
        with pytest.raises(RpdError, match="an analysis cannot be called"):
            check_name(bad)

"""The environment plugin of the documentation, from `pip install` to a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import QUICK

EXAMPLE = Path(__file__).resolve().parents[2] / "docs" / "examples" / "rpd-environment-lake"
SMALL = ["--episodes", "300", "--test-episodes", "10", "--workers", "2", "--json", *QUICK]

CHECK = """
from rpd_core import Opening
from rpd_core.plugin.registry import installed
from rpd_kit import check_component

for spec in ("lake:8", "lake:slip=0", "lake:8,slip=0.9"):
    assert check_component("environment", spec) == [], spec
for kind, spec in (("policy", "python:rpd_lake.policy:walk"), ("abstraction", "view:around")):
    assert check_component(kind, spec, environment="lake") == [], spec

lanes = installed().make("environment", "lake:slip=0").open(Opening(2))
lanes.reset([0, 1], [5, 6])
assert lanes.observe().tolist() == [[3, 3], [3, 3]]
around = [[0, 0, 0], [0, 1, 1], [0, 0, 1]]
assert lanes.view("around").tolist() == [around, around]
picture = lanes.render(0)
assert (picture.shape, picture.dtype.name) == ((64, 64, 3), "uint8")
assert picture[::16, ::16, 0].tolist() == [
    [200, 200, 200, 20], [20, 200, 200, 200], [200, 200, 20, 200], [200, 200, 200, 40]
]
for action in (1, 0, 0, 0, 1, 1):
    result = lanes.step([action, 3], [True, False])
assert result.rewards.tolist() == [1.0, 0.0]
assert (result.terminated.tolist(), lanes.info(0)) == ([True, False], {"is_success": True})
assert lanes.observe().tolist() == [[0, 0], [3, 3]]
"""


@pytest.mark.slow
def test_the_example_environment_is_installed_checked_and_ranked(scratch, tmp_path):
    scratch.install(EXAMPLE)
    row = scratch.listed()["environment", "lake"]
    assert (row["status"], row["plugin"], row["distribution"]) == (
        "ready",
        "lake",
        "rpd-environment-lake",
    )
    checked = scratch.rpd("check-plugin", "lake")
    assert (checked.returncode, checked.stdout) == (0, "ok    environment lake\n"), checked.stderr
    described = scratch.rpd("describe", "environment", "lake")
    told = " ".join(described.stdout.split())
    assert "Chance that a step goes in a direction drawn at random." in told
    scratch.python_code(CHECK)

    ran = scratch.rpd("run", "--env", "lake:slip=0", *SMALL, "--out", str(tmp_path / "plain"))
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["original"]["return_mean"] == 1.0
    ranked = scratch.rpd("rank", str(tmp_path / "plain"), "--measure", "tarantula", "--all",
                         "--json")  # fmt: skip
    rows = json.loads(ranked.stdout)["rankings"]["tarantula"]
    score = {row["state"]: row["score"] for row in rows}
    assert score["0, 2"] == 1.0  # at the lower shore: who goes on downwards stays there for ever
    assert "0, 1" not in score  # one step later, to repeat is to go right: no decision

    ran = scratch.rpd(
        "run", "--env", "lake:slip=0.05", "--abstraction", "view:around", *SMALL,
        "--out", str(tmp_path / "around"),
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["suite"]["states"] > 5
    scratch.pip("uninstall", "-y", "rpd-environment-lake")
    assert ("environment", "lake") not in scratch.listed()

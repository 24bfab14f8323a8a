"""`rules` in runs: the same again, exported, and as a stranger may have left it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import refusal, rpd_command

import rpd
from rpd_core.play import prepare

RUN = ("--env", "cartpole", "--abstraction", "rules", "--episodes", "250", "--workers", "1")
SMALL: dict[str, Any] = {
    "episodes": 250, "unmutated_episodes": 50, "confirm_episodes": 50,
    "confirm_tries": 1, "test_episodes": 4, "shares": (0.0, 0.2, 1.0), "random_rankings": 1,
}  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rules") / "run"
    asked = {**SMALL, "finish": (), "progress": False}
    rpd.run("cartpole", abstraction="rules", out=path, **asked)
    return path


def learned(run: Path) -> dict[str, Any]:
    stored = json.loads((run / "prepared.json").read_text())
    fields: dict[str, Any] = stored["fitted"][0]
    return fields


def test_states_of_cartpole_are_rules_in_the_words_of_its_entries(run: Path) -> None:
    assert 3 <= learned(run)["entries"].count(-1) <= 40
    top = rpd.open_run(run).top(3)
    words = ("pole angle", "pole angular velocity", "cart position", "cart velocity")
    for row in top:
        assert any(word in row.state for word in words)


@pytest.mark.slow
def test_the_same_run_learns_the_same_tree_byte_for_byte(run: Path, tmp_path: Path) -> None:
    assert rpd_command("suite", *RUN, "--out", tmp_path / "again").exit_code == 0
    again = (tmp_path / "again" / "prepared.json").read_bytes()
    assert again == (run / "prepared.json").read_bytes()


def test_an_exported_policy_carries_its_tree(run: Path, tmp_path: Path) -> None:
    exported = tmp_path / "small.rpd"
    result = rpd_command("prune", run, "--export", exported, "--workers", "1")
    assert result.exit_code == 0, result.output
    actions, _ = rpd.PrunedPredictor(exported).predict(np.zeros((5, 4), dtype=np.float32))
    assert actions.shape == (5,)


@pytest.mark.parametrize(
    "change",
    [
        {"others": [0]},
        {"cuts": [math.nan]},
        {"entries": [10**6]},
        {"entries": [0] * 100_000, "cuts": [0.0] * 100_000, "others": [0] * 100_000},
        {"leaves": "many"},
        {"stranger": 1},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_strangers_run_with_another_tree_is_refused_in_one_line(
    run: Path, change: dict[str, list[Any]]
) -> None:
    path = run / "prepared.json"
    before = path.read_bytes()
    spoilt = {**learned(run)}
    for name, value in change.items():
        short = isinstance(value, list) and len(value) == 1
        spoilt[name] = value + spoilt[name][1:] if short else value
    path.write_text(json.dumps(prepare.sealed([spoilt])))
    try:
        told = refusal("suite", run, "--episodes", "500", "--workers", "1")
    finally:
        path.write_bytes(before)
    assert "rules" in told or "abstraction" in told

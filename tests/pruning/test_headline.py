"""Any measure can give the pruned policy of the headline."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from commands import refusal
from stores import corridor, finish, ready
from strangers import WORLDS, having, plugin

import rpd
from rpd_core.config.resolve import resolve
from rpd_core.errors import ConfigError
from rpd_core.plugin.registry import installed


def by_key(evidence: Any) -> Any:
    """Rank by the state's key, as a stranger's measure might."""
    return evidence.keys / 2.0**64


@pytest.mark.parametrize("headline", ["freqvis", "random:3", by_key])
def test_the_measure_that_is_named_gives_the_policy(headline: Any, tmp_path: Path) -> None:
    run = finish(tmp_path / "run", corridor(headline=headline))
    policy = run.policy(0.5)
    assert policy is not None
    name = headline if isinstance(headline, str) else "python:test_headline:by_key"
    assert policy.measure == name
    assert run.asked.settings.headline == name
    assert name in run.asked.settings.measures


def test_without_a_name_no_baseline_is_taken(tmp_path: Path) -> None:
    run = ready(tmp_path / "run")
    assert run.asked.settings.headline == "best"
    for policy in run.summary.policies.values():
        assert policy is not None
        assert not {"random", "freqvis", "differ"} & {*policy.measure.split(" + ")}


def test_kept_states_lie_with_the_analysis_and_are_those_of_the_policy(tmp_path: Path) -> None:
    run = ready(tmp_path / "run")
    for fraction in (0.9, 0.5):
        kept, policy = run.kept(fraction), run.policy(fraction)
        assert kept is not None
        assert policy is not None
        assert len(kept.keys) == policy.kept
        assert kept.path[-1] == kept.keys
        assert all(set(kept.keys) <= set(one) for one in kept.path)
        assert [len(one) for one in kept.path] == [one.decisions for one in policy.front]
    with pytest.raises(ConfigError, match=r"no threshold of 0\.7: there are 0\.9, 0\.5"):
        run.policy(0.7)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"objective": "all"}, "objective must be states, steps or both, got 'all'"),
        ({"confirm_margin": 0.5}, r"confirm_margin must lie in \[0, 0.5\), got 0.5"),
        ({"confirm_episodes": 1}, "confirm_episodes must be at least 2"),
        ({"headline": "tarantul"}, "no measure is called 'tarantul'"),
    ],
)
def test_what_cannot_be_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(rpd.RpdError, match=message):
        resolve(corridor(**settings), installed())


def test_a_headline_in_a_strangers_run_runs_no_code(tmp_path: Path) -> None:
    path = tmp_path / "run"
    with having(plugin("strange-worlds", "1.0", WORLDS)):
        finish(path, corridor(env="corridor", policy="goes"))
    question = path / "analyses" / "question.json"
    asked = json.loads(question.read_text())
    asked["settings"]["headline"] = "python:os:system"
    question.write_text(json.dumps(asked))
    with having(plugin("strange-worlds", "1.0", WORLDS)):
        told = refusal("prune", path)
    assert "the measure 'python:os:system', which may run code that came with it: refused" in told

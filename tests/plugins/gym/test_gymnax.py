"""The example that plays gymnax in lanes: run where gymnax is installed, which rpd does not ask."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rpd
from rpd_core.plugin.protocols import Opening
from rpd_kit.environments import check_environment

pytest.importorskip("gymnax")
pytestmark = pytest.mark.extras
sys.path.append(str(Path(__file__).resolve().parents[3] / "docs" / "examples"))

import jax  # noqa: E402
from gymnax_lanes import Gymnax, catch  # noqa: E402


@pytest.mark.parametrize("id", ["Catch-bsuite", "CartPole-v1", "Breakout-MinAtar", "Pendulum-v1"])
def test_its_lanes_keep_the_contract(id: str) -> None:
    assert list(check_environment(Gymnax(id))) == []


def test_a_lane_plays_what_gymnax_plays_with_the_same_keys() -> None:
    import gymnax

    env, parameters = gymnax.make("CartPole-v1")
    lanes = Gymnax("CartPole-v1").open(Opening(3))
    lanes.reset(np.arange(3), np.array([4, 5, 6]))
    key = jax.random.PRNGKey(5)
    seen, state = env.reset_env(key, parameters)
    for step in range(9):
        # What is fused otherwise is rounded otherwise.
        np.testing.assert_allclose(lanes.observe()[1], seen, atol=1e-6)
        drawn = jax.random.fold_in(key, step + 1)
        seen, state, reward, over, _ = env.step_env(drawn, state, step % 2, parameters)
        played = lanes.step(np.full(3, step % 2), np.array([False, True, True]))
        assert (played.rewards[1], played.terminated[1]) == (reward, over)
        assert not played.terminated[0]


def test_a_rule_that_catches_is_analysed(tmp_path: Path) -> None:
    def play(seen: Any) -> Any:
        return catch(seen)

    run = rpd.run(
        Gymnax("Catch-bsuite"), play, out=tmp_path / "run", episodes=200, confirm_episodes=50,
        condition="return>=1", progress=False, finish=(), note=lambda text: None,
    )  # fmt: skip
    assert run.policy().met  # type: ignore[union-attr]

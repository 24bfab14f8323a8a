"""Wrong input: one clear line, exit code 2, nothing lost or overwritten."""

from __future__ import annotations

import pytest
from commands import QUICK

RUN = [
    "run",
    "--env",
    "cartpole",
    "--episodes",
    "60",
    "--test-episodes",
    "2",
    "--workers",
    "1",
    *QUICK,
]
CONTINUOUS = ["run", "--env", "gym:Pendulum-v1", "--policy", "random", "--workers", "1"]

CASES = {
    "unknown environment": (["run", "--env", "cartpool"], "Did you mean 'cartpole'?"),
    "no environment": (["run"], "no environment given"),
    "unknown policy": ([*RUN, "--policy", "cartpol"], "Did you mean 'cartpole'?"),
    "unknown measure": ([*RUN, "--measure", "tarantul"], "Did you mean 'tarantula'?"),
    "unknown condition": ([*RUN, "--condition", "atuo"], "Did you mean 'auto'?"),
    "unknown default action": ([*RUN, "--default-action", "repeet"], "Did you mean 'repeat'?"),
    "unknown abstraction": ([*RUN, "--abstraction", "rund"], "Did you mean 'round'?"),
    "unknown executor": ([*RUN, "--executor", "locale"], "Did you mean 'local'?"),
    "unknown parameter": (
        [*RUN, "--abstraction", "round:1,digit=2"],
        "Did you mean 'digits'?",
    ),
    "empty spec": (["run", "--env", ":x"], "is not an environment spec"),
    "nothing after colon": (["run", "--env", "cartpole:"], "ends after the colon"),
    "open quote": ([*RUN, "--default-action", "constant:'1"], "a quote is not closed"),
    "wrong type": ([*RUN, "--abstraction", "round:one"], "digits must be a whole number"),
    "no such parameter": (
        [*RUN, "--abstraction", "auto:foo=3"],
        "coverage must be a number, got 'foo=3'; 'foo' is not a parameter of it",
    ),
    "scale without a number": ([*RUN, "--abstraction", "scale:nan"], "factors must be numbers"),
    "too many digits": ([*RUN, "--abstraction", "round:400"], "digits must lie in -15..15"),
    "wrong choice": ([*RUN, "--policy", "cartpole:god"], "must be one of good, weak"),
    "missing parameter": ([*RUN, "--default-action", "constant"], "needs 'action'"),
    "rate too big": ([*RUN, "--mutation-rate", "20"], "got 20. Did you mean 0.2?"),
    "rate zero": ([*RUN, "--mutation-rate", "0"], "mutation_rate must lie in (0, 1)"),
    "rate negative": ([*RUN, "--mutation-rate", "-0.1"], "mutation_rate must lie in (0, 1)"),
    "zero episodes": ([*RUN, "--episodes", "0"], "episodes must be at least 1, got 0"),
    "negative episodes": ([*RUN, "--episodes", "-5"], "episodes must be at least 1, got -5"),
    "zero test episodes": ([*RUN, "--test-episodes", "0"], "test_episodes must be at least 1"),
    "zero workers": ([*RUN, "--workers", "0"], "workers must be at least 1"),
    "negative seed": ([*RUN, "--seed", "-1"], "seed must not be negative"),
    "unvisited": ([*RUN, "--unvisited", "maybe"], "unvisited must be default or policy"),
    "all pass": ([*RUN, "--condition", "return>=0"], "all 60 episodes passed return>=0"),
    "none pass": ([*RUN, "--condition", "return>1000"], "all 60 episodes failed return>1000"),
    "bad bound": ([*RUN, "--condition", "return>=many"], "bound must be a number"),
    "missing info": ([*RUN, "--condition", "info:is_success"], "final info has 'is_success'"),
    "wrong action": ([*RUN, "--default-action", "constant:7"], "7 is not in Discrete(2)"),
    "no no-op": ([*RUN, "--default-action", "no-op"], "no action that does nothing"),
    "continuous constant": (
        [*CONTINUOUS, "--default-action", "constant:left"],
        "cannot read the action 'left'",
    ),
    "continuous constant outside": (
        [*CONTINUOUS, "--default-action", "constant:9"],
        "9 is not in Box(-2.0, 2.0",
    ),
    "policy of another task": (
        ["run", "--env", "gym:Acrobot-v1", "--policy", "cartpole", "--workers", "1"],
        "takes vectors of 4 and 2 actions",
    ),
    "unknown id": (
        ["run", "--env", "gym:CartPole-v9", "--policy", "random"],
        "Did you mean 'CartPole-v",
    ),
    "no such config": (
        ["run", "--config", "nowhere.json"],
        "'nowhere.json' is neither the run.json of a run nor a TOML file",
    ),
    "no such run": (["show", "nowhere"], "is not a run directory"),
    "rank no run": (["rank", "nowhere"], "is not a run directory"),
    "prune no run": (["prune", "nowhere"], "is not a run directory"),
    "out below a file": ([*RUN, "--out", "a_file/run"], "choose another folder"),
    "unwritable out": ([*RUN, "--out", "/proc/rpd"], "choose another folder"),
    "foreign out": ([*RUN, "--out", "foreign"], "is not a run directory"),
    "python import": ([*RUN, "--policy", "python:nowhere:thing"], "cannot import"),
    "kind": (["describe", "measures", "tarantula"], "Did you mean 'measure'?"),
    "component": (["describe", "measure", "ochai"], "Did you mean 'ochiai'?"),
    "described spec": (["describe", "environment", "gym:Hopper-v5"], "describe environment gym"),
    "learned only": ([*RUN, "--default-action", "mean:3"], "'mean' takes no parameters, got '3'"),
    "list kind": (["list-plugins", "--kind", "enviroment"], "Did you mean 'environment'?"),
    "check plugin": (["check-plugin", "rpd_mesures"], "Did you mean 'rpd_measures'?"),
    "check no plugin": (["check-plugin", "nosuch"], "Installed are rpd_atari, "),
}


@pytest.mark.parametrize(("words", "told"), CASES.values(), ids=CASES.keys())
def test_bad_input_is_one_line_and_exit_code_2(cli, words, told, tmp_path):
    (tmp_path / "a_file").write_text("mine")
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "thesis.tex").write_text("mine")
    result = cli(*words)
    assert result.exit_code == 2, result.output
    assert told in result.stderr
    assert result.stderr.startswith("rpd: ")
    assert result.stderr.count("\n") == 1
    assert (tmp_path / "foreign" / "thesis.tex").read_text() == "mine"
    assert [p.name for p in (tmp_path / "foreign").iterdir()] == ["thesis.tex"]


MISBEHAVING = """
import gymnasium, numpy as np

class World(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (2,))
    action_space = gymnasium.spaces.Discrete(3)
    def __init__(self, reward=1.0, fails=False):
        self.reward, self.fails = reward, fails
    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return self.np_random.uniform(-1, 1, 2).astype(np.float32), {}
    def step(self, action):
        self.steps += 1
        if self.fails and self.steps == 3:
            raise RuntimeError("gear box on fire")
        seen = self.np_random.uniform(-1, 1, 2).astype(np.float32)
        return seen, self.reward, self.steps >= 5, False, {}

def nan(): return World(reward=float("nan"))
def fails(): return World(fails=True)
def fine(): return World()
def outside(observations): return np.full(len(observations), 3)
def too_few(observations): return np.zeros(1, dtype=int)
def inside(observations): return np.zeros(len(observations), dtype=int)
def clumsy(observations):
    return np.zeros(3).reshape(2, 2)
"""

BROKEN = {
    "nan reward": ("nan", "inside", "gave the reward nan in step 0 of episode 0 (environment seed"),
    "raises": ("fails", "inside", "RuntimeError: gear box on fire in step 2 of episode 0"),
    "outside": ("fine", "outside", "the policy chose 3, which is not in Discrete(3)"),
    "clumsy": ("fine", "clumsy", "array of size 3 into shape (2,2) (misbehaving.py, line 27)"),
    "too few": ("fine", "too_few", "one action for each of the 64 observations"),
}


@pytest.mark.parametrize(("env", "policy", "told"), BROKEN.values(), ids=BROKEN.keys())
def test_misbehaving_environments_and_policies_are_named_with_their_episode(
    cli, env, policy, told, tmp_path, monkeypatch
):
    (tmp_path / "misbehaving.py").write_text(MISBEHAVING)
    monkeypatch.syspath_prepend(str(tmp_path))
    result = cli(
        *("run", "--env", f"python:misbehaving:{env},max_steps=9", "--workers", "1"),
        *("--policy", f"python:misbehaving:{policy}", "--abstraction", "round"),
    )
    assert result.exit_code == 2, result.output
    assert told in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_different_configuration_is_refused_with_the_difference_and_nothing_changes(
    cli, finished
):
    out, words = finished.path, ["run", *finished.words]
    before = {p: p.read_bytes() for p in out.rglob("*") if p.is_file()}
    other = cli(*words, "--out", out, "--mutation-rate", "0.3")
    assert other.exit_code == 2
    assert "mutation_rate: stored 0.4, asked 0.3" in other.stderr
    assert {p: p.read_bytes() for p in out.rglob("*") if p.is_file()} == before


def test_a_truncated_part_is_named(cli, finished, tmp_path):
    out = finished.copy(tmp_path)
    part = next(out.glob("suite/visits/*.parquet"))
    part.write_bytes(part.read_bytes()[:100])
    result = cli("rank", out)
    assert result.exit_code == 2
    assert part.name in result.stderr
    assert result.stderr.count("\n") == 1

"""How small are answers, over seeds? `python tests/benchmarks/answers.py WORK [CASE...]`.

Each case is a whole run for each seed, without page and pictures. WORK keeps the runs, so that what
was broken off goes on. `--policies FOLDER` holds policies of other people: those of the paper in
`paper/`, those of rl-trained-agents in `sb3/`. Prints CSV: a row for every run, or with `--means` a
row for every case.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import resource
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

DOCS = Path(__file__).resolve().parents[2] / "docs"
FLAPPY = "gym:flappy_bird_gymnasium:FlappyBird-v0,max_steps=500,use_lidar=false"
FEWER = ("--episodes", "400", "--test-episodes", "20", "--confirm-episodes", "200")
"""Sizes for what is stepped in Python, one environment at a time."""
CASES: Mapping[str, tuple[str, ...]] = {
    "CartPole, shipped": ("--env", "cartpole"),
    "CartPole, the paper's policy": (
        *("--env", "cartpole", "--policy", "torchscript:{policies}/paper/cartpole_good.pt"),
    ),
    "MiniGrid SimpleCrossing, shipped": ("--env", "minigrid"),
    "CartPole, rules": ("--env", "cartpole", "--abstraction", "rules"),
    "MountainCar, DQN": (
        *("--env", "gym:MountainCar-v0", "--policy", "sb3:{policies}/sb3/dqn__MountainCar-v0.zip"),
    ),
    "Acrobot, PPO": (
        *("--env", "gym:Acrobot-v1", "--policy", "sb3:{policies}/sb3/ppo__Acrobot-v1.zip"),
    ),
    "inventory": (
        *("--env", "python:inventory:Inventory,max_steps=60"),
        *("--policy", "python:inventory:base_stock"),
    ),
    "LunarLander, PPO": (
        *("--env", "gym:LunarLander-v3"),
        *("--policy", "sb3:{policies}/sb3/ppo__LunarLander-v2.zip", *FEWER),
    ),
    "FlappyBird, a rule": ("--env", FLAPPY, "--policy", "python:policies:flap", *FEWER),
}
"""What is played, as words of `rpd run`."""
COLUMNS: Mapping[str, tuple[str, float]] = {
    "decisions": ("policy.kept", 1),
    "of states": ("suite.states", 1),
    "share of states, %": ("policy.states", 100),
    "steps, %": ("policy.steps", 100),
    "overrides, %": ("policy.overrides", 100),
    "overrides of the whole policy, %": ("policy.overrides_whole", 100),
    "kept, %": ("policy.share", 100),
    "kept at least, %": ("policy.share_bound", 100),
    "rules alone, %": ("policy.rules_alone", 100),
    "leaves of imitation": ("policy.baselines.imitation.decisions", 1),
    "first ten in both halves, %": ("policy.minimising.recurring", 100),
    "settled": ("policy.minimising.settled", 1),
    "met": ("policy.met", 1),
    "CPU-s": ("processor", 1),
}
"""What is said of a run: where in its JSON it stands, and times what."""
Row = dict[str, float]


def play(case: str, seed: int, work: Path, policies: Path) -> dict[str, Any]:
    """Return what a run found, played now or at an earlier time."""
    run = work / f"{case.replace(' ', '-').replace(',', '').replace(chr(39), '')}-{seed}"
    stored = run.with_suffix(".json")
    if not stored.exists():
        words = [word.format(policies=policies) for word in CASES[case]]
        call = [sys.executable, "-P", "-m", "rpd_core.cli.main", "run", *words]
        call += ["--seed", str(seed), "--no-draw", "--no-report", "--json", "--out", str(run)]
        places = [str(DOCS / "gallery"), str(DOCS / "examples"), os.environ.get("PYTHONPATH", "")]
        around = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, places))}
        before = _processor()
        done = subprocess.run(call, env=around, stdout=subprocess.PIPE, check=True)
        found = {**json.loads(done.stdout), "processor": _processor() - before}
        stored.write_text(json.dumps(found))
    result: dict[str, Any] = json.loads(stored.read_text())
    return result


def _processor() -> float:
    """Return the processor time of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def row_of(found: dict[str, Any]) -> Row:
    """Return the columns of a run; what it does not say is no number."""
    row: Row = {}
    for name, (path, factor) in COLUMNS.items():
        value: Any = found
        for part in path.split("."):
            value = None if value is None else value.get(part)
        row[name] = float("nan") if value is None else factor * float(value)
    return row


def shared(runs: Sequence[dict[str, Any]]) -> tuple[float, float]:
    """Return how much two seeds have in common, in the mean over pairs of runs.

    The share of the decisions of one that are those of the other, too, and the rank correlation of
    the losses of these.
    """
    losses = [{one["key"]: one["loss"] for one in run["decisions"]} for run in runs]
    shares, correlations = [], []
    for place, mine in enumerate(losses):
        for other in losses[:place]:
            both = sorted(set(mine) & set(other))
            shares.append(len(both) / max(min(len(mine), len(other)), 1))
            if len(both) > 2:
                ranks = [
                    np.argsort(np.argsort([one[key] for key in both])) for one in (mine, other)
                ]
                correlations.append(float(np.corrcoef(ranks[0], ranks[1])[0, 1]))
    return float(np.mean(shares)), float(np.mean(correlations))


def summary(rows: Sequence[Row]) -> dict[str, str]:
    """Return mean and range of each column over the seeds."""
    found = {}
    for name in COLUMNS:
        values = np.array([row[name] for row in rows])
        values = values[~np.isnan(values)]
        if len(values):
            ends = f"{_short(values.min())} to {_short(values.max())}"
            found[name] = f"{ends}, mean {_short(values.mean())}"
    return found


def _short(value: float) -> str:
    return f"{value:.3g}"


def main() -> None:
    """Play what is asked for and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path, help="where runs are kept")
    parser.add_argument("cases", nargs="*", help="names of cases; none: all")
    parser.add_argument("--policies", type=Path, default=Path("policies"))
    parser.add_argument("--seeds", nargs="+", type=int, default=list(range(501, 510)))
    parser.add_argument("--means", action="store_true", help="a row for every case")
    asked = parser.parse_intermixed_args()
    writer = csv.writer(sys.stdout)
    last = ["seeds", "shared with another seed", "rank correlation"] if asked.means else ["seed"]
    writer.writerow(["", *COLUMNS, *last])
    for case in asked.cases or CASES:
        runs = [play(case, seed, asked.work, asked.policies) for seed in asked.seeds]
        rows = [row_of(run) for run in runs]
        if asked.means:
            words = summary(rows)
            common = [_short(value) for value in shared(runs)]
            writer.writerow([case, *(words.get(name, "") for name in COLUMNS), len(rows), *common])
        else:
            for seed, row in zip(asked.seeds, rows, strict=True):
                writer.writerow([case, *map(_short, row.values()), seed])
        sys.stdout.flush()


if __name__ == "__main__":
    main()

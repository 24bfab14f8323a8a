"""Do `rules` need fewer decisions than `auto`? `python tests/benchmarks/rules_or_auto.py FOLDER`.

FOLDER holds the policies of rl-trained-agents, named `algorithm__environment.zip`. Each task is
played with both abstractions on the same seeds; `--keep` stores what was found, a line per run, so
that what was broken off goes on. Prints a Markdown table of confirmed decisions and their steps.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import rpd

ABSTRACTIONS = ("rules", "auto")


@dataclasses.dataclass(frozen=True)
class Trial:
    """A task with the sizes that it is tried with."""

    env: str
    file: str = ""
    """Of the policy; empty: the one that the task ships, or the rule below."""
    episodes: int = 400
    """Mutant ones."""


SIZES = {
    "test_episodes": 20,
    "random_rankings": 1,
    "shares": (0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0),
    "confirm_episodes": 200,
    "unmutated_episodes": 100,
}
"""A coarser sweep than by default, and fewer fresh episodes: fifty runs are to end in an hour."""
TRIALS = {
    "CartPole": Trial("cartpole", episodes=1000),
    "Acrobot": Trial("gym:Acrobot-v1", "ppo__Acrobot-v1.zip"),
    "MountainCar": Trial("gym:MountainCar-v0", "dqn__MountainCar-v0.zip"),
    "LunarLander": Trial("gym:LunarLander-v3", "ppo__LunarLander-v2.zip"),
    "FlappyBird": Trial(
        "gym:flappy_bird_gymnasium:FlappyBird-v0,max_steps=500,use_lidar=false", "rule"
    ),
}


@dataclasses.dataclass(frozen=True)
class Found:
    """One run in a line."""

    task: str
    seed: int
    abstraction: str
    kept: int
    total: int
    steps: float
    met: bool
    overrides: float


def fly(observations: np.ndarray) -> np.ndarray:
    """Flap where the bird has sunk to just above the lower edge of the gap that it is before."""
    edge = np.where(observations[:, 0] > 0, observations[:, 2], observations[:, 5])
    return (observations[:, 9] > edge - 0.09).astype(np.int64)


def play(task: str, seed: int, abstraction: str, folder: Path) -> Found:
    """Play one run and return its confirmed policy; one that is not met says so."""
    trial = TRIALS[task]
    policy: Any = fly if trial.file == "rule" else f"sb3:{folder / trial.file}"
    with tempfile.TemporaryDirectory() as place:
        run = rpd.run(
            trial.env,
            policy if trial.file else None,
            abstraction=abstraction,
            seed=seed,
            episodes=trial.episodes,
            **SIZES,
            out=Path(place) / "run",
            finish=(),
            progress=False,
        )
        chosen, total = run.policy(0.9), run.summary.suite.states
        if chosen is None:
            return Found(task, seed, abstraction, total, total, 1.0, False, 1.0)
    shares = chosen.steps, chosen.met, chosen.overrides
    return Found(task, seed, abstraction, chosen.kept, total, *shares)


def all_found(tasks: list[str], seeds: list[int], folder: Path, keep: Path) -> Iterator[Found]:
    """Yield what each run found, seed by seed, played now or read from an earlier time."""
    lines = keep.read_text().splitlines() if keep.exists() else []
    stored = [Found(**json.loads(line)) for line in lines]
    known = {(one.task, one.seed, one.abstraction): one for one in stored}
    for seed in seeds:
        for task in tasks:
            for abstraction in ABSTRACTIONS:
                found = known.get((task, seed, abstraction))
                if found is None:
                    found = play(task, seed, abstraction, folder)
                    with keep.open("a") as file:
                        file.write(json.dumps(dataclasses.asdict(found)) + "\n")
                yield found


def table(rows: list[Found]) -> str:
    """Return the rows of each task and its means, one abstraction beside the other."""
    lines = [
        "| | seed | `rules`: kept of leaves, steps, overrides | `auto`: kept of states, the same |"
    ]
    lines.append("|---|---|---|---|")
    for task in dict.fromkeys(row.task for row in rows):
        mine = [row for row in rows if row.task == task]
        for seed in dict.fromkeys(row.seed for row in mine):
            pair = {row.abstraction: row for row in mine if row.seed == seed}
            if len(pair) == len(ABSTRACTIONS):
                cells = " | ".join(_cell(pair[name]) for name in ABSTRACTIONS)
                lines.append(f"| {task} | {seed} | {cells} |")
        means = " | ".join(
            _mean([row for row in mine if row.abstraction == name]) for name in ABSTRACTIONS
        )
        lines.append(f"| {task} | mean | {means} |")
    return "\n".join(lines)


def _cell(row: Found) -> str:
    shares = f"{row.steps:.0%}, {row.overrides:.0%}"
    return f"{row.kept} of {row.total}, {shares}" + ("" if row.met else " (not met)")


def _mean(rows: list[Found]) -> str:
    names = "kept", "steps", "overrides"
    kept, steps, overrides = (np.mean([getattr(row, name) for row in rows]) for name in names)
    return f"{kept:.1f}, {steps:.0%}, {overrides:.0%}"


def main() -> None:
    """Play what is asked for and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where the policies are")
    parser.add_argument("--tasks", nargs="+", default=list(TRIALS), choices=list(TRIALS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2, 3, 4])
    parser.add_argument("--keep", type=Path, default=Path("rules_or_auto.jsonl"))
    asked = parser.parse_args()
    print(table(list(all_found(asked.tasks, asked.seeds, asked.folder, asked.keep))))


if __name__ == "__main__":
    main()

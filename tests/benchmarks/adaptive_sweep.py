"""What does an adaptive sweep save, and what does it cost? `adaptive_sweep.py minigrid`.

Every seed is run twice, with `--sweep full` and with `--sweep adaptive`, on the same suite and test
episodes. One line of JSON per seed: the ratio of episodes, both thresholds of every measure, of the
portfolio and of random rankings in states and in steps, how many grid steps they lie apart, and the
confirmed policies. The last line is over all seeds.

`adaptive_sweep.py atari:Breakout --policy torchscript:FILE --set episodes=200` sets what is to
differ from the task's own settings, in JSON.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import rpd

FRACTIONS = (0.9, 0.5)
AXES = ("states", "steps")
NEVER = 1.0
"""Where a threshold that is not reached lies, for the difference."""


def main() -> None:
    """Print one line per seed and one over all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("env")
    parser.add_argument("--policy")
    parser.add_argument("--seeds", default="0,1,2,3,4")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=JSON")
    parser.add_argument("--out", type=Path, help="keep the runs in this folder")
    options = parser.parse_args()
    settings = {
        name: json.loads(text) for name, _, text in (one.partition("=") for one in options.set)
    }
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for seed in map(int, options.seeds.split(",")):
            place = (options.out or Path(folder)) / f"seed-{seed}"
            rows.append(compared(options.env, options.policy, seed, place, settings))
            print(json.dumps(rows[-1]), flush=True)
    print(json.dumps(over_all(rows)))


def compared(
    env: str, policy: str | None, seed: int, place: Path, settings: dict[str, Any]
) -> dict[str, Any]:
    """Run one seed in both ways; the second run uses the suite of the first."""
    full, adaptive = (
        rpd.run(
            env, policy, seed=seed, out=place, sweep=sweep, finish=(),
            progress=False, **settings,
        )
        for sweep in ("full", "adaptive")
    )  # fmt: skip
    facts = adaptive.summary.sweep
    lies = {
        f"{fraction:g}": {
            name: difference(full, adaptive, fraction, name)
            for name in full.summary.thresholds[f"{fraction:g}"]
        }
        for fraction in FRACTIONS
    }
    return {
        "seed": seed,
        "whole": facts.whole,
        "full": full.summary.sweep.episodes,
        "adaptive": facts.episodes,
        "ratio": facts.whole / facts.episodes,
        "most_apart": max(one["apart"] for some in lies.values() for one in some.values()),
        "thresholds": lies,
        "confirmed": {
            sweep: confirmed(run) for sweep, run in (("full", full), ("adaptive", adaptive))
        },
    }


def difference(full: rpd.Run, adaptive: rpd.Run, fraction: float, name: str) -> dict[str, Any]:
    """Return a threshold of both sweeps, and how many grid steps it lies apart at most.

    The shares of the sweep are the grid, for the share of states and for that of steps alike.
    """
    grid = np.unique([float(share) for share in full.asked.settings.shares])
    found: dict[str, Any] = {}
    apart = 0.0
    for axis in AXES:
        both = [least(run, fraction, name, axis) for run in (full, adaptive)]
        places = np.interp([NEVER if one is None else one for one in both], grid, range(len(grid)))
        missing = (both[0] is None) != (both[1] is None)
        apart = max(apart, float("inf") if missing else abs(float(places[0] - places[1])))
        found[axis] = both
    return {**found, "apart": apart}


def least(run: rpd.Run, fraction: float, name: str, axis: str) -> float | None:
    """Return the smallest share that keeps a fraction of the return; None: never."""
    entry = run.threshold(fraction, name)
    if entry is None:
        return None
    return entry.fewest_states.states if axis == "states" else entry.fewest_steps.steps


def confirmed(run: rpd.Run) -> dict[str, Any]:
    """Return the confirmed policies, by fraction."""
    found = {}
    for fraction in FRACTIONS:
        one = run.policy(fraction)
        found[f"{fraction:g}"] = one and {
            "met": one.met, "kept": one.kept, "states": one.states, "steps": one.steps,
            "share": one.share, "measure": one.measure,
        }  # fmt: skip
    return found


def over_all(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the ratio of all episodes and the largest difference."""
    whole, adaptive = (sum(row[name] for row in rows) for name in ("whole", "adaptive"))
    return {
        "ratio": whole / adaptive,
        "smallest_ratio": min(row["ratio"] for row in rows),
        "most_apart": max(row["most_apart"] for row in rows),
        "met": {
            f"{fraction:g}": [
                [bool((row["confirmed"][sweep][f"{fraction:g}"] or {}).get("met")) for row in rows]
                for sweep in ("full", "adaptive")
            ]
            for fraction in FRACTIONS
        },
    }


if __name__ == "__main__":
    main()

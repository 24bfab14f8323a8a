"""Where does the paper's figure lie among seeds? `minigrid_paper.py torchscript:minigrid_good.pt`.

One row per seed, counted in the paper's way, which differs from rpd's own in four points: 200
states are restored at a time, every measure and every point is tested on episodes of its own, the
share of steps is the mean over episodes instead of the ratio of totals, and nothing is confirmed on
fresh episodes. `--seeds 20` says how many; the policy is a file of the user's, none ships here.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np
from rpd_core.execute.workshop import Workshop

from rpd_core import pipeline
from rpd_core.config.resolve import resolve
from rpd_core.config.settings import Request
from rpd_core.execute.processes import dismiss_workers
from rpd_core.plugin.registry import installed
from rpd_core.pruning.curves import Curve, curve_from
from rpd_core.pruning.evaluation import ask, evaluate
from rpd_core.store.directory import RunDirectory

MEASURES = ("tarantula", "ochiai", "zoltar", "wong2")
STATES_AT_A_TIME = 200
FRACTIONS = (0.9, 0.5)


def curves_of(shop: Workshop) -> dict[str, Curve]:
    """Build a suite and test the pruned policies of each measure, no two on the same episodes."""
    pipeline.open_run(shop)
    analysis = pipeline.analyse(shop, pipeline.build_suite(shop))
    states = len(analysis.suite.states)
    cutoffs = [*range(0, states, STATES_AT_A_TIME), states]
    asked = {
        f"{name}-{cutoff}": ask(
            shop,
            [analysis.rankings[name].ranked_keys],
            [(0, cutoff)],
            part=row * len(cutoffs) + column,
        )
        for row, name in enumerate(MEASURES)
        for column, cutoff in enumerate(cutoffs)
    }
    played = evaluate(shop, "pruning", asked)
    shares = [cutoff / states for cutoff in cutoffs]
    return {
        key: curve_from(key, [share], [cutoff], played[key])
        for name in MEASURES
        for cutoff, share in zip(cutoffs, shares, strict=True)
        for key in [f"{name}-{cutoff}"]
    }


def thresholds(points: list[Curve], original: float) -> dict[str, float]:
    """Give the least share of states and of steps whose return exceeds each fraction."""
    found: dict[str, float] = {}
    for fraction in FRACTIONS:
        enough = [point for point in points if point.mean_return[0] > fraction * original]
        steps = [float((point.policy_steps / point.lengths).mean()) for point in enough]
        found[f"states_{fraction}"] = min((float(one.shares[0]) for one in enough), default=1.0)
        found[f"steps_{fraction}"] = min(steps, default=1.0)
    return found


def measure(policy: str, seed: int, workers: int) -> dict[str, float]:
    """Give the thresholds of one seed, for the portfolio and for Tarantula alone."""
    registry = installed()
    setup = resolve(Request(env="minigrid", policy=policy, seed=seed), registry)
    with tempfile.TemporaryDirectory() as folder:
        shop = Workshop(setup, RunDirectory(Path(folder) / "run"), registry, workers=workers)
        points = curves_of(shop)
        nothing = np.zeros(0, dtype=np.uint64)
        played = evaluate(shop, "original", {"all": ask(shop, [nothing], [(0, 0)], True)})
    original = float(played["all"].total_return.mean())
    alone = [point for key, point in points.items() if key.startswith("tarantula")]
    row = {"seed": seed, "return": original, **thresholds(list(points.values()), original)}
    row.update({f"tarantula_{key}": value for key, value in thresholds(alone, original).items()})
    return row


def main() -> None:
    """Print one line per seed and the means."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("policy")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    rows = []
    for seed in range(options.first, options.first + options.seeds):
        rows.append(measure(options.policy, seed, options.workers))
        print(json.dumps(rows[-1]), flush=True)
    dismiss_workers()
    means = {key: float(np.mean([row[key] for row in rows])) for key in rows[0] if key != "seed"}
    print(json.dumps({"means": means}))


if __name__ == "__main__":
    main()

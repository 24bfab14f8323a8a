"""How much less does the portfolio need than chance? `python tests/benchmarks/cartpole_pruning.py`.

The default run on the shipped good policy, five seeds; prints each seed's least shares for 90 %
and their means.
"""

from __future__ import annotations

import json
import resource
import tempfile
from pathlib import Path

import rpd

SEEDS = range(5)
NAMES = ("portfolio", "random", "random_best")


def measure(seed: int) -> dict[str, float]:
    """Return the shares of one seed; a threshold that is never reached counts as 1."""
    with tempfile.TemporaryDirectory() as folder:
        run = rpd.run("cartpole", out=Path(folder) / "run", seed=seed)
        return shares_of(run)


def shares_of(run: rpd.Run) -> dict[str, float]:
    """Return the least shares of states and of steps, and those of the confirmed policy."""
    shares = {}
    for name in NAMES:
        entry = run.threshold(0.9, name)
        shares[f"{name}_states"] = entry.fewest_states.states if entry else 1.0
        shares[f"{name}_steps"] = entry.fewest_steps.steps if entry else 1.0
    policy = run.policy(0.9)
    met = policy if policy and policy.met else None
    shares["policy_states"] = met.states if met else 1.0
    shares["policy_steps"] = met.steps if met else 1.0
    return shares


def main() -> None:
    """Print all seeds, the means, and the most memory used."""
    rows = [measure(seed) for seed in SEEDS]
    means = {key: sum(row[key] for row in rows) / len(rows) for key in rows[0]}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seeds": rows, "means": means, "peak_mib": peak}, indent=1))


if __name__ == "__main__":
    main()

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

from rpd_core import pipeline
from rpd_core.analysis.analysis import analyse
from rpd_core.api import Call, session_for
from rpd_core.pruning.curves import Curve, curve_from
from rpd_core.pruning.evaluation import Evaluations, ask
from rpd_core.store.session import Session

MEASURES = ("tarantula", "ochiai", "zoltar", "wong2")
STATES_AT_A_TIME = 200
FRACTIONS = (0.9, 0.5)


def curves_of(session: Session) -> dict[str, Curve]:
    """Build a suite and test the pruned policies of each measure, no two on the same episodes."""
    pipeline.prepare_run(session)
    pipeline.build_parts(session)
    setup = session.setup
    text = setup.config.settings.condition
    analysis = analyse(
        session.directory, setup.condition, text, setup.measures, spared=setup.measures
    )
    states = len(analysis.counted.states)
    cutoffs = [*range(0, states, STATES_AT_A_TIME), states]
    asked = {
        f"{name}-{cutoff}": ask(
            session,
            [analysis.rankings[name].ranked_keys],
            [(0, cutoff)],
            part=row * len(cutoffs) + column,
        )
        for row, name in enumerate(MEASURES)
        for column, cutoff in enumerate(cutoffs)
    }
    played = Evaluations(session).play("pruning", asked)
    shares = [cutoff / states for cutoff in cutoffs]
    return {
        key: curve_from(key, [share], [cutoff], played[key])
        for name in MEASURES
        for cutoff, share in zip(cutoffs, shares, strict=True)
        for key in [f"{name}-{cutoff}"]
    }


def thresholds(points: list[Curve], original: float) -> dict[str, float]:
    """Return the least share of states and of steps whose return exceeds each fraction."""
    found: dict[str, float] = {}
    for fraction in FRACTIONS:
        enough = [point for point in points if point.mean_return[0] > fraction * original]
        steps = [float((point.policy_steps / point.lengths).mean()) for point in enough]
        found[f"states_{fraction}"] = min((float(one.shares[0]) for one in enough), default=1.0)
        found[f"steps_{fraction}"] = min(steps, default=1.0)
    return found


def measure(policy: str, seed: int, workers: int) -> dict[str, float]:
    """Return the thresholds of one seed, for the portfolio and for Tarantula alone."""
    with tempfile.TemporaryDirectory() as folder:
        call = Call("minigrid", policy, seed=seed, out=Path(folder) / "run", workers=workers)
        with session_for(call) as session:
            points = curves_of(session)
            everywhere = ask(session, [np.zeros(0, dtype=np.uint64)], [(0, 0)], True)
            played = Evaluations(session).play("original", {"all": everywhere})
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
    means = {key: float(np.mean([row[key] for row in rows])) for key in rows[0] if key != "seed"}
    print(json.dumps({"means": means}))


if __name__ == "__main__":
    main()

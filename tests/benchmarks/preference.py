"""Do states by `preference` need fewer overrides? `tests/benchmarks/preference.py WORK FOLDER`.

Two games, in episodes of 100 steps, where the policy is well above random play, with a coarse
sweep: what is affordable where each step takes half a millisecond. FOLDER holds TorchScript
policies named `..._pong.pt` and `..._breakout.pt` that take stacks of screens. WORK keeps the runs,
so that what was broken off goes on. Prints CSV: the confirmed answer for 90 % of the return, or
that none was confirmed, then what was kept of it by the one that came nearest.
"""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path

import rpd

REFERENCES = {"Pong": -1.68, "Breakout": 0.53}
"""Mean returns of random play in 400 episodes of 100 steps; their errors are 0.03."""
SIZES = {
    "shares": (0.05, 0.15, 0.4, 1.0),
    "random_rankings": 1,
    "episodes": 200,
    "unmutated_episodes": 50,
    "test_episodes": 40,
    "confirm_episodes": 40,
    "confirm_tries": 4,
    "confirm_margin": 0.05,
    "minimise_steps": 40_000,
    "target": (0.9,),
}
COLUMNS = "decisions", "of states", "steps, %", "overrides, %", "of the whole policy, %", "kept, %"


def play(game: str, states: str, seed: int, work: Path, folder: Path) -> list[str]:
    """Return the columns of one run."""
    (file,) = folder.glob(f"*acktr_{game.lower()}.pt")
    run = rpd.run(
        f"atari:{game},max_steps=100",
        f"torchscript:{file},deterministic=true",
        abstraction=states,
        seed=seed,
        reference=REFERENCES[game],
        **SIZES,
        out=work / f"{game}-{states}-{seed}",
        finish=(),
        progress=False,
    )
    chosen, total = run.policy(), run.summary.suite.states
    if chosen is None or not chosen.met:
        kept = "" if chosen is None else f"{100 * chosen.share:.0f}"
        return ["not met", str(total), "", "", "", kept]
    shares = chosen.steps, chosen.overrides, chosen.overrides_whole, chosen.share
    return [str(chosen.kept), str(total), *(f"{100 * one:.1f}" for one in shares)]


def main() -> None:
    """Play what is asked for and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", nargs="+", type=int, default=list(range(701, 706)))
    asked = parser.parse_args()
    writer = csv.writer(sys.stdout)
    writer.writerow(["game", "states", "seed", *COLUMNS])
    for seed in asked.seeds:
        for game in ("Pong", "Breakout"):
            for states in ("preference", "atari"):
                row = play(game, states, seed, asked.work, asked.folder)
                writer.writerow([game, states, seed, *row])
                sys.stdout.flush()


if __name__ == "__main__":
    main()

"""Tries policies that trainers export themselves: makes files, and runs rpd on them.

    python tests/training/try_exporters.py make FOLDER [LIBRARY ...]
    python tests/training/try_exporters.py play FOLDER

Each library may be in an environment of its own, without rpd; `play` is for rpd's. It prints a row
per file: whether rpd acts as the library does on the same observations, and what `rpd run` says.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

WIDE = 1e-4
"""How far apart continuous actions may be."""


def make(folder: Path, libraries: list[str]) -> None:
    """Write the files of each library, with observations and what the library does on them."""
    from exporters import EXPORTERS, observations

    for library in libraries or EXPORTERS:
        place = folder.absolute() / library
        place.mkdir(parents=True, exist_ok=True)
        try:
            for number, one in enumerate(EXPORTERS[library](place)):
                rows = observations(one.env)
                actions = [np.asarray(one.act(step)) for step in rows]
                np.savez(place / f"{number}.npz", rows=rows, actions=actions)
                told = {"name": one.name, "env": one.env, "specs": one.specs}
                (place / f"{number}.json").write_text(json.dumps(told))
                print(f"{one.name}: {', '.join(one.specs)}", flush=True)
        except ImportError as error:
            print(f"{library}: not installed: {error}", flush=True)


def play(folder: Path) -> None:
    """Load all files, compare them with their libraries, and run rpd on them."""
    from rpd_core.errors import RpdError

    for path in sorted(folder.absolute().glob("*/*.json")):
        told = json.loads(path.read_text())
        own = np.load(path.with_suffix(".npz"))
        os.chdir(path.parent)
        for spec in told["specs"]:
            try:
                words = f"{compared(spec, told['env'], own)}; {ran(spec, told['env'])}"
            except RpdError as error:
                words = f"refused: {error}"
            print(f"{told['name']}, {spec}: {words}", flush=True)


def compared(spec: str, env: str, own: Any) -> str:
    """Return how the policy of a spec acts beside its library, best actions alone."""
    import gymnasium

    from rpd_core.chance import Draws
    from rpd_core.plugin.protocols import Facts, PolicyInput
    from rpd_onnx.loader import OnnxFile
    from rpd_torchscript.loader import TorchScriptFile
    from rpd_weights.loader import WeightsFile

    loaders = {"onnx": OnnxFile, "torchscript": TorchScriptFile, "weights": WeightsFile}
    made, lanes = gymnasium.make(env), own["rows"].shape[1]
    facts = Facts(made.observation_space, made.action_space, lanes, description=env)
    loader, _, name = spec.partition(":")
    policy = loaders[loader](Path(name)).load(facts)
    memory, unlike = None, 0.0
    for step, rows in enumerate(own["rows"]):
        draws = Draws(np.arange(lanes, dtype=np.uint64), np.full(lanes, step))
        zeros = np.zeros((lanes, *made.action_space.shape))
        choice = policy(
            PolicyInput(rows, {}, np.full(lanes, step == 0), memory, draws, zeros, np.zeros(lanes))
        )
        memory, ours = choice.memory, choice.actions
        for numbers in (choice.probabilities, choice.action_values):
            ours = ours if numbers is None else numbers.argmax(axis=1)
        wanted = own["actions"][step].reshape(ours.shape)
        if ours.dtype.kind == "f":
            wanted = np.clip(wanted, made.action_space.low, made.action_space.high)
        unlike = max(unlike, float(np.abs(ours - wanted).max()))
    return "acts as there" if unlike <= WIDE else f"acts OTHERWISE, by up to {unlike:.3g}"


def ran(spec: str, env: str) -> str:
    """Return what a tiny run finds."""
    import rpd

    with tempfile.TemporaryDirectory() as out:
        run = rpd.run(
            f"gym:{env}", spec, out=Path(out) / "run", quick=True, abstraction="auto",
            default_action="repeat", episodes=40, lanes=16, test_episodes=5, unmutated_episodes=20,
            confirm_episodes=20, confirm_tries=1, reference=-10_000, shares=(0.0, 0.5, 1.0),
            progress=False, finish=(), minimise_steps=2000,
        )  # fmt: skip
        found = run.summary
        return f"run: return {found.original.return_mean:.4g}, {found.suite.states} states"


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    task, place, *wanted = sys.argv[1:]
    if task == "make":
        make(Path(place), wanted)
    else:
        play(Path(place))

"""Writing pruned policies as files: `rpd prune --export`.

The file is a zip with `pruned.json` (specs, fitted parameters, where it comes from, the kept
decisions in words, and a certificate of what the policy earns and saves), `keys.npy`
(keys of the states that keep the policy), `ranked.npy` (keys of all ranked states) and the input
files of the policy and the default action. The same run gives the same bytes.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rpd_basics.rule_export import Certificate, certificate_of, opened_facts
from rpd_basics.stored_facts import facts_as_json
from rpd_core.analysis.suite import StoredEpisodes
from rpd_core.config.configuration import Json, input_paths
from rpd_core.config.resolve import Setup
from rpd_core.errors import ConfigError
from rpd_core.play.prepare import fitted_fields
from rpd_core.play.recipe import Recipe, recipe_of
from rpd_core.pruning.twins import ranking_of
from rpd_core.results.kept import KeptStates, all_keys
from rpd_core.results.words import percent
from rpd_core.store.codec import to_plain
from rpd_core.store.files import write_whole
from rpd_core.untrusted.files import read_all

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import KeyArray
    from rpd_core.results.run import Run

FORMAT = 2
INPUT = "inputs/"
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The time that every member of the zip bears: the oldest it can."""


def export_pruned(run: Run, path: Path, fraction: float | None = None) -> Certificate:
    """Write the pruned policy that was confirmed for a fraction of the return.

    The run must be one that was just made: its components are packed into the file.
    """
    fraction = run.target if fraction is None else fraction
    chosen, kept = run.policy(fraction), run.kept(fraction)
    if chosen is None or kept is None or not chosen.met:
        raise ConfigError(
            f"no pruned policy was confirmed to keep {percent(fraction)} of the return, so there "
            "is none to export: try more --episodes, more --confirm-episodes or --unvisited policy"
        )
    if run.setup is None:
        raise ConfigError("a run that was only opened for reading has no policy to export")
    facts, first = opened_facts(run.setup)
    certificate = certificate_of(run, chosen, fraction, first)
    about = {
        **_components(run.setup),
        "facts": facts_as_json(facts),
        **to_plain(chosen),
        "certificate": to_plain(certificate),
        "decisions": _decisions(run, kept),
        "played": to_plain(run.summary.played),
    }
    ranked = ranking_of(kept.array, all_keys(run.directory, run.asked.episodes))
    write_whole(path, _packed(about, kept.array, ranked))
    return certificate


def _components(setup: Setup) -> Json:
    """Return what the policy is put together from again."""
    config, recipe = setup.config, recipe_of(setup)
    return {
        "format": FORMAT,
        "env": config.env,
        "policy": config.policy,
        "abstraction": list(config.settings.abstraction),
        "fitted": fitted_fields(recipe),
        "default_action": config.settings.default_action,
        "unvisited": config.settings.unvisited,
        "inputs": _inputs(recipe),
    }


def _decisions(run: Run, kept: KeptStates) -> list[Json]:
    """Return the kept states, in words where they are stored, with their losses if known."""
    stored = StoredEpisodes(run.directory.suite(), run.asked.episodes)
    words, losses = stored.words(kept.keys), {one.key: one.loss for one in run.decisions}
    return [
        {"key": key, "state": words.get(key, f"{key:016x}"), "loss": losses.get(key)}
        for key in kept.keys
    ]


def _inputs(recipe: Recipe) -> dict[str, dict[str, str]]:
    """Return the input files of policy and default action: where each is used, what it is called.

    Names keep the folders below the one that holds them all, because a loader may look for one
    file beside another.
    """
    found = {
        **input_paths(recipe.policy, "policy"),
        **input_paths(recipe.default_action, "default_action"),
    }
    if not found:
        return {}
    root = os.path.commonpath([path.parent for path in found.values()])
    return {
        place: {"file": str(path), "member": f"{INPUT}{path.relative_to(root).as_posix()}"}
        for place, path in found.items()
    }


def _packed(about: Json, kept: KeyArray, ranked: KeyArray) -> bytes:
    files = {one["member"]: Path(one["file"]) for one in about["inputs"].values()}
    stored = {
        **about,
        "inputs": {place: {"member": one["member"]} for place, one in about["inputs"].items()},
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        _add(archive, "pruned.json", json.dumps(stored, indent=2).encode())
        for name, keys in (("keys.npy", kept), ("ranked.npy", ranked)):
            stream = io.BytesIO()
            np.save(stream, keys, allow_pickle=False)
            _add(archive, name, stream.getvalue())
        for member, path in sorted(files.items()):
            _add(archive, member, read_all(path, "restore the policy's file"))
    return buffer.getvalue()


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    info = zipfile.ZipInfo(name, _EPOCH)
    info.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(info, content)

"""Files of objects that were handed over in Python: they move into the run directory."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from rpd_core.config.identity import input_paths
from rpd_core.config.objects import is_staged
from rpd_core.config.resolve import Setup
from rpd_core.execute.files import moved
from rpd_core.plugin.registry import Registry
from rpd_core.store.directory import OBJECTS, RunDirectory
from rpd_core.store.files import read_whole, write_whole


def move_in(setup: Setup, directory: RunDirectory, registry: Registry) -> Setup:
    """Return a setup whose policy is stored with its run, so that others can go on with it.

    Its file counts by content, so that nothing else changes.
    """
    files = [path for path in input_paths(setup.policy, "policy").values() if is_staged(path)]
    if not files:
        return setup
    directory.check(setup.config)
    places = {path: directory.path / OBJECTS / path.name for path in files}
    for path, place in places.items():
        content = path.read_bytes()
        if read_whole(place, directory.path) != content:
            write_whole(place, content, directory.path)
    text = registry.text_of("policy", moved(setup.policy, places))
    # absolute, because a worker may have another working directory
    policy = moved(setup.policy, {path: one.absolute() for path, one in places.items()})
    config = dataclasses.replace(setup.config, policy=text)
    return dataclasses.replace(setup, policy=policy, config=config)


def found_again(policy: str, directory: RunDirectory, registry: Registry) -> str:
    """Return the spec of a policy with its files where the run directory is now.

    It was written as seen from the working directory of whoever made the run.
    """
    folder = directory.path / OBJECTS
    if not folder.is_dir():
        return policy
    spec = registry.parse("policy", policy)
    held = {
        name: str(folder / Path(value).name)
        for name, value in spec.values.items()
        if Path(value).parent.name == OBJECTS and (folder / Path(value).name).is_file()
    }
    return registry.text("policy", dataclasses.replace(spec, values={**spec.values, **held}))

"""Pictures of states, where a run stores any."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rpd_core.results.pictures import read_pictures
from rpd_core.results.run import Run


def state_pictures(run: Run) -> Mapping[int, Path]:
    """Return the file with the picture of each state that has one."""
    found = read_pictures(run.path, str(run.name))
    return {} if found is None else dict(found.states)

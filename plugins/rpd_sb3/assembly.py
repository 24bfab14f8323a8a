"""From a recipe to a loaded policy: archive, model, statistics, and how they fit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rpd_core.plugin.protocols import Facts
from rpd_core.untrusted.boundary import boundary
from rpd_sb3.archive import open_archive
from rpd_sb3.building import Model, build
from rpd_sb3.fitting import FitOptions, fit
from rpd_sb3.heads import head_for
from rpd_sb3.policy import Sb3Policy, check_actions, describe_model, mask_views
from rpd_sb3.statistics import Statistics, check_forgotten, find, read_statistics
from rpd_sb3.trusted import load_in_full

if TYPE_CHECKING:
    from rpd_sb3.loader import Sb3File

_DAMAGED = "it is damaged or was not written by model.save; copy it or save the model again"


def load_policy(file: Sb3File, facts: Facts) -> Sb3Policy:
    """Load the policy and fit it to the environment."""
    with boundary(file.path, _DAMAGED):
        model = _model(file)
        check_actions(facts, model)
        statistics = _statistics(file)
        options = FitOptions(file.key, file.stack, file.mission, statistics)
        fitting = fit(facts, model.observation_space, options)
        notes = (*model.notes, *((f"statistics of {statistics.source}",) if statistics else ()))
        head = head_for(model, file.deterministic)
        needs = (*mask_views(facts, model), *fitting.views)
        return Sb3Policy(file.path, model, fitting, head, needs, notes)


def describe_file(file: Sb3File) -> dict[str, str]:
    """Return what the file says about the policy, without an environment."""
    with boundary(file.path, _DAMAGED):
        return describe_model(_model(file))


def statistics_beside(file: Sb3File) -> Path | None:
    """Find the statistics beside a zip, unless others are named or none are wanted."""
    if file.vecnormalize is not None or not file.normalize:
        return None
    with boundary(file.path, _DAMAGED):
        return find(file.path)


def _model(file: Sb3File) -> Model:
    archive = open_archive(file.path)
    make = load_in_full if file.trust and not archive.alone else build
    return make(archive, file.algo, file.extractor)


def _statistics(file: Sb3File) -> Statistics | None:
    if not file.normalize:
        return None
    path = file.vecnormalize or statistics_beside(file)
    if path is None:
        check_forgotten(file.path)
        return None
    return read_statistics(path, file.trust)

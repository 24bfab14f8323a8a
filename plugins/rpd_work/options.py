"""What can be asked of each tracker, by keyword."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TypedDict


class TensorboardOptions(TypedDict, total=False):
    """Where TensorBoard's files go."""

    log_dir: str | os.PathLike[str]


class WandbOptions(TypedDict, total=False):
    """How a run of Weights & Biases begins, as in `wandb.init`."""

    project: str
    entity: str
    name: str
    group: str
    notes: str
    tags: Sequence[str] | Mapping[str, str]
    mode: str
    dir: str


class MlflowOptions(TypedDict, total=False):
    """How a run of MLflow begins, as in `mlflow.start_run`."""

    run_id: str
    experiment_id: str
    run_name: str
    description: str
    nested: bool
    tags: Sequence[str] | Mapping[str, str]


class TrackerOptions(TensorboardOptions, WandbOptions, MlflowOptions, total=False):
    """What can be asked of one or another tracker."""


OPTIONS = {"tensorboard": TensorboardOptions, "wandb": WandbOptions, "mlflow": MlflowOptions}

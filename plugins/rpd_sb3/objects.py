"""A model of stable-baselines3 that lives in this process -> the file that it would be saved as."""

from __future__ import annotations

import copy
import dataclasses
import io
import json
import pickle
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces
from stable_baselines3.common.base_class import BaseAlgorithm

from rpd_core.errors import ConfigError, SpecError

if TYPE_CHECKING:
    from rpd_sb3.loader import Sb3File

Save = Callable[[str, bytes], Path]

_PASSING = (
    "start_time", "ep_info_buffer", "ep_success_buffer", "tensorboard_log", "_last_obs",
    "_last_episode_starts", "_last_original_obs", "_last_lstm_states", "lr_schedule",
    "exploration_schedule", "_custom_logger", "rollout_buffer_class", "replay_buffer_class",
)  # fmt: skip
"""What a model remembers of its training and its policy does without."""
_SCHEDULES = ("learning_rate", "clip_range", "clip_range_vf")
"""Functions that only training calls; that they are there tells algorithms apart."""
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
"""Where an object lay in memory: clear text beside the pickles, other in every process."""
_MEMBERS = ("data", "_stable_baselines3_version")


def saved_model(recipe: type[Sb3File], model: Any, save: Save) -> Sb3File:
    """Return the recipe of a model; the same model gives the same bytes, whenever it is saved."""
    if not isinstance(model, BaseAlgorithm):
        raise ConfigError(
            f"{type(model).__name__} is the policy inside a model of stable-baselines3, without "
            "what tells how it is used: hand over the model itself"
        )
    file = recipe(save("model.zip", _packed(model)), vecnormalize=_saved_statistics(model, save))
    try:
        file.describe()
    except SpecError:  # classes of the user's own are in it, who holds them in this very process
        return dataclasses.replace(file, trust=True)
    return file


def _packed(model: Any) -> bytes:
    """Return the zip of a model without dates, addresses and the state of its training."""
    still = copy.copy(model)
    for name in ("observation_space", "action_space"):
        setattr(still, name, _without_chance(getattr(model, name)))
    buffer = io.BytesIO()
    still.save(buffer, exclude=list(_PASSING))
    packed = io.BytesIO()
    with zipfile.ZipFile(buffer) as saved, zipfile.ZipFile(packed, "w") as zipped:
        for name in sorted(saved.namelist()):
            if name in _MEMBERS or name.endswith(".pth"):
                content = saved.read(name)
                content = _settled(content) if name == "data" else content
                zipped.writestr(zipfile.ZipInfo(name), content)  # with the date of all zips' birth
    return packed.getvalue()


def _settled(settings: bytes) -> bytes:
    """Return the settings in one order, without addresses and schedules."""
    data = json.loads(_ADDRESS.sub("", settings.decode()))
    for name in _SCHEDULES:
        if isinstance(data.get(name), dict):
            data[name] = 0.0
    return json.dumps(data, sort_keys=True, indent=1).encode()


def _without_chance(space: spaces.Space[Any]) -> spaces.Space[Any]:
    """Return a copy of a space that has not drawn anything yet."""
    fresh = copy.deepcopy(space)
    waiting = [fresh]
    while waiting:
        one = waiting.pop()
        one.__dict__["_np_random"] = None
        inner = getattr(one, "spaces", ())
        waiting += inner.values() if isinstance(inner, dict) else inner
    return fresh


def _saved_statistics(model: Any, save: Save) -> Path | None:
    """Save the normalisation that the model's environment applies to observations, if any."""
    normalised = model.get_vec_normalize_env()
    if normalised is None or not normalised.norm_obs:
        return None
    moments = normalised.obs_rms
    if isinstance(moments, dict):
        return save("vecnormalize.pkl", pickle.dumps(normalised))
    buffer = io.BytesIO()
    held = {"epsilon": normalised.epsilon, "clip_obs": normalised.clip_obs, "norm_obs": True}
    np.savez(buffer, mean=moments.mean, var=moments.var, **held)
    return save("vecnormalize.npz", buffer.getvalue())

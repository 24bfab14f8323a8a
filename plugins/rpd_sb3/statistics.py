"""Normalisation statistics (`VecNormalize`): where they lie, how they are read and applied."""

from __future__ import annotations

import math
import pickle
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpd_core.errors import RpdError, SpecError, one_line
from rpd_core.untrusted.arrays import read_arrays
from rpd_core.untrusted.boundary import Budget, Flaw, Refused, file_name, printable
from rpd_core.untrusted.files import open_regular, read_bounded
from rpd_core.untrusted.pickles import Holder
from rpd_sb3.archive import TRUST
from rpd_sb3.pickles import STATISTICS, read

Array = NDArray[Any]
_CHECKPOINT = re.compile(r"(.+)_(\d+)_steps")
_ZOO_NAMES = re.compile(r"best_model|final_model|rl_model_\d+_steps")
_SETTING = re.compile(r"\bnormalize\W+((?:true|\{).*)", re.IGNORECASE)
_NO_OBSERVATIONS = re.compile(r"norm_obs\W+false", re.IGNORECASE)
_COMMON = ("vecnormalize", "vec_normalize")
_ARRAYS = ("mean", "var", "epsilon", "clip_obs", "norm_obs")
_LARGEST = 2**26
"""Bytes of a file of statistics, and again of what unpacks from it."""
_LONGEST_CONFIGURATION = 2**20
_ADVICE = "give a .pkl of vec_env.save, or an .npz with mean, var, epsilon and clip_obs"


@dataclass(frozen=True)
class Normal:
    """Mean and spread of one observation."""

    mean: Array
    scale: Array
    """The square root of variance plus epsilon."""
    clip: float

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of what is normalised."""
        return self.mean.shape

    def __call__(self, values: Array) -> Array:
        """Return the values in units of the spread, cut off at the clip."""
        scaled = np.clip((values - self.mean) / self.scale, -self.clip, self.clip)
        return scaled.astype(np.float32)


@dataclass(frozen=True)
class Statistics:
    """What a file of statistics says: one `Normal`, or one for each part of a dictionary."""

    source: str
    whole: Normal | None = None
    parts: Mapping[str, Normal] | None = None

    def of(self, key: str | None) -> Normal | None:
        """Return the statistics of one part of a dictionary, or of the whole observation."""
        if key is not None and self.parts is not None:
            return self.parts.get(key)
        return self.whole


def candidates(path: Path) -> list[Path]:
    """Return the places where the statistics of a zip are kept by common tools, nearest first."""
    stem, folder = path.stem, path.parent
    names = [f"{stem}.vecnormalize", f"{stem}_vecnormalize", f"{stem}.vec_normalize"]
    checkpoint = _CHECKPOINT.fullmatch(stem)
    if checkpoint:
        names.append(f"{checkpoint.group(1)}_vecnormalize_{checkpoint.group(2)}_steps")
    names += [f"{stem}/{name}" for name in _COMMON]
    found = [folder / f"{name}{end}" for name in names for end in (".pkl", ".npz")]
    if _ZOO_NAMES.fullmatch(stem) and folder.is_dir():
        inner = sorted(folder.glob("*/vecnormalize.pkl"))
        found += inner if len(inner) == 1 else []
    return found + [folder / f"{name}{end}" for name in _COMMON for end in (".pkl", ".npz")]


def find(path: Path) -> Path | None:
    """Return the statistics that lie beside a zip, if any do."""
    return next((place for place in candidates(path) if _is_file(place)), None)


def _is_file(place: Path) -> bool:
    try:
        return place.is_file()
    except OSError:  # the name of a neighbour may be too long for the file system
        return False


def check_forgotten(path: Path) -> None:
    """Refuse a model whose training configuration asks for statistics that are not there."""
    for place in (path.parent / path.stem / "config.yml", path.with_suffix(".config.yml")):
        if not _is_file(place):
            continue
        with open_regular(place, "check the path") as stream:
            text = stream.read(_LONGEST_CONFIGURATION).decode("utf-8", "replace")
        setting = _SETTING.search(text)
        if setting and not _NO_OBSERVATIONS.search(setting.group(1)):
            raise SpecError(
                f"{file_name(place)} says that {file_name(path)} was trained on normalised "
                "observations, but no statistics lie beside it: give vecnormalize=FILE or "
                "normalize=false"
            )


def read_statistics(path: Path, trust: bool) -> Statistics | None:
    """Read statistics; None if the file says that observations were not normalised."""
    raw = read_bounded(path, Budget(_LARGEST), "check vecnormalize=")
    name, budget = file_name(path), Budget(_LARGEST)
    try:
        if path.suffix == ".npz":
            held = read_arrays(raw, _ARRAYS, budget)
            if not {"mean", "var"} <= set(held):
                raise Flaw(f"it has no arrays mean and var: {_ADVICE}")
            return _statistics(name, held, held)
        state = _pickled_state(name, raw, trust, budget)
        return _statistics(name, state, state.get("obs_rms"))
    except Flaw as error:
        raise SpecError(f"{name}: {error}") from error
    except RpdError:
        raise
    except Exception as error:  # a damaged file may lack anything
        reason = printable(one_line(error), 200)
        raise SpecError(f"{name} holds no statistics ({reason}): {_ADVICE}") from error


def _pickled_state(name: str, raw: bytes, trust: bool, budget: Budget) -> dict[str, Any]:
    """Return the attributes of the pickled VecNormalize."""
    try:
        held = read(raw, budget, STATISTICS)
    except Refused as error:
        if not trust:
            raise SpecError(f"{name} was not read: {error}; {TRUST}") from error
        held = _unpickle_in_full(name, raw)
    state = held.state if isinstance(held, Holder) else getattr(held, "__dict__", None)
    if not isinstance(state, dict) or not {"obs_rms", "norm_obs"} & set(state):
        raise SpecError(f"{name} holds no VecNormalize: save one with vec_env.save(path)")
    return state


def _unpickle_in_full(name: str, raw: bytes) -> Any:
    try:
        return pickle.loads(raw)
    except Exception as error:  # it may contain anything
        reason = printable(one_line(error), 300)
        raise SpecError(f"{name} cannot be loaded ({reason}): save it again") from error


def _statistics(source: str, settings: Mapping[str, Any], moments: Any) -> Statistics | None:
    if not bool(settings.get("norm_obs", True)):
        return None
    epsilon, clip = float(settings.get("epsilon", 1e-8)), float(settings.get("clip_obs", 10.0))
    if not 0 <= epsilon < math.inf:
        raise Flaw(f"its epsilon is {epsilon}, which is not a finite number from 0: save it again")
    if not clip > 0:
        raise Flaw(f"its clip_obs is {clip}, which is not a number above 0: save it again")
    if isinstance(moments, Mapping) and "mean" not in moments:
        keys = settings.get("norm_obs_keys") or list(moments)
        if not keys:
            raise Flaw(f"it has no statistics of observations: {_ADVICE}")
        parts = {str(key): _normal(str(key), moments[key], epsilon, clip) for key in keys}
        return Statistics(source, parts=parts)
    return Statistics(source, whole=_normal("obs_rms", moments, epsilon, clip))


def _normal(name: str, moments: Any, epsilon: float, clip: float) -> Normal:
    if isinstance(moments, Holder):
        moments = moments.state
    elif not isinstance(moments, Mapping):
        moments = vars(moments)
    mean, variance = (np.asarray(moments[key], float) for key in ("mean", "var"))
    for key, values in (("mean", mean), ("var", variance)):
        if not np.isfinite(values).all():
            where = printable(f"{name}.{key}", 80)
            raise Flaw(f"its statistics {where!r} are not all finite numbers: save them again")
    if mean.shape != variance.shape or (variance < 0).any():
        raise ValueError("its variances are not numbers of the shape of its means")
    if not (variance + epsilon > 0).all():
        raise ValueError("a variance and epsilon in it are both 0")
    return Normal(mean, np.sqrt(variance + epsilon), clip)

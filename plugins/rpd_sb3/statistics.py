"""Normalisation statistics (`VecNormalize`): where they lie, how they are read and applied."""

from __future__ import annotations

import pickle
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from rpd_core.errors import SpecError, one_line
from rpd_sb3.archive import TRUST
from rpd_sb3.pickles import STATISTICS, Holder, Refused, read

Array = NDArray[Any]
_CHECKPOINT = re.compile(r"(.+)_(\d+)_steps")
_ZOO_NAMES = re.compile(r"best_model|final_model|rl_model_\d+_steps")
_ASKED = re.compile(r"\bnormalize\W+((?:true|\{).*)", re.IGNORECASE)
_NO_OBSERVATIONS = re.compile(r"norm_obs\W+false", re.IGNORECASE)
_COMMON = ("vecnormalize", "vec_normalize")


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
    return next((place for place in candidates(path) if place.is_file()), None)


def check_forgotten(path: Path) -> None:
    """Refuse a model whose training configuration asks for statistics that are not there."""
    for place in (path.parent / path.stem / "config.yml", path.with_suffix(".config.yml")):
        if not place.is_file():
            continue
        asked = _ASKED.search(place.read_text(errors="replace"))
        if asked and not _NO_OBSERVATIONS.search(asked.group(1)):
            raise SpecError(
                f"{place.name} says that {path.name} was trained on normalised observations, but "
                "no statistics lie beside it: give vecnormalize=FILE or say normalize=false"
            )


def read_statistics(path: Path, trust: bool) -> Statistics | None:
    """Read statistics; None if the file says that observations were not normalised."""
    if not path.is_file():
        raise SpecError(f"{str(path)!r} does not exist: check vecnormalize=")
    if path.suffix == ".npz":
        return _from_arrays(path)
    return _from_pickle(path, trust)


def _from_arrays(path: Path) -> Statistics | None:
    try:
        with np.load(path, allow_pickle=False) as stored:
            held = {name: stored[name] for name in stored.files}
        return _statistics(path, held, held)
    except (OSError, ValueError, KeyError, BadZipFile, TypeError) as error:
        raise SpecError(
            f"{path.name} holds no statistics ({one_line(error)}): it needs the arrays mean, var, "
            "epsilon and clip_obs"
        ) from error


def _from_pickle(path: Path, trust: bool) -> Statistics | None:
    raw = path.read_bytes()
    try:
        held = read(raw, STATISTICS)
    except Refused as error:
        if not trust:
            raise SpecError(f"{path.name} was not read: {error}; {TRUST}") from error
        held = _trusted(path, raw)
    state = held.state if isinstance(held, Holder) else getattr(held, "__dict__", None)
    if not isinstance(state, dict) or not {"obs_rms", "norm_obs"} & set(state):
        raise SpecError(f"{path.name} holds no VecNormalize: save one with vec_env.save(path)")
    try:
        return _statistics(path, state, state.get("obs_rms"))
    except (KeyError, TypeError, ValueError) as error:
        raise SpecError(f"{path.name} lacks statistics: {one_line(error)}") from error


def _trusted(path: Path, raw: bytes) -> Any:
    try:
        return pickle.loads(raw)
    except Exception as error:  # it may contain anything
        raise SpecError(f"{path.name} cannot be loaded: {one_line(error)}") from error


def _statistics(path: Path, settings: Mapping[str, Any], rms: Any) -> Statistics | None:
    if not bool(settings.get("norm_obs", True)):
        return None
    epsilon, clip = float(settings.get("epsilon", 1e-8)), float(settings.get("clip_obs", 10.0))
    if isinstance(rms, Mapping) and "mean" not in rms:
        wanted = settings.get("norm_obs_keys") or list(rms)
        parts = {str(key): _normal(rms[key], epsilon, clip) for key in wanted}
        return Statistics(path.name, parts=parts)
    return Statistics(path.name, whole=_normal(rms, epsilon, clip))


def _normal(rms: Any, epsilon: float, clip: float) -> Normal:
    if isinstance(rms, Holder):
        rms = rms.state
    elif not isinstance(rms, Mapping):
        rms = vars(rms)
    mean, variance = np.asarray(rms["mean"], float), np.asarray(rms["var"], float)
    if mean.shape != variance.shape or not np.isfinite(variance).all() or (variance < 0).any():
        raise ValueError("its variances are no numbers of the shape of its means")
    return Normal(mean, np.sqrt(variance + epsilon), clip)

"""Normalisation statistics (`VecNormalize`) of a policy whose graph does not normalise."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpd_core.errors import SpecError
from rpd_core.untrusted.arrays import read_arrays
from rpd_core.untrusted.boundary import Budget, Flaw, file_name
from rpd_core.untrusted.files import read_bounded

Array = NDArray[Any]
_LARGEST = 2**26
_EPSILON, _CLIP = 1e-8, 10.0
"""What stable-baselines3 takes where nothing else is said."""


@dataclass(frozen=True)
class Normal:
    """Mean and spread of the observation."""

    mean: Array
    scale: Array
    clip: float

    def __call__(self, rows: Array) -> Array:
        """Return the rows in units of the spread, cut off at the clip."""
        scaled = np.clip((rows - self.mean) / self.scale, -self.clip, self.clip)
        return scaled.astype(np.float32)


def read_normal(path: Path) -> Normal:
    """Read `mean` and `var`, and `epsilon` and `clip_obs` if they are there, of an .npz file."""
    advice = "give an .npz with mean, var, epsilon and clip_obs of the VecNormalize"
    try:
        raw = read_bounded(path, Budget(_LARGEST), "check vecnormalize=")
        held = read_arrays(raw, ("mean", "var", "epsilon", "clip_obs"), Budget(_LARGEST))
        mean, variance = (held[name].astype(np.float64) for name in ("mean", "var"))
        epsilon, clip = (
            float(held[name].reshape(-1)[0]) if name in held else default
            for name, default in (("epsilon", _EPSILON), ("clip_obs", _CLIP))
        )
    except Flaw as error:
        raise SpecError(f"{file_name(path)}: {error}") from error
    except (KeyError, ValueError, IndexError, OSError) as error:
        raise SpecError(f"{file_name(path)} holds no statistics: {advice}") from error
    except SpecError:
        raise
    except Exception as error:  # a damaged zip makes zipfile raise anything
        raise SpecError(f"{file_name(path)} cannot be read: {advice}") from error
    square = variance + epsilon
    if mean.shape != variance.shape or not np.isfinite(mean).all() or not (square > 0).all():
        raise SpecError(f"{file_name(path)} holds no means and variances of one shape: {advice}")
    return Normal(mean, np.sqrt(square), clip)

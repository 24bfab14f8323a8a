"""What the pickles of stable-baselines3 may name: spaces, numbers, and what is ignored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rpd_core.untrusted.arrays import ARRAYS
from rpd_core.untrusted.boundary import Budget
from rpd_core.untrusted.pickles import AllowedNames, Holder, read_pickle, refuse

_SPACES = {
    "box.Box": "Box",
    "discrete.Discrete": "Discrete",
    "multi_discrete.MultiDiscrete": "MultiDiscrete",
    "multi_binary.MultiBinary": "MultiBinary",
    "dict.Dict": "Dict",
    "tuple.Tuple": "Tuple",
}
_RANDOM = (
    "numpy.random._pickle.__randomstate_ctor",
    "numpy.random._pickle.__generator_ctor",
    "numpy.random._pickle.__bit_generator_ctor",
    "numpy.random._generator.Generator",
    "numpy.random._mt19937.MT19937",
    "numpy.random._pcg64.PCG64",
    "numpy.random._pcg64.PCG64DXSM",
    "numpy.random.bit_generator.SeedSequence",
    "numpy.random.bit_generator.__pyx_unpickle_SeedSequence",
    "gym.utils.seeding.RandomNumberGenerator",
    "gym.utils.seeding.RandomNumberGenerator._generator_ctor",
    "gymnasium.utils.seeding.RandomNumberGenerator",
    "gymnasium.utils.seeding.RandomNumberGenerator._generator_ctor",
)
SETTINGS: dict[str, Any] = {
    **ARRAYS,
    **{name: Holder.of("ignored") for name in _RANDOM},
    **{
        f"{package}.spaces.{path}": Holder.of(kind)
        for path, kind in _SPACES.items()
        for package in ("gym", "gymnasium")
    },
}
"""What the settings of a model may name."""
STATISTICS = {
    **SETTINGS,
    "stable_baselines3.common.vec_env.vec_normalize.VecNormalize": Holder.of("VecNormalize"),
    "stable_baselines3.common.running_mean_std.RunningMeanStd": Holder.of("RunningMeanStd"),
}
"""What a file of normalisation statistics may name."""


def read(
    raw: bytes, budget: Budget, known: Mapping[str, Any] = SETTINGS, lenient: bool = False
) -> Any:
    """Return what a pickle holds, or raise `Refused` with the name of what it wanted.

    A lenient reading turns names that are not on the list into `Reference`s instead of refusing
    them; a pickle that goes on to call one is refused all the same.
    """
    names = AllowedNames(known, (lambda reference: reference) if lenient else refuse)
    return read_pickle(raw, names, budget)

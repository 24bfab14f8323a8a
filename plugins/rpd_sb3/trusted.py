"""A file loaded in full, with all the code it brings along: only if the user trusts it."""

from __future__ import annotations

from typing import Any

from rpd_core.errors import RpdError, one_line
from rpd_sb3.algorithms import algorithm_named, import_library, policy_reference, recognise
from rpd_sb3.archive import Archive
from rpd_sb3.building import Model, policy_arguments, saved_epsilon, saved_space

_SCHEDULES = ("learning_rate", "lr_schedule", "clip_range", "clip_range_vf", "exploration_schedule")


def load_in_full(archive: Archive, algo: str | None, extractor: str | None) -> Model:
    """Load a file as stable-baselines3 does; what the file pickles is executed.

    Schedules are left out: they serve training alone, and those of other Python versions may
    crash the interpreter.
    """
    reference = policy_reference(archive)
    algorithm = algorithm_named(algo) if algo else recognise(archive, reference, None)
    module, _, title = algorithm.target.partition(":")
    kind = getattr(import_library(module, algorithm), title)
    objects: dict[str, Any] = {name: _nothing for name in _SCHEDULES if name in archive.data}
    if extractor:
        objects |= _replacements(archive, extractor)
    try:
        try:
            model = kind.load(archive.path, device="cpu", custom_objects=objects)
        except ImportError:  # gym, or a module of the author's, is not here: use our reading
            objects |= _replacements(archive, extractor)
            model = kind.load(archive.path, device="cpu", custom_objects=objects)
    except RpdError:
        raise
    except Exception as error:  # the file may do and raise anything
        raise archive.error(f"{title}.load fails: {one_line(error)}") from error
    model.policy.set_training_mode(False)
    return Model(
        model.policy.eval(),
        algorithm,
        model.observation_space,
        model.action_space,
        saved_epsilon(archive),
        ("loaded in full",),
    )


def _nothing(progress: float) -> float:
    return 0.0


def _replacements(archive: Archive, extractor: str | None) -> dict[str, Any]:
    observation = saved_space(archive, "observation_space")
    kwargs, _ = policy_arguments(archive, observation, extractor)
    return {
        "observation_space": observation,
        "action_space": saved_space(archive, "action_space"),
        "policy_kwargs": kwargs,
    }

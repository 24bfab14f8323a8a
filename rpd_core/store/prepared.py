"""What abstractions and the default action have learned for a run, kept in its directory."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TypeVar

from rpd_core.config.configuration import Json, short_digest
from rpd_core.config.resolve import Setup
from rpd_core.errors import StoreError
from rpd_core.play import prepare
from rpd_core.play.recipe import Recipe
from rpd_core.plugin.chain import Chain
from rpd_core.plugin.protocols import InputFile, WorkItem
from rpd_core.store.directory import RunDirectory

T = TypeVar("T")

PREPARED = "prepared.json"
"""Where it is stored what abstractions and the default action have learned."""


def keep_prepared(directory: RunDirectory, learned: list[Json | None]) -> None:
    directory.write_json(PREPARED, prepare.sealed(learned))


def prepared_chain(directory: RunDirectory, chain: Chain) -> Chain | None:
    """Return abstractions with what they have learned for a run; None if it stores nothing."""
    return _restored(directory, lambda fitted: prepare.restore_fitted(chain, fitted))


def prepared_setup(directory: RunDirectory, setup: Setup) -> Setup | None:
    return _restored(directory, lambda fitted: with_learned(setup, fitted))


def with_learned(setup: Setup, fitted: list[Json | None]) -> Setup:
    chain = prepare.restore_fitted(setup.abstraction, fitted)
    default = prepare.restore_default(setup.default_action, len(chain.links), fitted)
    return dataclasses.replace(setup, abstraction=chain, default_action=default)


def _restored(directory: RunDirectory, restore: Callable[[list[Json | None]], T]) -> T | None:
    stored = directory.read_json(PREPARED)
    if stored is None:
        return None
    path = directory.path / PREPARED
    fitted = prepare.unsealed(stored, path)
    try:
        return restore(fitted)
    except (TypeError, ValueError) as error:
        raise StoreError(f"{str(path)!r} does not fit the abstraction ({error})") from error


def prepared_digest(directory: RunDirectory) -> str:
    """Return what tells apart runs whose abstractions have learned different states."""
    return short_digest(directory.read_json(PREPARED))


def fit_item(setup: Setup, recipe: Recipe, files: tuple[InputFile, ...]) -> WorkItem:
    return WorkItem(
        f"{setup.config.digest()}/prepare",
        prepare.perform_fit,
        (recipe, setup.config),
        "fitting the abstraction",
        files,
    )

"""What abstractions have learned for a run, kept in its directory."""

from __future__ import annotations

from rpd_core.config.identity import Json, short_digest
from rpd_core.config.resolve import Setup
from rpd_core.errors import StoreError
from rpd_core.play import prepare
from rpd_core.play.recipe import Recipe
from rpd_core.plugin.chain import Chain
from rpd_core.plugin.protocols import InputFile, WorkItem
from rpd_core.store.directory import RunDirectory

PREPARED = "prepared.json"
"""Where it is stored what abstractions have learned."""


def keep_prepared(directory: RunDirectory, learned: list[Json | None]) -> None:
    """Store what the abstractions of a run have learned."""
    directory.write_json(PREPARED, prepare.sealed(learned))


def prepared_chain(directory: RunDirectory, chain: Chain) -> Chain | None:
    """Return abstractions with what they have learned for a run; None if it stores nothing."""
    stored = directory.read_json(PREPARED)
    if stored is None:
        return None
    path = directory.path / PREPARED
    fitted = prepare.unsealed(stored, path)
    try:
        return prepare.restore_fitted(chain, fitted)
    except (TypeError, ValueError) as error:
        raise StoreError(f"{str(path)!r} does not fit the abstraction ({error})") from error


def prepared_digest(directory: RunDirectory) -> str:
    """Return what tells apart runs whose abstractions have learned different states."""
    return short_digest(directory.read_json(PREPARED))


def fit_item(setup: Setup, recipe: Recipe, files: tuple[InputFile, ...]) -> WorkItem:
    """Describe the work of fitting a run's abstractions."""
    return WorkItem(
        f"{setup.config.digest()}/prepare",
        prepare.perform_fit,
        (recipe, setup.config),
        "fitting the abstraction",
        files,
    )

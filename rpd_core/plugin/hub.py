"""Files of the Hugging Face hub: `hf:OWNER/REPO[@REVISION][/FILE]` -> a file in its local cache.

What a spec says is pinned to a commit when it is read, so that a stored spec names the same bytes
for ever. A commit that is in the cache needs no network.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from rpd_core.errors import SpecError, nearest, one_line

_FORM = re.compile(r"hf:([\w.-]+/[\w.-]+?)(?:@([\w.-]+))?(?:/(.+))?")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_BESIDE = (".data", ".json", ".npz", ".pkl", ".yml")
"""Endings of files that belong to a policy: weights, statistics, how it was trained."""
_LISTED = 12  # files that a message lists at most


@dataclass(frozen=True)
class _Source:
    repository: str
    revision: str
    file: str

    def __str__(self) -> str:
        return f"hf:{self.repository}@{self.revision}/{self.file}"


@lru_cache(maxsize=256)
def pinned(text: str, looks_like: str = "") -> str:
    """Return where a file is, with its commit, and with its name if there is one that it can be."""
    # `looks_like` is a regular expression of the names of the files that are wanted.
    source = _read(text)
    if _COMMIT.fullmatch(source.revision) and source.file:
        return str(source)
    commit, files, reached = _contents(source)
    name = source.file or _only(source, files, looks_like)
    if name not in files:
        hint = nearest(name, files) or f" It has {_listed(files)}."
        raise SpecError(f"{source.repository!r} on the hub has no file {name!r}.{hint}")
    found = _Source(source.repository, commit, name)
    if reached:
        _fetch(found)
    return str(found)


def local(text: str) -> Path:
    """Return a file in the cache of the hub, downloaded if it is not there."""
    source = _read(pinned(text))
    path = _folder(source) / "snapshots" / source.revision / source.file
    if not path.is_file():
        _fetch(source)
    return path.absolute()


def _fetch(source: _Source) -> None:
    """Download a file, and what a loader may look for beside it."""
    folder, slash, _ = source.file.rpartition("/")
    beside = [f"{folder}{slash}*{ending}" for ending in _BESIDE]
    try:
        _hub().snapshot_download(
            source.repository, revision=source.revision, allow_patterns=[source.file, *beside]
        )
    except SpecError:
        raise
    except Exception as error:  # of a network, a disk, or a repository that asks for a login
        raise _unreachable(source, error) from error


def _read(text: str) -> _Source:
    found = _FORM.fullmatch(text)
    if found is None or ".." in text.split("/"):
        raise SpecError(
            f"{text!r} is no file of the hub: write hf:OWNER/REPO or hf:OWNER/REPO/FILE"
        )
    repository, revision, file = found.groups(default="")
    return _Source(repository, revision or "main", file)


def _hub(module: str = "huggingface_hub") -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise SpecError("hf: needs huggingface_hub: pip install huggingface_hub") from error


def _contents(source: _Source) -> tuple[str, list[str], bool]:
    """Return commit and files of a revision, and whether the hub says so or only the cache."""
    hub = _hub()
    try:
        about = hub.HfApi().model_info(source.repository, revision=source.revision)
        return str(about.sha), [str(one.rfilename) for one in about.siblings], True
    except Exception as error:  # offline, or any failure of the network
        root = _folder(source)
        reference = root / "refs" / source.revision
        commit = reference.read_text("utf-8").strip() if reference.is_file() else source.revision
        snapshot = root / "snapshots" / commit
        if not (_COMMIT.fullmatch(commit) and snapshot.is_dir()):
            raise _unreachable(source, error) from error
        files = [path for path in sorted(snapshot.rglob("*")) if path.is_file()]
        return commit, [path.relative_to(snapshot).as_posix() for path in files], False


def _folder(source: _Source) -> Path:
    name = f"models--{source.repository.replace('/', '--')}"
    return Path(_hub("huggingface_hub.constants").HF_HUB_CACHE) / name


def _only(source: _Source, files: Sequence[str], looks_like: str) -> str:
    """Return the one file that is wanted; those that lie in folders count where none does not."""
    fitting = [name for name in files if looks_like and re.fullmatch(looks_like, name)]
    outer = [name for name in fitting if "/" not in name] or fitting
    if len(outer) == 1:
        return outer[0]
    raise SpecError(
        f"{source.repository!r} on the hub has {_listed(outer or files)}: name the file that is "
        f"meant, hf:{source.repository}/FILE"
    )


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:_LISTED])) or "none"
    return f"{shown}, ..." if len(names) > _LISTED else shown


def _unreachable(source: _Source, error: Exception) -> SpecError:
    return SpecError(
        f"{source.repository!r} can neither be had from the hub nor from its cache here "
        f"({one_line(error)[:200]}): check name, revision and network"
    )

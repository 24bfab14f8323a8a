"""Doing an item where it is: its files checked or delivered, its errors made portable."""

from __future__ import annotations

import dataclasses
import os
import pickle
import socket
import tempfile
import threading
import traceback
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from rpd_core.config.identity import file_digest
from rpd_core.errors import ComponentError, ExecutionError, RpdError, SpecError, one_line
from rpd_core.plugin.blame import unmet
from rpd_core.plugin.protocols import InputFile, Outcome, WorkItem
from rpd_core.untrusted.files import read_all


def input_files(paths: Iterable[Path]) -> tuple[InputFile, ...]:
    """Return files with the digest of what is in them now, each once."""
    unique = dict.fromkeys(Path(path).absolute() for path in paths)
    return tuple(InputFile(path, file_digest(path)) for path in unique)


def contents(files: Iterable[InputFile]) -> dict[str, bytes]:
    """Return what is in files, by digest, for an executor that ships them."""
    return {file.digest: read_all(file.path, "restore it") for file in files}


def deliver(shipped: Mapping[str, bytes]) -> None:
    """Keep shipped contents where work that runs in this process will find them."""
    for digest, content in shipped.items():
        path = _delivery_folder() / _folder_name(digest)
        if not path.is_file():
            temporary = path.with_name(f".{path.name}.{os.getpid()}")
            temporary.write_bytes(content)
            os.replace(temporary, path)


def missing(files: Iterable[InputFile]) -> tuple[InputFile, ...]:
    """Return the files that this machine does not have, neither in place nor delivered."""
    return tuple(file for file in files if _place(file) is None)


def _localised(argument: object, files: tuple[InputFile, ...]) -> object:
    """Return the argument of an item with the paths of its files as they are on this machine.

    A file counts as there if its content is what the item was made with. Those that were
    delivered are laid out as they were at home, because a loader may look for one beside another.
    """
    places = {file.path: _place(file) for file in files}
    lacking = [file for file in files if places[file.path] is None]
    if lacking:
        raise ExecutionError(_complaint(lacking[0]))
    if not files or all(path == place for path, place in places.items()):
        return argument
    return moved(argument, _laid_out(files))


def _place(file: InputFile) -> Path | None:
    """Find a file here: where it was at home, or among what was delivered."""
    for path in (file.path, _delivery_folder() / _folder_name(file.digest)):
        try:
            if file_digest(path) == file.digest:
                return path
        except SpecError:
            continue
    return None


def _complaint(file: InputFile) -> str:
    host = socket.gethostname()
    try:
        file_digest(file.path)
    except RpdError:
        return (
            f"the worker on {host} has no file {str(file.path)!r}: put it there, or use an "
            "executor that ships files"
        )
    return (
        f"{str(file.path)!r} on {host} is not the file that the run was started with "
        f"({file.digest[:19]}...): restore it, or start a new run"
    )


@lru_cache(maxsize=1)
def _delivery_folder() -> Path:
    holder = tempfile.TemporaryDirectory(prefix="rpd-files-")
    _holders.append(holder)  # removed when the process ends
    return Path(holder.name)


_holders: list[tempfile.TemporaryDirectory[str]] = []


def _folder_name(digest: str) -> str:
    return digest.replace(":", "-")


def _laid_out(files: tuple[InputFile, ...]) -> dict[Path, Path]:
    """Link delivered files into a folder of their own, under the names they have at home."""
    root = os.path.commonpath([file.path.parent for file in files])
    name = "-".join(sorted(_folder_name(file.digest)[7:19] for file in files))
    folder = _delivery_folder() / f"set-{name}"
    places = {}
    for file in files:
        target = folder / file.path.relative_to(root)
        target.parent.mkdir(parents=True, exist_ok=True)
        source = _place(file)
        if not target.exists() and source is not None:
            os.link(source, target)
        places[file.path] = target
    return places


def moved(value: object, places: Mapping[Path, Path]) -> Any:
    """Return a value, a dataclass or a tuple of such, with its paths replaced at any depth."""
    if isinstance(value, Path):
        return places.get(value.absolute(), value)
    if isinstance(value, tuple):
        return tuple(moved(item, places) for item in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {item.name: getattr(value, item.name) for item in dataclasses.fields(value)}
        changes = {
            name: changed
            for name, field in fields.items()
            if (changed := moved(field, places)) is not field
        }
        return dataclasses.replace(value, **changes) if changes else value
    return value


_working = threading.RLock()
"""Items of one process run one at a time: they share open environments."""


def perform(item: WorkItem, portable: bool = True) -> Outcome:
    """Do the work of an item in this process; a portable outcome survives the way to another."""
    with _working:
        try:
            return Outcome(item.identity, item.function(_localised(item.argument, item.files)))
        except (Exception, SystemExit) as raised:  # an environment may even call sys.exit
            error = _of_memory(raised) or raised
            return Outcome(item.identity, error=_portable(error) if portable else error)
        except KeyboardInterrupt as error:
            if not portable:  # somebody is at the keyboard of this process
                raise
            return Outcome(item.identity, error=_portable(error))  # and nobody at a worker's


def _of_memory(error: BaseException) -> MemoryError | None:
    """Return that memory ran out, where an error of an episode or a component comes from that.

    A file that asks for too much stays the file's own fault, which no other try mends.
    """
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, SpecError):
        if isinstance(cause, MemoryError):
            return cause if cause is error else MemoryError(one_line(error))
        cause = cause.__cause__
    return None


def _portable(error: BaseException) -> BaseException:
    """Return an error that survives the way to another process, with its traceback as a note."""
    needs = "" if isinstance(error, RpdError) else unmet(error)
    if needs:
        return ComponentError(f"this {needs}")
    if not isinstance(error, RpdError):
        error.add_note("".join(traceback.format_exception(error)))
    try:
        copy = pickle.loads(pickle.dumps(error))  # unusual constructors cannot be called again
        return error if type(copy) is type(error) else ExecutionError(one_line(error))
    except Exception:  # whatever a stranger's exception raises
        return ExecutionError(one_line(error))

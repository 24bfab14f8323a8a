"""Work items: done where they are, each result back exactly once, lost work tried again."""

from __future__ import annotations

import dataclasses
import os
import pickle
import socket
import tempfile
import threading
import traceback
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import cloudpickle

from rpd_core.config.configuration import file_digest
from rpd_core.errors import ComponentError, ExecutionError, RpdError, SpecError, one_line
from rpd_core.plugin.blame import unmet
from rpd_core.plugin.protocols import Engine, InputFile, Outcome, WorkItem
from rpd_core.plugin.specs import shortened
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
        path = _delivered(digest)
        if not path.is_file():
            temporary = path.with_name(f".{path.name}.{os.getpid()}")
            temporary.write_bytes(content)
            os.replace(temporary, path)


def _localised(argument: object, files: tuple[InputFile, ...]) -> object:
    """Return the argument of an item with the paths of its files as they are on this machine."""
    # A file counts as there if its content is what the item was made with. Those that were
    # delivered are laid out as they were at home, because a loader may look for one beside another.
    places = {file.path: _place(file) for file in files}
    for lacking in (file for file in files if places[file.path] is None):
        host = socket.gethostname()
        try:
            file_digest(lacking.path)
        except RpdError:
            raise ExecutionError(
                f"the worker on {host} has no file {str(lacking.path)!r}: put it there, or use an "
                "executor that ships files"
            ) from None
        raise ExecutionError(
            f"{str(lacking.path)!r} on {host} is not the file that the run was started with "
            f"({lacking.digest[:19]}...): restore it, or start a new run"
        )
    if not files or all(path == place for path, place in places.items()):
        return argument
    return moved(argument, _laid_out(files))


def _place(file: InputFile) -> Path | None:
    """Find a file here: where it was at home, or among what was delivered."""
    for path in (file.path, _delivered(file.digest)):
        try:
            if file_digest(path) == file.digest:
                return path
        except SpecError:
            continue
    return None


@lru_cache(maxsize=1)
def _delivery() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="rpd-files-")  # removed when the process ends


def _delivered(digest: str) -> Path:
    return Path(_delivery().name) / digest.replace(":", "-")


def _laid_out(files: tuple[InputFile, ...]) -> dict[Path, Path]:
    root = os.path.commonpath([file.path.parent for file in files])
    name = "-".join(sorted(file.digest[7:19] for file in files))
    folder = Path(_delivery().name) / f"set-{name}"
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


_working = threading.RLock()  # items of one process run one at a time: they share open environments


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
    """Return that memory ran out, where an error of an episode or a component comes from that."""
    # A file that asks for too much stays the file's own fault, which no other try mends.
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


RETRIES = 3  # how often work whose process died is tried again
_NAMED = 3  # items that a message names


class _Pending:
    """The queue that an engine takes from and lost work returns to."""

    def __init__(self, items: Iterable[WorkItem]) -> None:
        self._fresh = iter(items)
        self._next: WorkItem | None = None
        self.expected: dict[str, WorkItem] = {}
        """Items that were taken and have not come back, by identity."""
        self.taken: set[str] = set()  # those of them that an engine has now
        self.lost: deque[WorkItem] = deque()  # those of them that are to be tried again
        self.finished = 0  # items that have come back
        self._advance()

    def __bool__(self) -> bool:
        return bool(self.expected) or self._next is not None

    def _advance(self) -> None:
        self._next = next(self._fresh, None)
        if self._next is not None and self._next.identity in self.expected:
            raise ExecutionError("two items of work have the same identity")

    def take(self) -> WorkItem | None:
        item = self._next
        if item is not None:
            self.expected[item.identity] = item
            self._advance()
        elif self.lost:
            item = self.lost.popleft()
        else:
            return None
        self.taken.add(item.identity)
        return item

    def left(self) -> Iterator[WorkItem]:
        """Yield all items that have not come back; nothing can be taken any more."""
        yield from self.expected.values()
        while self._next is not None:
            yield self._next
            self._next = next(self._fresh, None)

    def returned(self, outcome: object) -> WorkItem:
        """Return the item behind an outcome; refuse one that was not asked for, or came twice."""
        if not isinstance(outcome, Outcome):
            raise ExecutionError(
                f"the executor returned {shortened(repr(outcome))}, which is not an Outcome: use "
                "another executor"
            )
        item = self.expected.get(outcome.identity)
        if item is None or outcome.identity not in self.taken:
            raise ExecutionError(
                f"the executor returned {outcome.identity!r}, which it was not given or had "
                "returned before: its results cannot be relied on; use another executor"
            )
        self.taken.discard(outcome.identity)
        return item


Handle = Callable[[WorkItem, Any], None]  # takes an item of work and the value that it gave


def run_items(engine: Engine, items: Iterable[WorkItem], handle: Handle) -> None:
    """Run all items and hand each result on as it comes; raise if one does not come back."""
    pending = _Pending(items)
    tries: Counter[str] = Counter()
    while pending:
        before = pending.finished, sum(tries.values())
        with _listening(engine.execute(pending)) as outcomes:
            for outcome in outcomes:
                item, error, lost = pending.returned(outcome), outcome.error, outcome.lost
                if isinstance(error, MemoryError):  # later, or elsewhere, there may be more
                    told = f"the worker process ran out of memory ({one_line(error)})"
                    error, lost = ExecutionError(told), True
                if lost:
                    tries[item.identity] = tried = tries[item.identity] + 1
                    if tried > RETRIES:
                        how = error or "the worker process died"
                        what = item.label or item.identity
                        raise ExecutionError(f"{how}, {tried} times, while doing {what}")
                    pending.lost.append(replace(item, attempt=tried))
                elif error is not None:
                    raise as_rpd_error(error)
                else:
                    del pending.expected[item.identity]
                    pending.finished += 1
                    handle(item, outcome.value)
        if pending.taken or before == (pending.finished, sum(tries.values())):
            raise ExecutionError(_not_returned(pending))


def _not_returned(pending: _Pending) -> str:
    left = pending.left()
    named = [item.label or item.identity for item in islice(left, _NAMED)]
    others = sum(1 for _ in left)
    more = f" and {others} more" if others else ""
    return (
        f"the executor ended without {', '.join(named)}{more}: what came back is stored; "
        "run the same command again, maybe with another --executor"
    )


@contextmanager
def _listening(outcomes: Iterator[Outcome]) -> Iterator[Iterator[Outcome]]:
    """Close the outcomes when nobody listens any more, so that the engine ends its work."""
    try:
        yield outcomes
    finally:
        if isinstance(outcomes, Generator):
            outcomes.close()


def as_rpd_error(error: BaseException) -> BaseException:
    """Explain errors of shipping work and attempts to end rpd; return all others as they are."""
    if isinstance(error, RpdError):
        return error
    if isinstance(error, SystemExit | KeyboardInterrupt):
        return ExecutionError(f"the policy or the environment wants to end rpd ({one_line(error)})")
    if isinstance(error, CannotShip):
        return ExecutionError(
            f"the work cannot be sent to other processes ({error}): use one worker, or name your "
            "function as python:module:attribute"
        )
    return error


class CannotShip(Exception):
    """Raised by an engine whose item cannot be pickled."""


def packed(item: WorkItem) -> bytes:
    """Return an item as bytes, or raise `CannotShip`."""
    # Functions and classes of a script or a notebook travel with their code: a worker process could
    # not import them.
    try:
        content: bytes = cloudpickle.dumps(item)
        return content
    except Exception as error:  # whatever a stranger's object raises while it is pickled
        raise CannotShip(one_line(error)) from error


def can_be_shipped(thing: object) -> bool:
    try:
        cloudpickle.dumps(thing)
    except Exception:
        return False
    return True

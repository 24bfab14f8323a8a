"""The one family of errors that rpd shows as a single line; anything else keeps its traceback."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

_LONGEST = 1000
"""Characters of a stranger's error that are shown."""


class RpdError(Exception):
    """Something its reader can mend: what is wrong, with which value, what to do now."""

    def __reduce__(self) -> tuple[object, ...]:
        """Survive the trip back from a worker process, whatever the subclass stores."""
        return _rebuild, (type(self), self.args, self.__dict__)


def _rebuild(kind: type[RpdError], args: tuple[object, ...], state: dict[str, object]) -> RpdError:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(state)
    return error


class SpecError(RpdError):
    """A spec string or a parameter in it does not fit."""


class ComponentError(RpdError):
    """A plugin or one of its components cannot be used."""


class ConfigError(RpdError):
    """A setting is out of range or contradicts another."""


class StoreError(RpdError):
    """A run directory cannot be read, written or continued."""


class FitError(RpdError):
    """A policy, an abstraction or a default action does not fit the environment."""


class EpisodeError(RpdError):
    """An environment or a policy misbehaved in the middle of an episode."""

    def __init__(self, message: str, position: int | None = None) -> None:
        super().__init__(message)
        self.position = position
        """Which episode of those that were played together; none where that is not known."""

    def add(self, more: str) -> None:
        """Add to the message, for example who was acting."""
        self.args = (f"{self.args[0]}{more}",)


class EvidenceError(RpdError):
    """The episodes cannot answer the question, for example because all of them passed."""


class NotOfferedError(EvidenceError):
    """The policy does not offer what a measure needs."""


class ExecutionError(RpdError):
    """Work was lost more often than it may be retried."""


def ends_rpd(error: BaseException) -> bool:
    """Return whether an exception is to end the program or its worker, whatever raised it.

    All else that comes out of an environment is the environment's, also what is no `Exception`.
    """
    ours = type(error).__module__.startswith("rpd_core.") and not isinstance(error, Exception)
    return isinstance(error, KeyboardInterrupt) or ours


class LaneError(Exception):
    """Raised by lanes when the environment of one lane fails; the loop adds the episode."""

    def __init__(self, lane: int, cause: BaseException) -> None:
        super().__init__(one_line(cause))
        self.lane = lane
        answered = isinstance(cause, WrongAnswerError)
        self.complaint = f"gave {cause}" if answered else f"raised {one_line(cause)}"


class WrongAnswerError(Exception):
    """Says what an environment gave, when it raised nothing but cannot go on from there."""


def nearest(word: object, words: Iterable[str]) -> str:
    """Return ' Did you mean ...?' with the closest of `words`, or nothing if none is close."""
    if not isinstance(word, str):
        return ""
    known = sorted(set(words))
    lowered = {name.lower(): name for name in reversed(known)}
    close = difflib.get_close_matches(word.lower(), list(lowered), n=1, cutoff=0.6)
    return f" Did you mean {lowered[close[0]]!r}?" if close else ""


def brief(value: object, most: int = 60) -> str:
    """Return what somebody gave as one line that is not long, whatever it is."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # of a stranger's object, or of a number with thousands of digits
        text = f"<{type(value).__name__}>"
    return text if len(text) <= most else f"{text[:most]}..."


def shell_word(path: object) -> str:
    """Return a path as it is typed in a command, in quotes where a shell needs them."""
    return shlex.quote(str(path))


def counted(number: int, one: str, several: str = "") -> str:
    """Return a number with its noun: `1 state`, `2 states`; `several` where it is no plain s."""
    return f"{number} {one if number == 1 else several or f'{one}s'}"


def one_line(error: BaseException) -> str:
    """Return an exception as one line of text, its type in front where it is not ours."""
    try:
        text = " ".join(str(error).split())
    except Exception:  # a stranger's exception may raise while it is put into words
        text = ""
    if isinstance(error, RpdError):
        return text
    text = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


_LISTED = 10_000
"""Entries of a folder that are looked through at most: a suggestion is not worth more."""


def files_called(value: str) -> Sequence[str]:
    """Return the files that have this name and an ending, written as the value is."""
    path = Path(value)
    names = [name for name in _beside(path) if path.name and Path(name).stem == path.name]
    return [f"{value.removesuffix(path.name)}{name}" for name in sorted(names)]


def nearest_file(path: Path) -> str:
    """Return ' Did you mean ...?' with the file beside a path whose name is closest, if any is."""
    close = difflib.get_close_matches(path.name, _beside(path), n=1, cutoff=0.7)
    return f" Did you mean {close[0]!r}?" if close else ""


def _beside(path: Path) -> list[str]:
    """Return the names of the files in a path's folder; none where it cannot be read."""
    try:
        entries = [entry for _, entry in zip(range(_LISTED), path.parent.iterdir(), strict=False)]
        return [entry.name for entry in entries if entry.is_file()]
    except (OSError, ValueError):
        return []

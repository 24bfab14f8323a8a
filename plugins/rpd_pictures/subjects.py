"""What can be drawn of a run, told once for Python, the command and their errors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict

from rpd_core.errors import ConfigError, nearest

if TYPE_CHECKING:
    from rpd_core.api import Guard
    from rpd_core.execute.progress import Note, Progress

_FIGURES = (".png", ".svg", ".pdf")
_FILMS = (".webp", ".mp4", ".gif")
_OF_EPISODES = ("episode", "keep", "find", "against", "frames", "trust_policy")


@dataclass(frozen=True)
class _Subject:
    """Something that can be drawn."""

    about: str
    """What is seen."""
    options: tuple[str, ...] = ()
    """What may be asked of it, by keyword; the options of the command have the same names."""
    suffixes: tuple[str, ...] = _FIGURES
    """How the file that it is written to may end; none: it is stored with the run."""
    plays: bool = False
    """Whether the policy plays episodes for it."""


class DrawOptions(TypedDict, total=False):
    """What can be asked of one or another subject, by keyword."""

    measure: str | Sequence[str]
    count: int
    pair: tuple[str, str] | None
    episode: str | None
    decision: str | None
    keep: float | None
    find: Literal["failing", "passing"] | None
    against: str
    frames: int
    trust_policy: bool
    workers: int
    executor: object
    progress: Progress | bool
    note: Note
    guard: Guard


SUBJECTS = {
    "curves": _Subject(
        "pruning curves: return against share of states and of steps, with 95 % bands",
        ("measure",),
    ),
    "scores": _Subject("scores by rank, a panel per measure", ("measure",)),
    "decisions": _Subject("the first decisions: losses with 95 % intervals", ("count",)),
    "map": _Subject("where it matters: the page's map, or losses over two variables", ("pair",)),
    "timeline": _Subject("when it matters: a typical episode, a bar for each step"),
    "barcode": _Subject("the same of forty episodes, one row each"),
    "proof": _Subject("how we know: return against overrides, with the confirmed policy"),
    "balance": _Subject("returns of the mutant episodes, passed and failed; the pilot's rates"),
    "film": _Subject(
        "an episode beside another policy, or with and without a decision",
        (*_OF_EPISODES, "decision"),
        _FILMS,
        plays=True,
    ),
    "trace": _Subject(
        "a traced episode, with a bar of losses running along below it",
        ("episode", "frames", "trust_policy"),
        _FILMS,
        plays=True,
    ),
    "path": _Subject(
        "the agent's path in an episode, as one picture",
        _OF_EPISODES,
        (".webp", ".png"),
        plays=True,
    ),
    "pictures": _Subject(
        "the first decisions, some of them filmed; stored with the run",
        ("trust_policy", "workers", "executor", "progress", "note", "guard"),
        (),
        plays=True,
    ),
}
NAMES = ", ".join(SUBJECTS)


def subject_of(name: str, options: Iterable[str] = ()) -> _Subject:
    """Return what a word stands for; refuse another word, and options that do not fit."""
    if name not in SUBJECTS:
        raise ConfigError(
            f"{name!r} cannot be drawn.{nearest(name, SUBJECTS)} Draw one of: {NAMES}"
        )
    known = {option for one in SUBJECTS.values() for option in one.options}
    for option in options:
        if option not in known:
            raise ConfigError(f"draw() has no argument {option!r}.{nearest(option, known)}")
        if option not in SUBJECTS[name].options:
            fitting = [one for one, subject in SUBJECTS.items() if option in subject.options]
            raise unfit(option, name, fitting)
    return SUBJECTS[name]


def unfit(option: str, name: str, fitting: Iterable[str]) -> ConfigError:
    """Return the error for an option that is for other subjects."""
    return ConfigError(
        f"--{option.replace('_', '-')} is for {' and '.join(fitting)}, not for {name}"
    )


def target_file(name: str, out: Path | None, default: str) -> Path:
    """Return the file to write; refuse one that cannot be written, before any work."""
    allowed = SUBJECTS[name].suffixes
    if not allowed:
        raise unfit("out", name, [one for one, subject in SUBJECTS.items() if subject.suffixes])
    path = out or Path(f"{default}{allowed[0]}")
    if path.suffix.lower() not in allowed:
        raise ConfigError(
            f"cannot write {str(path)!r}: its name must end in {', '.join(allowed[:-1])} or "
            f"{allowed[-1]}"
        )
    if not path.parent.is_dir():
        raise ConfigError(f"cannot write {str(path)!r}: there is no folder {path.parent}")
    return path

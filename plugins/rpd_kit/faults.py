"""In which scenes a component can be checked at all, and what to say where it is in none."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rpd_core.errors import FitError, RpdError, one_line
from rpd_core.plugin.chain import needs_of
from rpd_core.plugin.protocols import Facts
from rpd_kit.scenes import Scene

CheckIn = Callable[[Scene], Iterator[str]]


class Unchecked(str):
    """A line that says what the kit could not check, and what to do about it."""

    __slots__ = ()


class Refused(Exception):
    """The component says that it does not fit the scene, which is its right."""


class Faulty(Exception):
    """The component did something that leaves nothing to check."""


@contextmanager
def attempt(what: str) -> Iterator[None]:
    """Distinguish a refusal from a failure in something that a component does."""
    try:
        yield
    except Faulty:
        raise
    except FitError as error:
        raise Refused(one_line(error)) from error
    except Exception as error:  # a stranger's component may raise anything
        hint = "" if isinstance(error, RpdError) else "; raise FitError where it does not fit"
        raise Faulty(f"{what} raised {one_line(error)}{hint}") from error


def check_in_scenes(check: CheckIn, scenes: Sequence[Scene]) -> Iterator[str]:
    """Yield the faults found in all scenes that the component fits, each once with its scene."""
    seen: set[str] = set()
    refusals = []
    for scene in scenes:
        where = scene.facts.description or "the environment"
        faults = _faults_in(check, scene)
        if isinstance(faults, Refused):
            refusals.append(f"{where}: {faults}")
            continue
        for fault in faults:
            if fault not in seen:
                yield f"{fault} (in {where})"
            seen.add(fault)
    if len(refusals) == len(scenes):
        yield _unchecked(refusals)


def _faults_in(check: CheckIn, scene: Scene) -> list[str] | Refused:
    faults: list[str] = []
    try:
        for fault in check(scene):
            faults.append(fault)
    except Refused as refused:
        if not faults:
            return refused
        faults.append(f"refused after it had worked: {refused}")
    except Faulty as faulty:
        faults.append(str(faulty))
    except Exception as error:
        faults.append(f"raised {one_line(error)}")
    return faults


def _unchecked(refusals: list[str]) -> Unchecked:
    """Name the refusal that says most: one that is not about a view that is missing."""
    told = [refusal for refusal in refusals if _MISSING not in refusal]
    reason = (told or refusals)[-1]
    if len(refusals) == 1:
        return Unchecked(f"does not fit {reason}")
    return Unchecked(
        f"fits none of the kit's {len(refusals)} environments, so nothing it does was checked: "
        "give it one of its own with check-plugin --env SPEC, or environment=... in a test "
        f"({reason})"
    )


_MISSING = "needs the view"


def require_views(
    component: object, scene: Scene, offered: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """Return the views that a component needs; one that the scene lacks counts as a refusal.

    `offered` are those that come from elsewhere.
    """
    stated = getattr(component, "needs", ())
    if isinstance(stated, str) or not all(isinstance(name, str) for name in stated):
        raise Faulty(f"its needs must be a tuple of names, got {stated!r}")
    for name in needs_of(component):
        if name not in (*scene.facts.views, *offered):
            raise Refused(f"it {_MISSING} {name!r}")
    return needs_of(component)


def at_work(
    recipe: object, start: Callable[[Facts], Any], what: str, scene: Scene
) -> tuple[Any, tuple[str, ...]]:
    """Return what a recipe makes of the scene's facts, and the views that either of them needs."""
    needs = require_views(recipe, scene)
    with attempt(what):
        made = start(scene.facts)
    return made, tuple(dict.fromkeys((*needs, *require_views(made, scene))))


def check_pickling(thing: object, before: str = "") -> Iterator[str]:
    """Check that a component survives the way to a worker; `before` names what it went through."""
    try:
        if pickle.loads(pickle.dumps(thing)) != thing:
            yield f"is not equal to itself after {before and f'{before} and '}pickling"
    except Exception as error:  # a stranger's component may raise anything
        yield f"cannot be pickled{before and f' after {before}'}: {one_line(error)}"

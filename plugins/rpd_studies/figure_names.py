"""Names of figures: which there are, what they are called in tables, how they are written."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rpd_studies.results import Spread

_SHARE = re.compile(r"(states|steps|episode_steps)\d.*|policy\d+\.(states|steps)|passed|top10")
_PLAIN = {
    "return": "return",
    "default_everywhere": "return by default everywhere",
    "reference": "reference",
    "passed": "passed",
    "states": "states",
    "mutation_rate": "mutation rate",
    "listed": "decisions listed",
    "matter": "decisions that matter",
    "top10": "top 10 that comes back",
}
_TARGETED = re.compile(
    r"(?P<kind>states|steps|episode_steps)(?P<percent>90|50)\.(?P<ranking>.+)"
    r"|policy(?P<kept>90|50)\.(?P<figure>kept|states|steps)"
)
_KINDS = {"states": "states", "steps": "steps", "episode_steps": "steps per episode"}
USUAL = {
    "answer": (
        "return", "policy90.kept", "policy90.states", "policy90.steps",
        "states90.portfolio", "steps90.portfolio",
    ),
    "sweep": (
        "return", "states90.portfolio", "states90.random", "steps90.portfolio", "steps90.random",
        "states50.portfolio", "states50.random", "steps50.portfolio", "steps50.random",
    ),
}  # fmt: skip
"""Figures that tables show where nobody says which, by how far the runs go."""


def is_figure(name: str) -> bool:
    """Return whether a figure may have this name."""
    return name in _PLAIN or _TARGETED.fullmatch(name) is not None


def examples() -> tuple[str, ...]:
    """Return names of figures to choose from."""
    return (*_PLAIN, *dict.fromkeys(name for some in USUAL.values() for name in some))


def heading(name: str) -> str:
    """Return what a figure is called at the top of a column."""
    found = _TARGETED.fullmatch(name)
    if found is None:
        return _PLAIN.get(name, name)
    if found["figure"]:
        of = {"kept": "states kept", "states": "states", "steps": "steps"}[found["figure"]]
        return f"policy for {found['kept']} %: {of}"
    return f"{_KINDS[found['kind']]} for {found['percent']} %: {found['ranking']}"


def written(name: str, spread: Spread | None, interval: bool = False) -> str:
    """Return a figure over seeds: `31.0 ± 2.5`, shares in percent, targets missed counted.

    An interval of a share ends at 0 and at 100, which none can pass.
    """
    if spread is None:
        return "–"
    if spread.never == spread.seeds:
        return "never"
    scale = 100.0 if _SHARE.fullmatch(name) else 1.0
    text = _number(scale * spread.mean, scale)
    if spread.std is not None:
        text += f" ± {_number(scale * spread.std, scale)}"
    if interval and spread.low is not None and spread.high is not None:
        ends = [scale * end for end in (spread.low, spread.high)]
        if scale > 1:
            ends = [min(max(end, 0.0), scale) for end in ends]
        text += f" [{_number(ends[0], scale)}, {_number(ends[1], scale)}]"
    return f"{text} (never: {spread.never} of {spread.seeds})" if spread.never else text


def _number(value: float, scale: float) -> str:
    return f"{value:.1f}" if scale > 1 else f"{value:.4g}"

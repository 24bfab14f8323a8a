"""How we know: what less and less of the policy returns, and what was confirmed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.plugin.protocols import Circle, Drawing, Line, Text
from rpd_core.plugin.protocols.panel import Point, Shape
from rpd_core.pruning.curves import mean_curve
from rpd_core.results.words import percent

if TYPE_CHECKING:
    from rpd_core.pruning.curves import Curve
    from rpd_core.results.records import Summary
    from rpd_core.results.run import Run

_WIDTH, _HEIGHT = 560.0, 330.0
_LEFT, _RIGHT, _TOP, _BELOW = 52.0, 14.0, 22.0, 44.0
_SPAN = (-0.1, 1.1)
"""Shares of the return that are shown; what lies beyond is drawn at the edge."""
_NAMES = {"random states": 52.0, "where the policy minds most": 190.0}
"""Where the names of dashed lines begin, above all lines."""


@dataclass(frozen=True)
class _Sheet:
    """Where shares lie on the paper."""

    most: float
    """The largest share of steps."""

    def at(self, steps: float, share: float) -> Point:
        """Return the place of a share of steps and a share of the return."""
        low, high = _SPAN
        inside = min(max(share, low), high)
        x = _LEFT + (_WIDTH - _LEFT - _RIGHT) * min(steps / self.most, 1.0)
        return x, _TOP + (_HEIGHT - _TOP - _BELOW) * (high - inside) / (high - low)


def proof_drawing(run: Run) -> Drawing | None:
    """Draw the path of minimising beside random states and default-gap; None: nothing is met."""
    summary, policy = run.summary, run.summary.policy
    if policy is None or not policy.met:
        return None
    random = [mean_curve("random", run.random_curves)] if run.random_curves else []
    gap = [run.curves["default-gap"]] if "default-gap" in run.curves else []
    sheet = _Sheet(max(policy.overrides_whole, policy.overrides, 0.01))
    shapes: list[Shape] = [*_frame(sheet, run.target)]
    for curves, dashes, words in ((random, (2.0, 4.0), "random states"),
                                  (gap, (7.0, 4.0), "where the policy minds most")):  # fmt: skip
        for curve in curves:
            shapes += _line(sheet, _points(summary, curve), "soft", 1.6, dashes, words)
    path = [(one.overrides, one.share) for one in policy.front]
    path = [*path, (policy.overrides, policy.share)]
    whole = [(policy.overrides_whole, 1.0)]
    shapes += _line(sheet, [*whole, *path], "policy", 2.6, (), "")
    shapes += _confirmed(sheet, policy.overrides, policy.share, policy.share_bound)
    return Drawing(_WIDTH, _HEIGHT, tuple(shapes), _label(summary))


def _label(summary: Summary) -> str:
    policy = summary.policy
    assert policy is not None
    return (
        "Share of the return against the share of steps at which the policy overrides the default "
        f"action: the confirmed policy overrides {percent(policy.overrides)} and keeps "
        f"{percent(policy.share)}, the whole one overrides {percent(policy.overrides_whole)}"
    )


def _points(summary: Summary, curve: Curve) -> list[Point]:
    zero, whole = summary.original.reference, summary.original.return_mean
    shares = (curve.mean_return - zero) / max(whole - zero, 1e-12)
    order = np.argsort(curve.override_shares, kind="stable")
    return [(float(curve.override_shares[at]), float(shares[at])) for at in order]


def _frame(sheet: _Sheet, target: float) -> Iterator[Shape]:
    for share in (0.0, 0.5, 1.0):
        (x, y), (end, _) = sheet.at(0, share), sheet.at(sheet.most, share)
        yield Line(((x, y), (end, y)), "line")
        yield Text((x - 6, y + 4), percent(share), 11, "end", "soft")
    (x, y), (end, _) = sheet.at(0, target), sheet.at(sheet.most, target)
    yield Line(((x, y), (end, y)), "default", 1.2, (5.0, 3.0))
    yield Text((x + 4, y - 5), f"target {percent(target)}", 11, "start", "default")
    for part in (0.0, 0.25, 0.5, 0.75, 1.0):
        x, _ = sheet.at(part * sheet.most, 0.0)
        words = percent(part * sheet.most)
        yield Text((min(x, _WIDTH - 22), _HEIGHT - 26), words, 11, "middle", "soft")
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    words = "of the steps overridden by the policy"
    yield Text((middle, _HEIGHT - 8), words, 11, "middle", "soft")
    yield Text((12, (_HEIGHT - _BELOW) / 2), "share of the return", 11, "middle", "soft",
               upright=True)  # fmt: skip


def _line(
    sheet: _Sheet, points: Sequence[Point], colour: str, width: float,
    dashes: tuple[float, ...], words: str,
) -> Iterator[Shape]:  # fmt: skip
    places = tuple(sheet.at(*one) for one in points)
    if len(places) > 1:
        yield Line(places, colour, width, dashes)
    if words and places:
        left = _NAMES[words]
        yield Line(((left, 10), (left + 28, 10)), colour, width, dashes)
        yield Text((left + 34, 14), words, 11, fill=colour)


def _confirmed(sheet: _Sheet, steps: float, share: float, bound: float | None) -> Iterator[Shape]:
    x, y = sheet.at(steps, share)
    if bound is not None:
        _, low = sheet.at(steps, bound)
        yield Line(((x, y), (x, low)), "ink", 2.0)
        yield Line(((x - 5, low), (x + 5, low)), "ink", 2.0)
    yield Circle((x, y), 6.5, "paper", "policy", 2.6)
    words = f"{percent(steps)} of the steps keep {percent(share)}"
    more = "" if bound is None else f" (at least {percent(bound)})"
    left = x < _WIDTH / 2
    yield Text((x + (12 if left else -12), y + 34), words + more, 12, "start" if left else "end",
               "policy", bold=True)  # fmt: skip

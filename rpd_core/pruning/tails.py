"""How likely a mean is by chance: tail probabilities that hold for skewed returns, too.

Most episodes of a pruned policy end well and a few end badly, and where few of the bad ones were
seen, mean and spread are both too good: a t-test at one in a thousand is then wrong one time in a
hundred. So the episodes are weighed such that their mean is what the hypothesis says (exponential
tilting, which for passed-or-failed returns is the exact null distribution), and the chance of the
observed mean under these weights is read off their cumulants (saddlepoint approximation). The
t-test counts, too, and the larger chance is taken. What cannot be read off a sample at all is a
loss that it does not contain; for lower bounds one more episode that loses everything is added,
which for passed-or-failed returns gives the exact bound (no failure in n: the rule of three).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.analysis.intervals import t_tail, upper_tail

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import FloatArray

_ROUNDS = 200
_STEPS = 40
"""Halvings: a bound is known to a part in 2**40."""
_CLOSE = 1e-12


def exceeds(
    values: FloatArray, level: float, variance: float = 0.0, unseen: float | None = None
) -> bool:
    """Return whether the mean of what is sampled is above 0, wrongly with at most this chance.

    `variance` is that of something with mean 0 that was added to the observed mean. `unseen` is a
    value that counts as if it had been seen once more: what is rare may not have happened yet.
    """
    return chance_above(values, variance, unseen, level) <= level


def chance_above(
    values: FloatArray, variance: float = 0.0, unseen: float | None = None, most: float = 0.5
) -> float:
    """Return the chance of so large a mean if what is sampled had the mean 0; see `exceeds`.

    Beyond `most`, what the t-test says is enough.
    """
    mean, count = float(values.mean()), len(values)
    error = float(np.sqrt(values.var(ddof=1) / count + variance))
    if error <= _CLOSE * max(abs(mean), 1.0):
        by_spread = 0.0 if mean > _CLOSE else 1.0
    else:
        by_spread = t_tail(mean / error, count - 1)
    if by_spread > most or by_spread >= 0.5:
        return by_spread
    if unseen is not None:
        values = np.append(values, unseen)
    return max(by_spread, tilted_chance(values, variance))


def tilted_chance(values: FloatArray, variance: float = 0.0, count: float | None = None) -> float:
    """Return the chance of so large a mean, above 0, if the true mean were 0.

    It is 0 where no value is below 0: then no weights make the mean 0. `count` is how many values
    these stand for, where that is not their number.
    """
    if values.min() >= 0:
        return 0.0
    if values.mean() <= 0:
        return 0.5
    count, mean = len(values) if count is None else count, float(values.mean())
    tilt = _solve(lambda at: _cumulant(values, at)[1:], 0.0, -1 / float(np.abs(values).max()))
    base = _cumulant(values, tilt)[0]
    saddle = -tilt
    if variance:

        def beyond(at: float) -> tuple[float, float]:
            _, middle, spread = _cumulant(values, tilt + at)
            return middle + count * variance * at - mean, spread + count * variance

        saddle = _solve(beyond, -tilt, -tilt / 2)
    value, _, spread = _cumulant(values, tilt + saddle)
    exponent = saddle * mean - (value - base) - count * variance * saddle**2 / 2
    root = float(np.sqrt(max(2 * count * exponent, 0.0)))
    width = count * saddle * float(np.sqrt(spread / count + variance))
    if root < 1e-6 or width <= 0:
        return 0.5
    return float(upper_tail(np.asarray(root + float(np.log(width / root)) / root)))


def _cumulant(values: FloatArray, at: float) -> tuple[float, float, float]:
    """Return the cumulant generating function of a sample at a place, and two derivatives."""
    exponents = at * values
    top = float(exponents.max())
    weights = np.exp(exponents - top)
    total = float(weights.sum())
    mean = float(weights @ values) / total
    spread = float(weights @ (values - mean) ** 2) / total
    return top + float(np.log(total / len(values))), mean, spread


def _solve(rising: Callable[[float], tuple[float, float]], above: float, step: float) -> float:
    """Return where a rising function, told with its slope, is 0, below where it is positive.

    Newton's steps, and halves of what is left where these would leave it.
    """
    low, high = above + step if step < 0 else above - step, above
    for _ in range(_ROUNDS):
        value, slope = rising(low)
        if value <= 0:
            break
        low, high = low - 2 * (above - low), low
    at = low
    for _ in range(_ROUNDS):
        move = value / slope if slope > 0 else np.inf
        if value == 0 or abs(move) <= 1e-10 * max(abs(low), abs(high)):
            break
        at = at - move if low < at - move < high else (low + high) / 2
        value, slope = rising(at)
        low, high = (at, high) if value <= 0 else (low, at)
        if high - low <= 1e-10 * max(abs(low), abs(high)):
            break
    return at


def furthest(
    holds: Callable[[float], bool], inside: float, reach: float, halvings: int = _STEPS
) -> float:
    """Return where a statement begins to hold, going from `inside` by `reach` and on if need be."""
    end = inside + reach
    for _ in range(_ROUNDS):
        if holds(end):
            break
        inside, end, reach = end, end + 2 * reach, 2 * reach
    else:
        return float(np.copysign(np.inf, reach))
    for _ in range(halvings):
        middle = (inside + end) / 2
        if holds(middle):
            end = middle
        else:
            inside = middle
    return end


def at_least(reach: float, scale: float) -> float:
    """Return a reach that is not 0, also where there is no spread to give one."""
    return max(reach, 1e-9 * max(abs(scale), 1.0))

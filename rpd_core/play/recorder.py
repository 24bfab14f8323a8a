"""From steps to a suite, and to a trace: what happened in a chunk of episodes, as columns."""

from __future__ import annotations

import numpy as np
from gymnasium.spaces import Discrete

from rpd_core.play.actions import default_gap
from rpd_core.play.deciders import Coin
from rpd_core.play.entry_names import Relation, relation_of
from rpd_core.play.loop import Keep, Plan, Player, Step
from rpd_core.plugin.chain import links_of
from rpd_core.plugin.protocols import Episodes, States, Suite, Trace, Visits
from rpd_core.plugin.protocols.arrays import Array, Batch, BoolArray, FloatArray, IntArray, KeyArray
from rpd_core.plugin.wording import order_of_parts

_GRID = 2.0**20
_RECENT = 2**18
_ROOM = 2**12  # rows that a column has room for at first
_WORD = 63  # bits of a number that sorts as it should


def play_suite(player: Player, plan: Plan, keep: Keep) -> Suite:
    recorder = recorder_for(player)
    return recorder.suite(player.play(plan, keep, recorder), plan, keep)


def recorder_for(player: Player, preferences: bool = True) -> Recorder:
    """Return what collects the steps of episodes, with what the policy prefers or without."""
    space = player.facts.action_space
    return Recorder(space, relation_of(links_of(player.abstraction), space), preferences)


class _Rows:
    """Rows that come a few at a time, in columns that grow by doubling."""

    def __init__(self) -> None:
        self.count = 0
        self.columns: dict[str, Array] = {}

    def add(self, rows: dict[str, Array], count: int) -> None:
        start, self.count = self.count, self.count + count
        for name, column in rows.items():
            whole = self.columns.get(name)
            if whole is None or self.count > len(whole):  # room for twice as many
                dtype = column.dtype if whole is None else whole.dtype
                longer = np.empty((max(2 * self.count, _ROOM), *column.shape[1:]), dtype)
                if whole is not None:
                    longer[:start] = whole[:start]
                whole = self.columns[name] = longer
            whole[start : self.count] = column

    def between(self, first: int, end: int) -> dict[str, Array]:
        """Return the steps of the episodes from one position of the plan to before another."""
        columns = {name: whole[: self.count] for name, whole in self.columns.items()}
        mine = (columns["position"] >= first) & (columns["position"] < end)
        if mine.all():
            return columns
        rows = np.flatnonzero(mine)  # taken faster than by truth values
        return {name: whole.take(rows, axis=0) for name, whole in columns.items()}


class _SeenStates:
    """Numbers states in the order in which their keys are first seen, and keeps their values."""

    def __init__(self) -> None:
        self.numbers: dict[int, int] = {}
        self.values: list[Array] = []
        self.recent = np.zeros(_RECENT, dtype=np.uint64)
        """Keys seen lately, by their last bits: spares most look-ups in `numbers`."""
        self.recent[0] = 1  # not the key 0, which has not been seen
        self.recent_numbers = np.zeros(_RECENT, dtype=np.int64)

    def number(self, keys: KeyArray, values: Array) -> IntArray:
        slots = (keys & np.uint64(_RECENT - 1)).view(np.int64)  # taken faster than unsigned ones
        found: IntArray = self.recent_numbers.take(slots)
        unsure = np.flatnonzero(self.recent.take(slots) != keys)
        for row, key in zip(unsure.tolist(), keys[unsure].tolist(), strict=True):
            number = self.numbers.setdefault(key, len(self.values))
            if number == len(self.values):
                self.values.append(np.array(values[row]))
                self.recent[slots[row]], self.recent_numbers[slots[row]] = key, number
            found[row] = number
        return found

    def by_key(self, numbers: IntArray) -> tuple[KeyArray, Array, IntArray, IntArray]:
        """Return the keys of the states in some rows in ascending order, their values, how many
        rows each has, and its place for each row."""
        counts = np.bincount(numbers)
        there = np.flatnonzero(counts)
        keys = np.array(list(self.numbers), dtype=np.uint64)[there]
        order = np.argsort(keys)
        places = np.empty_like(counts)
        places[there[order]] = np.arange(len(order))
        values = np.stack([self.values[number] for number in there[order].tolist()])
        return keys[order], values, counts[there[order]], places[numbers]


class Recorder:
    """Collects the steps of a chunk; its memory grows with the chunk, not with the suite."""

    def __init__(
        self, action_space: object, relation: Relation | None = None, preferences: bool = True
    ) -> None:
        self.space, self.relation, self.preferences = action_space, relation, preferences
        self.actions = self.start = 0
        if isinstance(action_space, Discrete):
            self.actions, self.start = int(action_space.n), int(action_space.start)
        self.rows = _Rows()
        self.seen = _SeenStates()

    def __call__(self, step: Step) -> None:
        differed = step.differed
        rows: dict[str, Array] = {
            "position": step.position.astype(np.int32),
            "number": step.number.astype(np.int32),
            "kept": step.kept,
            "differed": differed,
            "return_before": step.return_before,
            "state": self.seen.number(step.keys, step.values).astype(np.int32),
        }
        if differed is not step.overrides:
            rows["overrides"] = step.overrides
        rows |= {name: given.take(step.lanes, axis=0) for name, given in self._given(step).items()}
        self.rows.add(rows, len(differed))

    def _given(self, step: Step) -> dict[str, Array]:
        choice = step.choice
        given = {"action": choice.actions, "default": step.default}
        if self.relation is not None:
            seen = step.observations
            held = seen if isinstance(seen, dict) else {"": seen}
            given |= {_SEEN + name: part for name, part in held.items()}
        if not self.preferences:
            return given
        values, chances = choice.action_values, choice.probabilities
        preferences = (
            None if values is None else value_gap(values),
            None if chances is None else entropy(chances),
            default_gap(choice, step.default, self.space),
        )
        named = zip(_PREFERENCES, preferences, strict=True)
        return given | {name: column for name, column in named if column is not None}

    def suite(self, episodes: Episodes, plan: Plan, keep: Keep, first: int = 0) -> Suite:
        """Reduce the steps of episodes, of a plan from a position on, to visits and states."""
        columns = self.rows.between(first, first + len(episodes))
        if self.relation is not None:  # actions are counted as the abstraction tells them
            seen = _batch(columns)
            for name in ("action", "default"):
                columns[name] = self.relation(seen, columns[name])
        keys, values, counts, state = self.seen.by_key(columns["state"])
        order, groups = grouped(columns["position"].astype(np.int64) * len(keys) + state)
        starts = np.flatnonzero(np.r_[True, groups[1:] != groups[:-1]])
        row = order[starts]
        visited, mutated = state[row], ~columns["kept"][row]
        differed = overrides = _counted(columns["differed"][order], starts)
        if "overrides" in columns:
            overrides = _counted(columns["overrides"][order], starts)
        # where no coin is thrown, the chance of mutation is 0 or 1
        rates = keep.rates(keys[visited]) if isinstance(keep, Coin) else mutated
        visits = Visits(
            episode=plan.index[columns["position"][row]],
            key=keys[visited],
            mutated=mutated,
            mutation_rate=np.broadcast_to(rates, len(row)).astype(np.float64),
            first_step=columns["number"][row].astype(np.int64),
            count=np.diff(np.r_[starts, len(order)]),
            return_before=columns["return_before"][row],
            differed=differed,
            differed_first=columns["differed"][row],
            overrides=overrides,
        )
        first_row = np.zeros(len(keys), dtype=np.int64)
        # Visits are ordered by episode; of several for one state, the last one written stays.
        first_row[visited[::-1]] = np.arange(len(visited))[::-1]
        states = States(
            key=keys,
            value=values,
            first_episode=visits.episode[first_row],
            first_step=visits.first_step[first_row],
            visits=counts,
            **self._sums(state, columns, len(keys)),
        )
        return Suite(episodes, visits, states)

    def _sums(self, state: IntArray, columns: dict[str, Array], count: int) -> dict[str, Array]:
        sums: dict[str, Array] = {
            name: _sums(state, columns.get(name), count) for name in _PREFERENCES
        }
        sums["choices"] = self._choices(state, columns["action"], count)
        sums["default_choices"] = self._choices(state, columns["default"], count)
        for name in ("action", "default"):
            entries = [] if self.actions else list(_rows(columns[name]).T)
            for what, power in (("sum", 1), ("squares", 2)):
                parts = [_sums(state, entry**power, count) for entry in entries]
                sums[f"{name}_{what}"] = np.stack(parts, 1) if parts else np.zeros((count, 0))
        return sums

    def _choices(self, state: IntArray, actions: Array, count: int) -> IntArray:
        if not self.actions:
            return np.zeros((count, 0), dtype=np.int64)
        cell = state * self.actions + (actions - self.start)
        counted = np.bincount(cell, minlength=count * self.actions)
        return counted.reshape(count, self.actions).astype(np.int64)


_SEEN = "seen "  # what columns of observations begin with
_PREFERENCES = ("value_gap", "entropy", "default_gap")  # columns of what a policy prefers


def _batch(columns: dict[str, Array]) -> Batch:
    parts = {
        name.removeprefix(_SEEN): part for name, part in columns.items() if name.startswith(_SEEN)
    }
    return parts.get("", parts)


def _counted(flags: BoolArray, starts: IntArray) -> IntArray:
    return np.asarray(np.add.reduceat(flags.astype(np.int64), starts))


def grouped(group: IntArray) -> tuple[IntArray, IntArray]:
    """Return the order that brings rows of equal groups together, and the groups in that order."""
    # Rows of one group keep their order. Where group and row fit one number, sorting numbers is
    # many times faster than sorting places.
    bits = len(group).bit_length()
    if int(group.max(initial=0)).bit_length() + bits > _WORD:
        order = np.argsort(group, kind="stable")
        return order, group[order]
    joined = np.sort((group << bits) | np.arange(len(group)))
    return joined & ((1 << bits) - 1), joined >> bits


def _sums(state: IntArray, column: Array | None, count: int) -> FloatArray:
    if column is None:
        return np.full(count, np.nan)
    # On a grid of 2**-20 float sums are exact (below 2**33), so that they do not depend on how
    # episodes are cut into chunks.
    on_grid = np.round(column.astype(np.float64) * _GRID) / _GRID
    return np.bincount(state, weights=on_grid, minlength=count).astype(np.float64, copy=False)


def value_gap(action_values: Array) -> FloatArray:
    """Return best minus worst value of each row, of the actions that have a finite one."""
    values = np.asarray(action_values, dtype=np.float64)
    finite = np.isfinite(values)
    if finite.all():
        return np.asarray(values.max(axis=1) - values.min(axis=1))
    best = np.where(finite, values, -np.inf).max(axis=1)
    worst = np.where(finite, values, np.inf).min(axis=1)
    return np.asarray(np.where(finite.any(axis=1), best - worst, 0.0))


def entropy(probabilities: Array) -> FloatArray:
    """Return the entropy of each row in nats; an impossible action adds nothing."""
    p = np.asarray(probabilities, dtype=np.float64)
    logs = np.log(p, out=np.zeros_like(p), where=p > 0)
    return np.asarray(-(p * logs).sum(axis=1))


LONGEST = 3000  # steps of an episode that are kept; those behind them are left out
WIDEST = 64
"""Entries of a vector observation that is kept; nothing is kept of a longer one, or a picture."""


class Tracer:
    """Collects every step of the episodes from one position of a plan to before another."""

    def __init__(self, action_space: object, first: int, end: int) -> None:
        self.first, self.end = first, end
        self.start = int(action_space.start) if isinstance(action_space, Discrete) else 0
        self.columns: dict[str, list[Array]] = {}
        self._lanes: IntArray = np.zeros(0, dtype=np.int64)  # lanes whose present step is kept

    def __call__(self, step: Step) -> None:
        mine = (step.position >= self.first) & (step.position < self.end)
        rows = np.flatnonzero(mine & (step.number < LONGEST))
        self._lanes = lanes = step.lanes[rows]
        told = {
            "position": step.position,
            "step": step.number,
            "key": step.keys,
            "kept": step.kept,
            "override": step.overrides,
        }
        given = {
            "policy": _rows(step.choice.actions) - self.start,
            "default": _rows(step.default) - self.start,
            "observation": _vectors(step.observations, len(step.default)),
        }
        self._add({name: column.take(rows) for name, column in told.items()})
        self._add({name: column.take(lanes, axis=0) for name, column in given.items()})

    def watch(self, rewards: FloatArray) -> None:
        self._add({"reward": rewards[self._lanes]})
        self._lanes = self._lanes[:0]

    def _add(self, row: dict[str, Array]) -> None:
        for name, column in row.items():
            self.columns.setdefault(name, []).append(column)

    def trace(self, plan: Plan) -> Trace:
        """Return the steps, those of an episode together and in their order."""
        columns = {name: np.concatenate(parts) for name, parts in self.columns.items()}
        position = columns.pop("position")
        order, _ = grouped(position)
        taken = {name: column[order] for name, column in columns.items()}
        return Trace(episode=plan.index[position[order]], **taken)


def _rows(actions: Array) -> FloatArray:
    return np.asarray(actions.reshape(len(actions), -1), dtype=np.float64)


def _vectors(observations: Batch, lanes: int) -> Array:
    """Return observations that are short vectors; of others, rows without entries."""
    held = observations if isinstance(observations, dict) else {"": observations}
    parts = [held[name] for name in sorted(held, key=order_of_parts)]
    numbers = all(part.dtype.kind in "biuf" and part.ndim <= 2 for part in parts)
    if not numbers or not 0 < sum(part[0].size for part in parts) <= WIDEST:
        return np.zeros((lanes, 0), dtype=np.float32)
    return np.concatenate([part.reshape(lanes, -1).astype(np.float32) for part in parts], axis=1)

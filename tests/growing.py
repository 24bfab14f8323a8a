"""A ground for abstractions that learn by playing, in this process: small, plain, and slow."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpd_core.chance import Phase, canonical, episode_keys, state_keys
from rpd_core.play.deciders import TopStates, always
from rpd_core.play.loop import Plan, Player, Step
from rpd_core.play.prepare import with_links
from rpd_core.play.recipe import Recipe
from rpd_core.plugin.chain import Chain, links_of
from rpd_core.plugin.protocols import FitSample, Minimised

Array = NDArray[Any]


@dataclass
class SmallGround:
    """Minimises from all states: twins tell what each is worth, the cheapest go, and again."""

    recipe: Recipe
    sample: FitSample
    reference: float
    seed: int = 0
    episodes: int = 200
    """Episodes a look."""
    twins: int = 100
    """Episodes in which a state is given to the default, at most."""
    looks: int = 12
    thin: int = 20_000
    """Steps in the sample of a minimised policy, at most."""
    played: int = field(default=0, init=False)
    """Steps so far."""
    asked: int = field(default=0, init=False)
    """Questions so far: each has episodes of its own, or the best of many would be luck."""
    left: float = 1.0
    """Nobody counts."""

    def minimise(self, abstraction: Any, target: float, start: Array | None = None) -> Minimised:
        self.asked += 1
        player = Player(with_links(self.recipe, [*self.recipe.links[:-1], abstraction]))
        try:
            return _Search(self, player, target, start).result()
        finally:
            player.close()


class _Search:
    """One search for the smallest set of kept states."""

    def __init__(
        self, ground: SmallGround, player: Player, target: float, start: Array | None
    ) -> None:
        self.ground, self.player = ground, player
        self.known: dict[int, Array] = {}
        first = self._look(None, 0)
        self.original = first.returns.mean()
        self.goal = ground.reference + target * (self.original - ground.reference)
        first.kept = np.array(sorted(first.steps), dtype=np.uint64)
        if start is not None:
            first = self._look(np.unique(state_keys(canonical(start))), 1)
        met = first.returns.mean() >= self.goal
        self.last = self._shrink(first) if met else first

    def _plan(self, number: int) -> Plan:
        index, part = np.arange(self.ground.episodes), 100 * self.ground.asked + number
        return Plan(index, episode_keys(self.ground.seed, Phase.GROW, index, part))

    def _look(self, kept: Array | None, number: int) -> _Look:
        plan = self._plan(number)
        keep: Any = always
        if kept is not None:
            points = np.tile([0, len(kept)], (len(plan), 1))
            keep = TopStates([kept], points, unranked_kept=False)
        look = _Look(self, plan, kept)
        look.returns = self.player.play(plan, keep, look.record).total_return
        self.ground.played += int(look.total)
        return look

    def _shrink(self, look: _Look) -> _Look:
        """Drop what costs the least for its steps as long as the target is met."""
        good, fixed = look, set[int]()
        for number in range(2, self.ground.looks):
            good.weigh(self)
            going = good.spare(self.goal, fixed)
            if not going:
                break
            while going:
                left = np.setdiff1d(good.kept, np.array(going, dtype=np.uint64))
                look = self._look(left, number)
                if look.returns.mean() >= self.goal:
                    break
                if len(going) == 1:
                    fixed.add(going[0])
                going = going[: len(going) // 2]
            if going:
                good = look
        good.weigh(self)
        return good

    def result(self) -> Minimised:
        last, ground = self.last, self.ground
        keys = sorted(last.steps)
        kept = np.isin(np.array(keys, dtype=np.uint64), last.kept)
        gained = last.returns.mean() - ground.reference

        def column(table: dict[int, float], blank: float = 0.0) -> Array:
            return np.array([table.get(key, blank) for key in keys])

        return Minimised(
            values=np.stack([self.known[key] for key in keys]),
            kept=kept,
            loss=np.where(kept, column(last.loss, np.nan), np.nan),
            error=np.where(kept, column(last.error, np.nan), np.nan),
            steps=column(last.steps) / last.total,
            overrides=np.where(kept, column(last.overrides), 0) / last.total,
            share=float(gained / (self.original - ground.reference)),
            met=bool(last.returns.mean() >= self.goal),
            sample=last.sample(ground),
        )


class _Look:
    """Some episodes of a pruned policy: who was where, and what each kept state is worth."""

    def __init__(self, search: _Search, plan: Plan, kept: Array | None) -> None:
        self.search, self.plan = search, plan
        self.kept: Array = np.zeros(0, dtype=np.uint64) if kept is None else kept
        self.returns = np.zeros(0)
        self.steps: dict[int, float] = {}
        self.overrides: dict[int, float] = {}
        self.visitors: dict[int, set[int]] = {}
        self.loss: dict[int, float] = {}
        self.error: dict[int, float] = {}
        self.total = 0
        self.rows: list[tuple[Array, ...]] = []

    def record(self, step: Step) -> None:
        active, keys = step.lanes, step.keys
        self.total += len(active)
        for key in np.unique(keys).tolist():
            here = np.flatnonzero(keys == key)
            self.search.known.setdefault(key, step.values[here[0]].copy())
            self.steps[key] = self.steps.get(key, 0) + len(here)
            differ = int(step.differed[here].sum())
            self.overrides[key] = self.overrides.get(key, 0) + differ
            self.visitors.setdefault(key, set()).update(step.position[here].tolist())
        before = Chain(links_of(self.search.player.abstraction)[:-1])
        seen = np.asarray(before(step.observations, step.views))
        acted = step.choice.actions[active], step.default[active]
        self.rows.append((step.position.copy(), seen[active].copy(), *map(np.copy, acted)))

    def weigh(self, search: _Search) -> None:
        """Play the twins of each kept state."""
        if self.loss:
            return
        units, chosen = [], []
        for unit, key in enumerate(self.kept.tolist()):
            some = sorted(self.visitors.get(key, ()))[: search.ground.twins]
            units += [unit] * len(some)
            chosen += some
        twins = self._play(search, np.array(units, int), np.array(chosen, int)) if units else []
        changes = self.returns[chosen] - twins
        for unit, key in enumerate(self.kept.tolist()):
            mine = changes[np.array(units) == unit] if units else np.zeros(0)
            reached = len(self.visitors.get(key, ())) / len(self.plan)
            self.loss[key] = reached * float(mine.mean()) if len(mine) else 0.0
            spread = float(mine.std()) / np.sqrt(len(mine)) if len(mine) else 0.0
            self.error[key] = reached * spread

    def _play(self, search: _Search, units: Array, chosen: Array) -> Array:
        plan = Plan(np.arange(len(chosen)), self.plan.identity[chosen])
        points = np.tile([0, len(self.kept)], (len(chosen), 1))
        keep = TopStates([self.kept], points, unranked_kept=False)
        keep.remove([np.arange(len(self.kept))], units)
        played = search.player.play(plan, keep)
        search.ground.played += int(played.length.sum())
        return played.total_return

    def spare(self, goal: float, fixed: set[int]) -> list[int]:
        """Return the states that the slack allows to go, the cheapest for their steps first."""
        slack, going = self.returns.mean() - goal, []
        cost = {key: max(self.loss[key], 0.0) + 0.5 * self.error[key] for key in self.kept.tolist()}
        for key in sorted(cost, key=lambda key: (cost[key] / (self.steps.get(key, 0) + 1), key)):
            if key in fixed or cost[key] > slack:
                continue
            slack -= cost[key]
            going.append(key)
        return going

    def sample(self, ground: SmallGround) -> FitSample:
        columns = [np.concatenate(parts) for parts in zip(*self.rows, strict=True)]
        order = np.argsort(columns[0], kind="stable")
        order = order[:: max(len(order) // ground.thin, 1)]
        episodes, values, actions, defaults = (column[order] for column in columns)
        return replace(
            ground.sample, values=values, views={}, episodes=episodes, actions=actions,
            defaults=defaults, mutant=None,
        )  # fmt: skip

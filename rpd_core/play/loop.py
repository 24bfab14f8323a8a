"""The one batched loop: mutant, pruned and original episodes differ only in who decides where."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rpd_core.chance import Domain, Draws, canonical, domain_keys, environment_seeds, state_keys
from rpd_core.errors import EpisodeError, FitError, LaneError, RpdError, ends_rpd, one_line
from rpd_core.play.actions import (
    UNKNOWN_STATE,
    PolicyViews,
    action_check,
    action_difference,
    first_action,
    in_every_lane,
    of_environment,
    rows_differ,
)
from rpd_core.play.entry_names import named_facts
from rpd_core.play.heartbeat import beat, one_numeric_thread
from rpd_core.play.info import info_columns, scalar_items
from rpd_core.play.recipe import Recipe, check_choice, loaded_policy, opened_default, opened_lanes
from rpd_core.plugin.blame import blamed, called
from rpd_core.plugin.chain import needs_of, opened
from rpd_core.plugin.protocols.abstraction import Moment
from rpd_core.plugin.protocols.arrays import Array, Batch, BoolArray, FloatArray, IntArray, KeyArray
from rpd_core.plugin.protocols.environment import Facts, Lanes
from rpd_core.plugin.protocols.policy import Choice, PolicyInput
from rpd_core.plugin.protocols.suite import Episodes

Keep = Callable[[KeyArray, IntArray], BoolArray]
"""(state keys, position of each lane's episode in the plan) -> does the policy decide here?"""


@dataclass(frozen=True)
class Plan:
    """The episodes to play: their places in a larger order and their identities."""

    index: IntArray
    identity: KeyArray
    """From `chance.episode_keys`."""
    limits: IntArray | None = None
    """Steps after which each episode is broken off, where only its beginning is wanted."""

    def __len__(self) -> int:
        return len(self.index)


def joined(plans: Sequence[Plan]) -> Plan:
    """Return one plan of the episodes of several, which are all to be played to their end."""
    if len(plans) == 1:
        return plans[0]
    return Plan(
        np.concatenate([plan.index for plan in plans]),
        np.concatenate([plan.identity for plan in plans]),
    )


@dataclass  # not frozen: one is made at every step, in a sixth of the time
class Step:
    """What happened at one step, for whoever records it: rows of the lanes that play."""

    lanes: IntArray
    """Lane of each row; what policy, default action and environment gave has all lanes."""
    position: IntArray
    """Each row's episode as a position in the plan."""
    number: IntArray
    """Steps taken in the episode before this one."""
    keys: KeyArray
    values: Array
    kept: BoolArray
    overrides: BoolArray
    """Where the policy's action differs from the default's by more than the space tolerates."""
    return_before: FloatArray
    choice: Choice
    """In all lanes."""
    default: Array
    """What the default action would do, or does, in all lanes."""
    observations: Batch
    views: dict[str, Array]

    @property
    def differed(self) -> BoolArray:
        """Rows whose default action is not what the policy chose."""
        if self.default.dtype.kind != "f":
            return self.overrides
        return rows_differ(
            self.choice.actions.take(self.lanes, 0), self.default.take(self.lanes, 0)
        )


Record = Callable[[Step], None]  # is shown every step before it is taken
Watch = Callable[[FloatArray, BoolArray], None]
"""Is told, after every step, the rewards and which lanes are over."""


class Player:
    """An opened recipe, ready to play."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        users = (recipe.abstraction, recipe.policy, recipe.default_action)
        known = of_environment(name for user in users for name in needs_of(user))
        self.lanes: Lanes = opened_lanes(recipe, known)
        try:
            self.facts: Facts = named_facts(self.lanes.facts, recipe.names)
            self.complaint = action_check(self.facts)
            self.differ = action_difference(self.facts)
            self.policy_views = PolicyViews(recipe.abstraction, self.facts.action_space)
            self.abstraction = opened(recipe.abstraction, self.facts)
            with one_numeric_thread():
                self.policy = loaded_policy(recipe, self.facts)
                self.default = opened_default(recipe, self.facts)
            self.views = self._wanted_views()
        except BaseException:
            self.lanes.close()
            raise

    def _wanted_views(self) -> tuple[str, ...]:
        recipe = self.recipe
        users = {
            "abstraction": of_environment(needs_of(recipe.abstraction)),
            "policy": needs_of(self.policy),
            "default action": (*needs_of(recipe.default_action), *needs_of(self.default)),
        }
        wanted = {name: kind for kind, names in users.items() for name in names}
        for name, kind in wanted.items():
            if name not in self.facts.views:
                offered = ", ".join(self.facts.views) or "none"
                raise FitError(
                    f"the {kind} needs the view {name!r}, which {self.facts.description or 'this'} "
                    f"does not offer (it offers {offered}): choose another {kind}"
                )
        return tuple(wanted)

    def play(
        self, plan: Plan, keep: Keep, record: Record | None = None, watch: Watch | None = None
    ) -> Episodes:
        """Play every episode of the plan and return what became of each, in the plan's order."""
        return self.play_together([plan], keep, record, watch)[0]

    def play_together(
        self,
        plans: Sequence[Plan],
        keep: Keep,
        record: Record | None = None,
        watch: Watch | None = None,
    ) -> list[Episodes]:
        """Play several plans in the same lanes, as one plan after the other; return each apart."""
        with one_numeric_thread():
            batch = _Batch(self, joined(plans), keep, record, watch)
            batch.play()
        ends = np.cumsum([len(plan) for plan in plans]).tolist()
        return [batch.episodes(end - len(plan), end) for plan, end in zip(plans, ends, strict=True)]

    def ask_policy(self, seen: PolicyInput) -> Choice:
        """Return what the policy wants to do, or raise where it gives anything but that."""
        with blamed("policy", self.recipe.policy, "the call"):
            choice = self.policy(seen)
        check_choice(self.recipe, choice)
        return choice

    def close(self) -> None:
        self.lanes.close()


class _Batch:
    """The state of one call to `Player.play`: which lane plays what, and how far it is."""

    def __init__(
        self, player: Player, plan: Plan, keep: Keep, record: Record | None, watch: Watch | None
    ) -> None:
        self.player, self.plan, self.keep = player, plan, keep
        self.record, self.watch = record, watch
        self.blame = _Blame(self)
        lanes = player.recipe.lanes
        self.seeds = environment_seeds(plan.identity)
        self.roots = {
            domain: domain_keys(plan.identity, domain)
            for domain in (Domain.POLICY, Domain.DEFAULT_STATE, Domain.DEFAULT_STEP)
        }
        self.lane_roots = {domain: np.zeros(lanes, dtype=np.uint64) for domain in self.roots}
        self.limits = np.full(max(len(plan), 1), player.recipe.max_steps, dtype=np.int64)
        if plan.limits is not None:
            self.limits = np.minimum(self.limits, plan.limits)
        self.lane_limits = np.zeros(lanes, dtype=np.int64)
        self.position = np.zeros(lanes, dtype=np.int64)
        self.active = np.zeros(lanes, dtype=bool)
        self.playing: IntArray = np.zeros(0, dtype=np.int64)
        """The active lanes, to which all that is known of idle ones is spared."""
        self.number = np.zeros(lanes, dtype=np.int64)
        self.total = np.zeros(lanes)
        self.decided = np.zeros(lanes, dtype=np.int64)
        self.overridden = np.zeros(lanes, dtype=np.int64)
        self.previous: Array = in_every_lane(first_action(player.facts), player.facts)
        self.rewards = np.zeros(lanes)
        self.memory: Any = None
        self.started = 0
        count = len(plan)
        self.total_return = np.zeros(count)
        self.length = np.zeros(count, dtype=np.int64)
        self.ended = np.zeros(count, dtype=np.int64)
        self.policy_steps = np.zeros(count, dtype=np.int64)
        self.overrides = np.zeros(count, dtype=np.int64)
        self.info: list[dict[str, float]] = [{} for _ in range(count)]

    def play(self) -> None:
        self._start(np.arange(len(self.active)))
        while len(self.playing):
            self._step()

    def episodes(self, first: int, end: int) -> Episodes:
        some = slice(first, end)
        return Episodes(
            index=self.plan.index[some],
            seed=self.seeds[some],
            total_return=self.total_return[some],
            length=self.length[some],
            ended=self.ended[some],
            policy_steps=self.policy_steps[some],
            overrides=self.overrides[some],
            info=info_columns(self.info[some]),
        )

    def _start(self, free: IntArray) -> None:
        count = min(len(free), len(self.plan) - self.started)
        self.active[free[count:]] = False
        lanes = free[:count]
        self.active[lanes] = True
        self.playing = np.flatnonzero(self.active)
        if not count:
            return
        positions = np.arange(self.started, self.started + count)
        self.started += count
        self.position = self.position.copy()  # a recorder may hold the rows that were
        self.position[lanes] = positions
        self.lane_limits[lanes] = self.limits[positions]
        for domain, roots in self.roots.items():
            self.lane_roots[domain][lanes] = roots[positions]
        self.number[lanes] = 0
        self.rewards[lanes] = 0.0
        self.total[lanes] = 0.0
        self.decided[lanes] = 0
        self.overridden[lanes] = 0
        first = int(positions[0])
        beat(int(self.plan.index[first]), int(self.seeds[first]))
        with self.blame:
            self.player.lanes.reset(lanes, self.seeds[positions])

    def _step(self) -> None:
        player, lanes = self.player, self.playing
        position = self._of_playing(self.position)
        first = int(position[0])
        beat(int(self.plan.index[first]), int(self.seeds[first]))
        with self.blame:
            observations = player.lanes.observe()
            views = {name: player.lanes.view(name) for name in player.views}
        starts = self.number == 0
        choice = self._choose(observations, views, starts)
        default: Array | None = None
        seen = views
        if player.policy_views:
            default = self._default(observations, views, starts, UNKNOWN_STATE)
            seen = views | player.policy_views(choice, default)
        values = canonical(self._of_playing(np.asarray(player.abstraction(observations, seen))))
        keys = state_keys(values)
        kept = self.keep(keys, position)
        if default is None:
            draws = Draws(self.lane_roots[Domain.DEFAULT_STATE], self._in_all_lanes(keys))
            default = self._default(observations, views, starts, draws)
        decides = self._in_all_lanes(kept)
        overrides = player.differ(choice.actions, default)
        if self.record is not None:
            number, overriding, total = map(self._of_playing, (self.number, overrides, self.total))
            self.record(
                Step(
                    lanes, position, number, keys, values, kept, overriding, total,
                    choice, default, observations, seen,
                )
            )  # fmt: skip
        whole = decides.reshape(len(decides), *[1] * (choice.actions.ndim - 1))
        self.previous = np.where(whole, choice.actions, default)
        self._advance(self.previous, decides, overrides)

    def _of_playing(self, rows: Array) -> Array:
        return rows if len(self.playing) == len(self.active) else rows.take(self.playing, axis=0)

    def _in_all_lanes(self, rows: Array) -> Array:
        if len(rows) == len(self.active):
            return rows
        found = np.zeros(len(self.active), dtype=rows.dtype)
        found[self.playing] = rows
        return found

    def _choose(self, observations: Batch, views: dict[str, Array], starts: BoolArray) -> Choice:
        draws = Draws(self.lane_roots[Domain.POLICY], self.number)
        seen = PolicyInput(
            observations, views, starts, self.memory, draws, self.previous, self.rewards
        )
        choice = self.player.ask_policy(seen)
        self.memory = choice.memory
        actions = self._checked(choice.actions, "policy", "chose")
        return choice if actions is choice.actions else replace(choice, actions=actions)

    def _default(
        self, observations: Batch, views: dict[str, Array], starts: BoolArray, state_draws: Draws
    ) -> Array:
        moment = Moment(
            observations,
            views,
            self.previous,
            self.rewards,
            starts,
            state_draws=state_draws,
            step_draws=Draws(self.lane_roots[Domain.DEFAULT_STEP], self.number),
        )
        with blamed("default-action", self.player.recipe.default_action, "the call"):
            actions = self.player.default(moment)
        return self._checked(actions, "default-action", "gave")

    def _checked(self, actions: Array, kind: str, gave: str) -> Array:
        """Return actions in the type of the action space, or raise if one is not in it."""
        actions = np.asarray(actions)
        wrong = self.player.complaint(actions, self.active)
        if wrong is not None:
            lane, complaint = wrong
            recipe = self.player.recipe
            actor = recipe.policy if kind == "policy" else recipe.default_action
            raise self.failure(lane, f"{called(kind, actor)} {gave} {complaint}")
        return actions.astype(self.player.facts.action_space.dtype, copy=False)

    def _advance(self, actions: Array, decides: BoolArray, overrides: BoolArray) -> None:
        with self.blame:
            result = self.player.lanes.step(actions.copy(), self.active)
        rewards = np.where(self.active, result.rewards, 0.0)
        with np.errstate(over="ignore"):
            total = self.total + rewards
        if not np.isfinite(total).all():
            lane = int(np.flatnonzero(~np.isfinite(total))[0])
            more = "" if not np.isfinite(rewards[lane]) else ", which makes the return infinite,"
            message = f"the environment gave the reward {rewards[lane]}{more}"
            raise self.failure(lane, message)
        self.rewards, self.total = rewards, total
        self.number = self.number + self.active
        self.decided += decides
        self.overridden += decides & overrides
        capped = self.number >= self.lane_limits
        over = self.active & (result.terminated | result.truncated | capped)
        if self.watch is not None:
            self.watch(rewards, over)
        if over.any():
            self._finish(np.flatnonzero(over), result.terminated, result.truncated)

    def _finish(self, lanes: IntArray, terminated: BoolArray, truncated: BoolArray) -> None:
        at = self.position[lanes]
        self.total_return[at] = self.total[lanes]
        self.length[at] = self.number[lanes]
        self.policy_steps[at] = self.decided[lanes]
        self.overrides[at] = self.overridden[lanes]
        self.ended[at] = np.where(terminated[lanes], 0, np.where(truncated[lanes], 1, 2))
        for lane, position in zip(lanes.tolist(), at.tolist(), strict=True):
            info = self.player.lanes.info(lane)
            if info:
                self.info[position] = scalar_items(info, self.player.facts.info_keys)
        self._start(lanes)

    def failure(self, lane: int, message: str) -> EpisodeError:
        """Return an error that names the episode, which can be played again from its seed."""
        position = int(self.position[lane])
        index, seed = int(self.plan.index[position]), int(self.seeds[position])
        where = f"in step {int(self.number[lane])} of episode {index} (environment seed {seed})"
        return EpisodeError(f"{message} {where}", position)


class _Blame:
    """Names the episode that an environment failed in; entered at every step, so made once."""

    def __init__(self, batch: _Batch) -> None:
        self.batch = batch

    def __enter__(self) -> None:
        """Begin to ask the environment."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None or isinstance(error, RpdError) or ends_rpd(error):
            return
        batch = self.batch
        if isinstance(error, LaneError):
            raise batch.failure(error.lane, f"the environment {error.complaint}") from error
        running = batch.plan.index[batch.position[batch.active]]
        raise EpisodeError(
            f"the environment raised {one_line(error)} while playing episodes "
            f"{int(running.min())} to {int(running.max())}"
        ) from error

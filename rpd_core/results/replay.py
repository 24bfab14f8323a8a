"""Stored episodes by their names, played again and compared with what is stored."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.analysis.suite import StoredEpisodes
from rpd_core.chance import Phase, episode_keys
from rpd_core.config.resolve import Setup, resolve
from rpd_core.config.settings import Request
from rpd_core.config.trust import check_trust
from rpd_core.errors import ConfigError
from rpd_core.play.deciders import Coin, TopStates, always
from rpd_core.play.loop import Keep, Plan
from rpd_core.play.names import Names
from rpd_core.play.recipe import recipe_of
from rpd_core.play.replay import PlayedAgain, play_again
from rpd_core.plugin.registry import installed
from rpd_core.pruning.confirm import LOOKS, block_of
from rpd_core.pruning.stored_sweep import stored_return, stored_table
from rpd_core.pruning.trials import confirm_name
from rpd_core.pruning.twins import ranking_of
from rpd_core.results.kept import all_keys
from rpd_core.results.requests import stored_request
from rpd_core.store.prepared import prepared_setup
from rpd_core.untrusted.boundary import LOAD_TIMEOUT

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import Array, BoolArray, IntArray, KeyArray
    from rpd_core.results.run import Run

_NAME = re.compile(r"(?:(?P<what>[^:]+(?::[^@:]+)?(?:@\d+)?):)?(?P<index>\d{1,15})")
_DIGITS = 15
"""Of a number of states."""

LOSS_BLOCK, LOSS_PART = "losses-1", 1
"""The set of episodes that the losses of the first target come from, and its part."""


@dataclass(frozen=True)
class DescribedStep:
    """One step of a replayed episode, in words and numbers."""

    number: int
    """From 0."""
    key: int
    """Key of the state."""
    state: str
    """The state in words."""
    decided_by: str
    """`policy` or `default`."""
    action: str
    """What was done, by its name where it has one."""
    other: str
    """What the other would have done."""
    reward: float
    frame: Array | None = None
    """The picture before the step, where asked for."""


@dataclass(frozen=True)
class Replay:
    """An episode played again."""

    episode: str
    """Its name, for example `suite:17`."""
    seed: int
    """What the environment was reset with."""
    steps: tuple[DescribedStep, ...]
    total_return: float
    stored_return: float | None
    """The return that is stored; none for an episode that was never played before."""
    last_frame: Array | None = None
    """The picture after the last step, where asked for."""

    @property
    def agrees(self) -> bool:
        """Whether the return equals the stored one, where there is one."""
        return self.stored_return is None or self.stored_return == self.total_return

    @property
    def difference(self) -> str:
        """What is to be said about the stored return; empty if it is the same."""
        if self.agrees:
            return ""
        return (
            f"the return is {self.total_return!r} now and {self.stored_return!r} as stored: the "
            "episode was played by other versions or another machine, or the environment does not "
            "repeat itself"
        )


@dataclass(frozen=True)
class AskedEpisode:
    """An episode that is to be played again."""

    name: str
    """What it is called."""
    identity: Array
    """On which all its chance depends."""
    keep: Callable[[Plan], Keep]
    """Who decides in it."""
    stored_return: Callable[[], float | None]
    """Looks up what is stored of it."""


def replay(
    run: Run, episode: str | int, frames: bool, trust: bool, load_timeout: float = LOAD_TIMEOUT
) -> Replay:
    """Play a stored episode again; the policy and the environment must be there."""
    check_trust(trust)
    asked = find_episode(run, str(episode))
    setup = run.setup or stored_setup(run, trust)
    plan = Plan(np.zeros(1, dtype=np.int64), asked.identity)
    recipe = replace(recipe_of(setup), load_timeout=load_timeout)
    played = play_again(recipe, plan, asked.keep(plan), frames)
    return _described(asked, played, setup, run.directory.names())


def stored_setup(run: Run, trust: bool) -> Setup:
    """Make the components of a stored run; those that may run code only if trusted."""
    request = Request(**stored_request(run.directory, run.name, trust, {}))
    setup = resolve(request, installed(), trust)
    run.directory.check(setup.config)
    return prepared_setup(run.directory, setup) or setup


def find_episode(run: Run, name: str) -> AskedEpisode:
    """Return the episode that a name means, or refuse a name that means none."""
    match = _NAME.fullmatch(name.strip())
    if match is None:
        raise ConfigError(
            f"{name!r} is not the name of an episode: write suite:17, unmutated:3, original:3, "
            "default:3, pruned:3, losses:3 or MEASURE@KEPT:3"
        )
    what, index = match["what"] or "suite", int(match["index"])
    if what in ("suite", "unmutated"):
        return _of_the_suite(run, what, index)
    if what == "original":
        return _tested(run, name, index, always, _stored(run, what, 0, index))
    if what == "default":
        return _tested(run, name, index, never, _stored(run, "default-everywhere", 0, index))
    if what in ("pruned", "losses"):
        return _of_the_smallest(run, name, what, index)
    measure, _, digits = what.rpartition("@")
    if not (measure and digits.isdecimal() and len(digits) <= _DIGITS):
        raise ConfigError(
            f"{what!r} names no episodes: there are suite, original, default, pruned, losses, "
            "unmutated and MEASURE@KEPT, for example tarantula@482:3"
        )
    _refuse_beyond(name, index, run.asked.settings.test_episodes)
    kept, ranked = int(digits), run.ranked(measure)
    if kept > len(ranked):
        raise ConfigError(f"{name}: the ranking has {len(ranked)} states, not {kept}")
    elsewhere = run.asked.settings.unvisited == "policy"
    top = TopStates((ranked.ranked_keys,), np.array([[0, kept]]), elsewhere)

    def swept() -> float | None:
        return stored_return(run.directory, run.asked, ranked.name, kept, index)

    return _tested(run, name, index, top, swept)


def _refuse_beyond(name: str, index: int, count: int) -> None:
    if index >= count:
        there = f"they go from 0 to {count - 1}" if count else "none was played"
        raise ConfigError(f"there is no episode {name}: {there}")


def _of_the_suite(run: Run, what: str, index: int) -> AskedEpisode:
    """Return a mutant episode, or one of the policy as it is."""
    settings, directory = run.directory.stored().settings, run.directory
    mutant = what == "suite"
    name, count = f"{what}:{index}", settings.episodes if mutant else settings.unmutated_episodes
    _refuse_beyond(name, index, count)
    phase = Phase.SUITE if mutant else Phase.UNMUTATED
    done = StoredEpisodes(directory.suite() if mutant else directory.unmutated())

    def stored() -> float | None:
        for parts, first, last in done.pieces:
            if first <= index <= last:
                table = parts.read(first, last, ("episodes",))["episodes"]
                return float(table["total_return"][index - first].as_py())
        return None

    def keep(plan: Plan) -> Keep:
        return Coin(plan, settings.mutation_rate) if mutant else always

    return AskedEpisode(name, episode_keys(settings.seed, phase, np.array([index])), keep, stored)


def _tested(
    run: Run, name: str, index: int, keep: Keep, stored: Callable[[], float | None]
) -> AskedEpisode:
    """Return a test episode of the original, the default action, or a pruned policy."""
    _refuse_beyond(name, index, run.asked.settings.test_episodes)
    seed = run.directory.stored().settings.seed
    identity = episode_keys(seed, Phase.TEST, np.array([index]), 0)
    return AskedEpisode(name, identity, lambda plan: keep, stored)


def never(keys: KeyArray, position: IntArray) -> BoolArray:
    """Act by default everywhere."""
    return np.zeros(len(keys), dtype=bool)


def _of_the_smallest(run: Run, name: str, what: str, index: int) -> AskedEpisode:
    """Return a fresh episode of the smallest policy for the first target, or one behind losses."""
    kept, settings = run.kept(), run.asked.settings
    if kept is None:
        raise ConfigError(f"{str(run.path)!r} has no chosen pruned policy to replay")
    ranked = ranking_of(kept.array, all_keys(run.directory, run.asked.episodes))
    top = TopStates((ranked,), np.array([[0, len(kept.keys)]]), settings.unvisited == "policy")
    if what == "pruned":
        chosen = run.policy()
        _refuse_beyond(name, index, 0 if chosen is None else chosen.episodes)
        look, place = block_of(index, settings.confirm_episodes)
        phase, part = Phase.CONFIRM, kept.part * LOOKS + look
        block = confirm_name(kept.identity, part)
    else:
        folder = run.asked.evaluations.get(LOSS_BLOCK) if run.decisions else None
        _refuse_beyond(
            name, index, 0 if folder is None else len(stored_table(run.directory, folder))
        )
        phase, part, block, place = Phase.LOSS, LOSS_PART, LOSS_BLOCK, index
    seed = run.directory.stored().settings.seed
    identity = episode_keys(seed, phase, np.array([place]), part)
    stored = _stored(run, block, len(kept.keys), place)
    return AskedEpisode(name, identity, lambda plan: top, stored)


def _stored(run: Run, what: str, kept: int, index: int) -> Callable[[], float | None]:
    """Return what looks up the stored return of a test episode."""

    def look_up() -> float | None:
        folder = run.asked.evaluations.get(what)
        if folder is None:
            return None
        table = stored_table(run.directory, folder)
        mine = table["kept"].to_numpy() == kept
        rows = table["total_return"].to_numpy()[mine & (table["test_episode"].to_numpy() == index)]
        return float(rows[0]) if len(rows) else None

    return look_up


def _described(asked: AskedEpisode, played: PlayedAgain, setup: Setup, names: Names) -> Replay:
    def named(action: object) -> str:
        if isinstance(action, int) and 0 <= action < len(names.actions):
            return names.actions[action]
        return str(action)

    steps = tuple(
        DescribedStep(
            step.number,
            step.key,
            setup.abstraction.show(step.value, names.state_entries),
            "policy" if step.policy_decided else "default",
            named(step.action),
            named(step.default_action if step.policy_decided else step.policy_action),
            step.reward,
            step.frame,
        )
        for step in played.steps
    )
    return Replay(
        asked.name,
        int(played.episodes.seed[0]),
        steps,
        float(played.episodes.total_return[0]),
        asked.stored_return(),
        played.last_frame,
    )

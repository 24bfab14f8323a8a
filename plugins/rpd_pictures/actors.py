"""Who acts in a film: the original policy, a pruned one, the default action, a mutant."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from rpd_core.analysis.analysis import weigh
from rpd_core.chance import Phase, episode_keys
from rpd_core.errors import ConfigError, nearest
from rpd_core.play.deciders import TopStates, always
from rpd_core.play.loop import Keep, Plan, Player
from rpd_core.play.recipe import Recipe
from rpd_core.pruning.confirm import LOOKS, block_of
from rpd_core.pruning.curves import cutoffs_for
from rpd_core.pruning.twins import ranking_of
from rpd_core.results.kept import all_keys
from rpd_core.results.replay import AskedEpisode, find_episode, never
from rpd_core.results.run import Run

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import BoolArray, IntArray, KeyArray

_Outcome = Literal["failing", "passing"]
_AGAINST = ("original", "pruned", "default", "none")
"""Who may stand beside the episode that was asked for."""
_SEARCHED = 200
"""Episodes that are looked through for one that fails or passes."""


@dataclass(frozen=True)
class Actor:
    """Who decides in an episode."""

    title: str
    """What it is called in the film."""
    keep: Callable[[Plan], Keep]
    """Who decides where."""


def _in_first(run: Run, ranked: KeyArray, count: int, title: str) -> Actor:
    """Return the policy in the first states of a ranking, the default action elsewhere."""
    elsewhere = run.asked.settings.unvisited == "policy"
    top = TopStates((ranked,), np.array([[0, count]]), elsewhere)
    return Actor(title, lambda plan: top)


def _chosen_policy(run: Run) -> Actor:
    """Return the pruned policy that was chosen for the first threshold."""
    kept = run.kept()
    if kept is None:
        raise ConfigError(
            f"{str(run.path)!r} has no chosen pruned policy: say how many states keep the policy, "
            "with --keep, or --against none"
        )
    ranked = ranking_of(kept.array, all_keys(run.directory, run.asked.episodes))
    count = len(kept.keys)
    return _in_first(run, ranked, count, f"pruned policy, {count} states")


def _pruned_to(run: Run, share: float) -> Actor:
    """Return the policy in the first states of the list's measure, by their share of all."""
    if not 0 <= share <= 1:
        raise ConfigError(f"the share of states that keep the policy lies in [0, 1], got {share:g}")
    ranked = run.ranked_as_stored(run.asked.settings.list_by)
    kept = int(cutoffs_for((share,), len(ranked))[0])
    title = f"policy in the first {kept} states by {ranked.name}"
    return _in_first(run, ranked.ranked_keys, kept, title)


def beside(run: Run, name: str) -> Actor | None:
    """Return who stands beside the episode; None: nobody."""
    if name not in _AGAINST:
        known = f"{', '.join(_AGAINST)}.{nearest(name, _AGAINST)}"
        raise ConfigError(f"nobody is called {name!r}: --against takes {known}")
    if name == "pruned":
        return _chosen_policy(run)
    simple = {
        "original": Actor("original policy", lambda plan: always),
        "default": Actor("default action everywhere", lambda plan: never),
    }
    return simple.get(name)


def acting(run: Run, episode: AskedEpisode, keep: float | None, against: str) -> Actor:
    """Return who acts in the episode: as it was played, or pruned where that is what to see."""
    if keep is not None:
        return _pruned_to(run, keep)
    what = episode.name.rpartition(":")[0]
    if what in ("original", "unmutated") and against == "original":
        return _chosen_policy(run)
    titles = {
        "suite": f"mutant {episode.name}",
        "original": "original policy",
        "unmutated": "original policy",
        "default": "default action everywhere",
        "pruned": "pruned policy",
    }
    return Actor(titles.get(what, what), episode.keep)


# -------------------------------------------------------------------------- finding


def find_outcome(
    run: Run, recipe: Recipe, name: str, outcome: _Outcome, keep: float | None
) -> AskedEpisode:
    """Return the first episode of a set, from the one named on, that fails or passes."""
    match = re.fullmatch(r"(.+?)(?::(\d{1,15}))?", name.strip())
    what, first = (match[1], int(match[2] or 0)) if match else (name, 0)
    start = find_episode(run, f"{what}:{first}")
    if what == "suite" and keep is None:
        analysis = run.analysis
        index, passed = analysis.episodes.index, analysis.weights >= 0.5
    else:
        index, identity = _identities(run, what, first)
        actor = acting(run, start, keep, "none")
        passed = _passed(run, recipe, Plan(index, identity), actor)
    fitting = index[(passed if outcome == "passing" else ~passed) & (index >= first)]
    if not len(fitting):
        raise ConfigError(
            f"none of {len(index)} episodes from {what}:{first} on is {outcome} "
            f"({run.analysis.condition_text})"
        )
    return find_episode(run, f"{what}:{int(fitting[0])}")


def _passed(run: Run, recipe: Recipe, plan: Plan, actor: Actor) -> BoolArray:
    """Play episodes and return which of them meet the condition of the analysis."""
    keep = actor.keep(plan)

    def same(keys: KeyArray, position: IntArray) -> BoolArray:
        return keep(keys, np.zeros_like(position))  # it is made for one episode, and has no coin

    player = Player(recipe)
    try:
        episodes = player.play(plan, same)
    finally:
        player.close()
    return np.asarray(weigh(run.analysis.condition, episodes) >= 0.5)


def _identities(run: Run, what: str, first: int) -> tuple[IntArray, KeyArray]:
    """Return the episodes of a set, from one on, and what their chance depends on."""
    stored, asked = run.directory.stored().settings, run.asked.settings
    if what == "pruned":
        return _confirmed(run, first, stored.seed)
    if what in ("unmutated", "suite"):
        phase = Phase.UNMUTATED if what == "unmutated" else Phase.SUITE
        count = stored.unmutated_episodes if what == "unmutated" else stored.episodes
    else:
        phase, count = Phase.TEST, asked.test_episodes
    index = np.arange(first, min(count, first + _SEARCHED))
    return index, episode_keys(stored.seed, phase, index)


def _confirmed(run: Run, first: int, seed: int) -> tuple[IntArray, KeyArray]:
    chosen, kept = run.policy(), run.kept()
    assert chosen is not None and kept is not None, "the first of them was found"  # noqa: PT018
    index = np.arange(first, min(chosen.episodes, first + _SEARCHED))
    keys = []
    for one in index.tolist():
        look, place = block_of(one, run.asked.settings.confirm_episodes)
        part = kept.part * LOOKS + look
        keys.append(episode_keys(seed, Phase.CONFIRM, np.array([place]), part))
    return index, np.concatenate(keys)

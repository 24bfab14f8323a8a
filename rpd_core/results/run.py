"""A stored run as an object, for reading: nothing is played unless `replay` is called."""

from __future__ import annotations

import numbers
import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rpd_core.config.settings import declared
from rpd_core.errors import ConfigError, StoreError, brief, nearest, shell_word
from rpd_core.plugin.registry import installed
from rpd_core.plugin.specs import shortened
from rpd_core.results.records import Decision, Policy, RankedDecision, Summary, Threshold
from rpd_core.results.words import ranges_in_words
from rpd_core.store.codec import from_plain
from rpd_core.store.directory import RunDirectory, StoredAnalysis, check_configuration
from rpd_core.store.files import path_of
from rpd_core.untrusted.boundary import LOAD_TIMEOUT

if TYPE_CHECKING:
    from rpd_core.analysis.analysis import Analysis
    from rpd_core.analysis.ranking import Ranking
    from rpd_core.analysis.verdicts import Decisions
    from rpd_core.config.resolve import Setup
    from rpd_core.plugin.protocols import KeyArray, Suite
    from rpd_core.pruning.curves import Curve
    from rpd_core.results.kept import KeptStates
    from rpd_core.results.replay import Replay
    from rpd_core.results.tables import RankingTable

# What is numerical is imported where it is used: most readers want the stored summary alone.


@dataclass(frozen=True)
class Run:
    """A stored run and one of its analyses."""

    path: Path
    """The run directory."""
    name: str | None
    """Name of the analysis; none: there is none yet."""
    setup: Setup | None = None
    """Live components, where this process made them; needed only to replay functions."""

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r}, analysis={shortened(self.name or 'none yet', 40)!r})"

    @property
    def directory(self) -> RunDirectory:
        """The run on disk."""
        return RunDirectory(self.path)

    @property
    def analyses(self) -> list[str]:
        """Names of the finished analyses."""
        return self.directory.analyses()

    @property
    def progress(self) -> tuple[int, int]:
        """Mutant episodes that are stored, and that were asked for."""
        directory = self.directory
        return directory.suite().count(), directory.stored().settings.episodes

    @property
    def missing(self) -> list[tuple[int, int]]:
        """Ranges, first and last, of the mutant episodes asked for that are not stored."""
        directory = self.directory
        return directory.suite().missing(directory.stored().settings.episodes)

    @property
    def standing(self) -> str:
        """How the answer stands to the episodes that are stored; empty: on all of them."""
        done, wanted = self.progress
        if self.name is None:
            return incomplete(self)
        own = self.asked.episodes
        lacking = _count(self.directory.suite().missing(own))
        if lacking:
            return f"this stood on {own} episodes, of which the suite holds {own - lacking} now"
        if self.missing:
            held = wanted - _count(self.missing)
            return f"this stands on {own} episodes; the suite holds {held} of {wanted} by now"
        return f"this stands on the first {own} of {done} stored episodes" if own < done else ""

    @cached_property
    def summary(self) -> Summary:
        """What the analysis found."""
        where = f"analyses/{self._finished()}/summary.json"
        found = self.directory.read_json(where)
        if found is None:
            raise StoreError(f"{str(self.path / where)!r} is missing: run rpd prune again")
        read = from_plain(Summary, found, repr(str(self.path / where)))
        check_configuration(read.configuration, repr(str(self.path / where)))
        return read

    def _finished(self) -> str:
        if self.name is None:
            done, asked = self.progress
            raise StoreError(
                f"{str(self.path)!r} has no finished analysis ({done} of {asked} mutant episodes "
                f"are stored): continue it with rpd prune {shell_word(self.path)}"
            )
        return self.name

    def setting(self, name: str) -> Any:
        """Return a setting of the analysis, or its default where none is finished."""
        return getattr(self.asked.settings, name) if self.name else declared()[name].default

    @cached_property
    def asked(self) -> StoredAnalysis:
        """What was asked in the analysis."""
        return self.directory.analysis(self._finished())

    @cached_property
    def analysis(self) -> Analysis:
        """Weights, spectrum and rankings, counted again from the stored suite."""
        condition = self.asked.settings.condition
        return self.analysed(condition, first_episodes=self.asked.episodes)

    def analysed(
        self, condition: str, typed: bool = False, first_episodes: int | None = None
    ) -> Analysis:
        """Analyse the stored suite under a condition; one that only a file names runs no code."""
        from rpd_core.analysis.analysis import analyse
        from rpd_core.config.resolve import choose
        from rpd_core.config.trust import refuse_code

        registry, named_by = installed(), f"analysis {self.name!r} of {str(self.path)!r}"
        if self.setup is not None and condition == self.setup.config.settings.condition:
            recipe: Any = self.setup.condition
        elif typed:
            chosen = choose(registry, "condition", condition)
            recipe, condition = chosen.recipe, chosen.text
        else:
            instead = "name a condition yourself, with --condition"
            recipe = refuse_code("condition", condition, registry, named_by, instead)
        if first_episodes is None:
            wanted, parts = self.progress[1], self.directory.suite().covered()
            first_episodes = wanted if parts and parts[-1][1] >= wanted else None
        return analyse(self.directory, recipe, condition, {}, first_episodes)

    @property
    def suite(self) -> Suite:
        """The stored mutant episodes, all at once."""
        return self.analysis.suite

    @cached_property
    def curves(self) -> dict[str, Curve]:
        """The pruning curve of each measure."""
        return self._read_curves(self.asked.settings.measures)

    @cached_property
    def random_curves(self) -> list[Curve]:
        """The pruning curves of the random rankings."""
        seeds = range(self.asked.settings.random_rankings)
        return list(self._read_curves([f"random:seed={seed}" for seed in seeds]).values())

    def _read_curves(self, names: Iterable[str]) -> dict[str, Curve]:
        from rpd_core.pruning.stored_sweep import read_curves

        return read_curves(self.directory, self.asked, self.summary.suite.states, names)

    def ranking(self, measure: object = "tarantula") -> RankingTable:
        """Rank by any measure: a spec string, a recipe or a function; nothing is played."""
        from rpd_core.results.tables import ranking_table

        ranking = self.ranked(measure)
        return ranking_table(ranking, self.analysis.counted)

    def ranked(self, measure: object) -> Ranking:
        """Rank by any measure; the order itself."""
        from rpd_core.config.resolve import choose

        chosen = choose(installed(), "measure", measure)
        if isinstance(measure, str):
            return self.analysis.rank_by(chosen.text, chosen.recipe)
        return self.analysis.rank_anew(chosen.text, chosen.recipe)

    def ranked_as_stored(self, name: str, trust: bool = False) -> Ranking:
        """Rank by a measure that a file of the run names, which runs no code unless trusted."""
        from rpd_core.config.trust import check_trust, refuse_code

        check_trust(trust, "trust")
        registry, named_by = installed(), f"analysis {self.name!r} of {str(self.path)!r}"
        if self.setup is not None and name in self.setup.measures:
            return self.analysis.rank_by(name, self.setup.measures[name])
        if trust:
            return self.ranked(name)
        instead = "name a measure or another analysis yourself"
        recipe = refuse_code("measure", name, registry, named_by, instead)
        return self.analysis.rank_by(name, recipe)

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """The decisions of the smallest policy of the first target, by loss."""
        return self.summary.decisions

    def top(self, count: int = 10) -> tuple[Decision, ...]:
        """Return the decisions of the smallest policy that are worth most."""
        return self.decisions[: _checked_count(count)]

    def effects(self, count: int = 10, measure: object = None) -> tuple[RankedDecision, ...]:
        """Return the first of the list of the mutated policy, by a measure or by its own."""
        from rpd_core.results.decisions import ranked_rows

        stored = self.summary.ranking
        if measure is None and _checked_count(count) <= len(stored):
            return tuple(stored[:count])
        found = self.decided(measure)
        rows = found.listed()[: _checked_count(count)]
        stored_suite, names = self.analysis.stored, self.directory.names()
        return ranked_rows(found, rows, stored_suite, names, self.decision_keys)

    @property
    def decision_keys(self) -> KeyArray:
        """The keys of the decisions, by loss."""
        import numpy as np

        return np.array([one.key for one in self.decisions], dtype=np.uint64)

    def decided(self, measure: object = None) -> Decisions:
        """Judge every state; the list is sorted by a measure, or by the analysis's own."""
        from rpd_core.analysis.suite import stored_reach
        from rpd_core.analysis.verdicts import decide, rules_of

        settings = self.asked.settings
        ranking = (
            self.ranked_as_stored(settings.list_by) if measure is None else self.ranked(measure)
        )
        reach = stored_reach(self.directory)
        return decide(self.analysis.counted, ranking, reach, rules_of(settings))

    @property
    def target(self) -> float:
        """The share of the return that the answer is about."""
        return float(self.asked.settings.target[0])

    def policy(self, fraction: float | None = None) -> Policy | None:
        """Return the smallest policy that is to keep this fraction of the return, or the answer.

        None: no pruned policy reached it in the sweep; look at `met` before relying on it.
        """
        policies = self.summary.policies
        return policies[_checked_threshold(self._fraction(fraction), policies)]

    def kept(self, fraction: float | None = None) -> KeptStates | None:
        """Return the states that the smallest policy keeps, and those on the way to it."""
        from rpd_core.results.kept import read_kept

        return read_kept(self.directory, self._finished(), self._fraction(fraction))

    def _fraction(self, given: float | None) -> float:
        return self.target if given is None else _checked_fraction(given)

    def threshold(self, fraction: float = 0.9, name: str = "portfolio") -> Threshold | None:
        """Return what kept this fraction of the return in the sweep; None: never reached."""
        thresholds = self.summary.thresholds
        entries = thresholds[_checked_threshold(_checked_fraction(fraction), thresholds)]
        if name not in [*entries]:  # a list can be asked for anything
            raise ConfigError(f"{name!r} was not pruned.{nearest(name, entries)}")
        return entries[name]

    def replay(
        self,
        episode: str | int,
        frames: bool = False,
        trust_policy: bool = False,
        load_timeout: float = LOAD_TIMEOUT,
    ) -> Replay:
        """Play a stored episode again, step by step: `suite:17`, `original:3`, `default:3`,
        `pruned:3` or `MEASURE@KEPT:3`; a plain number is an episode of the suite."""
        from rpd_core.results.replay import replay  # it plays; reading does not need it

        return replay(self, episode, frames, trust_policy, load_timeout)


def incomplete(run: Run) -> str:
    """Return what to say of an answer that stands on a suite with gaps; empty: there are none."""
    missing, wanted = run.missing, run.progress[1]
    if not missing:
        return ""
    return (
        f"this stands on {wanted - _count(missing)} of {wanted} episodes: the suite is not "
        f"complete, {ranges_in_words(missing)} missing"
    )


def _checked_count(count: object) -> int:
    number = int(count) if isinstance(count, numbers.Integral) else 0
    if isinstance(count, bool) or number < 1:
        raise ConfigError(f"count must be a whole number of at least 1, got {brief(count)}")
    return number


def _checked_fraction(fraction: object) -> float:
    if isinstance(fraction, bool) or not isinstance(fraction, numbers.Real):
        raise ConfigError(f"fraction must be a number, for example 0.9, got {brief(fraction)}")
    return float(fraction)


def _checked_threshold(fraction: float, known: Iterable[str]) -> str:
    """Return the name of a threshold among those that were asked for."""
    name = f"{fraction:g}"
    if name not in known:
        raise ConfigError(f"no threshold of {name}: there are {', '.join(known)}")
    return name


def _count(ranges: list[tuple[int, int]]) -> int:
    return sum(last - first + 1 for first, last in ranges)


def open_run(path: str | os.PathLike[str], analysis: str | None = None) -> Run:
    """Open a stored run for reading: nothing is played, locked or written.

    Neither the policy nor the environment need be there. `analysis` names one of those stored;
    none: the latest. A run without a finished analysis can be opened, too.
    """
    directory = RunDirectory(path_of(path, "path", "the folder of a run"))
    directory.stored()  # raises where it is not a run
    return Run(directory.path, directory.choose_analysis(analysis))


def as_run(run: Run | str | os.PathLike[str], analysis: str | None = None) -> Run:
    """Return a run that is open already, or open a stored one for reading."""
    return run if isinstance(run, Run) else open_run(run, analysis)

"""The list of decisions as rows in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.analysis.decisions import Decisions
from rpd_core.analysis.suite import StoredEpisodes
from rpd_core.play.names import Names
from rpd_core.results.records import TOO_FEW, Decision, ListFacts
from rpd_core.results.words import default_words, policy_words

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import FloatArray, IntArray

_HARDLY = 0.01
"""Share of the unmutated episodes below which a state counts as hardly ever reached."""
_FIRST = 50
"""Decisions that are looked at to say what the list is about."""


def decision_rows(
    found: Decisions, rows: IntArray, stored: StoredEpisodes, names: Names
) -> tuple[Decision, ...]:
    """Return some rows of the list; their rank is their place among all that are given."""
    keys = found.counted.states.key[rows]
    words = _told_apart(stored.words(keys))
    reached = found.reach.share_of_episodes(keys)
    steps = found.reach.share_of_steps(keys)
    needed = found.verdicts.episodes_needed(found.counted.episodes)
    labels = found.verdicts.labels()
    made = []
    for place, row in enumerate(rows.tolist()):
        key = int(keys[place])
        verdict = labels[row]
        settled = needed[row] if verdict == "undecided" and np.isfinite(needed[row]) else None
        s, states = found.counted.spectrum, found.counted.states
        made.append(
            Decision(
                rank=place + 1,
                key=key,
                state=words.get(key, f"{key:016x}"),
                policy_action=policy_words(states, row, names.choices),
                default_action=default_words(states, row, names.choices),
                risk_mutated=_risk(s.mutated_failed, s.mutated_passed, row),
                risk_kept=_risk(s.kept_failed, s.kept_passed, row),
                effect=float(found.effects.estimate[row]),
                low=float(found.effects.low[row]),
                high=float(found.effects.high[row]),
                reached=float(reached[place]),
                reached_steps=float(steps[place]),
                episodes_mutated=round(float(s.mutated_failed[row] + s.mutated_passed[row])),
                episodes_kept=round(float(s.kept_failed[row] + s.kept_passed[row])),
                verdict=TOO_FEW if verdict is None else str(verdict),
                settled_at=None if settled is None else int(settled),
                score=float(found.ranking.scores[row]),
                differed=float(found.counted.differed[row]),
                visits=int(states.visits[row]),
            )
        )
    return tuple(made)


def _told_apart(words: Mapping[int, str]) -> dict[int, str]:
    """Return states in words, with their keys where an abstraction says the same of several."""
    same = Counter(words.values())
    return {key: f"{text} ({key:016x})" if same[text] > 1 else text for key, text in words.items()}


def _risk(failed: FloatArray, passed: FloatArray, row: int) -> float | None:
    total = float(failed[row] + passed[row])
    return float(failed[row]) / total if total else None


def list_facts(found: Decisions, evidence: int, margin: float, note: str = "") -> ListFacts:
    """Return what the list holds and what it leaves out."""
    rows = found.listed()
    labels = found.verdicts.labels()
    counts = Counter(str(labels[row]) for row in rows.tolist())
    reached = found.reach.share_of_episodes(found.counted.states.key[rows[:_FIRST]])
    return ListFacts(
        measure=found.ranking.name,
        listed=len(rows),
        evidence=evidence,
        margin=margin,
        too_few=int((~found.evidence & found.differs).sum()),
        never_differed=int((~found.differs).sum()),
        verdicts=dict(counts),
        unmutated_episodes=found.reach.total_episodes,
        reached=int((reached > _HARDLY).sum()),
        note=note,
    )

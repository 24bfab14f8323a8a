"""Decisions as rows in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from rpd_core.analysis.suite import Reach, StoredEpisodes
from rpd_core.analysis.verdicts import Decisions
from rpd_core.play.names import Names
from rpd_core.plugin.protocols import States
from rpd_core.results.records import TOO_FEW, Decision, ListFacts, RankedDecision
from rpd_core.results.words import default_words, policy_words

if TYPE_CHECKING:
    from rpd_core.plugin.protocols import FloatArray, IntArray, KeyArray
    from rpd_core.pruning.losses import Losses

_HARDLY = 0.01
"""Share of the unmutated episodes below which a state counts as hardly ever reached."""
_NEVER = "not reached"
"""What stands for an action in a state that no episode of the losses visits."""
_FIRST = 50
"""Decisions that are looked at to say what the list is about."""


def ranked_rows(
    found: Decisions,
    rows: IntArray,
    stored: StoredEpisodes,
    names: Names,
    kept: KeyArray | None = None,
) -> tuple[RankedDecision, ...]:
    """Return some rows of the list; their rank is their place among all that are given."""
    inside = set() if kept is None else set(kept.tolist())
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
            RankedDecision(
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
                in_policy=key in inside,
            )
        )
    return tuple(made)


def decision_rows(
    losses: Losses,
    states: States,
    words: Mapping[int, str],
    reach: Reach,
    names: Names,
    falls: bool = True,
) -> tuple[Decision, ...]:
    """Return the decisions of a smallest policy, by loss; `falls`: more steps may lose more."""
    order = np.lexsort((losses.keys, -losses.loss))
    rows = {key: row for row, key in enumerate(states.key.tolist())}
    told, whole = _told_apart(words), reach.share_of_episodes(losses.keys)
    made = []
    for rank, one in enumerate(order.tolist(), start=1):
        key = int(losses.keys[one])
        row = rows.get(key)
        made.append(
            Decision(
                rank=rank,
                key=key,
                state=told.get(key, f"{key:016x}"),
                policy_action=_NEVER if row is None else policy_words(states, row, names.choices),
                default_action=_NEVER if row is None else default_words(states, row, names.choices),
                loss=float(losses.loss[one]),
                loss_low=float(losses.low[one]),
                loss_high=float(losses.high[one]),
                at_least=bool(falls and losses.cut_short[one]),
                return_without=float(losses.without[one]),
                return_without_low=float(losses.without_low[one]),
                return_without_high=float(losses.without_high[one]),
                share=float(losses.shares[one]),
                needed=bool(losses.needed[one]),
                overrides=float(losses.overrides[one]),
                steps=float(losses.steps[one]),
                reached=float(losses.reached[one]),
                reached_whole=float(whole[one]),
                twins=int(losses.twins[one]),
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

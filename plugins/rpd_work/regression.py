"""Does a new policy need decisions that the old one did not? For tests of policies."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from rpd_compare.compare import compare
from rpd_compare.records import ComparedDecision, Comparison, Need
from rpd_core.api import run as play_run
from rpd_core.results.words import few

_LISTED = 10
"""Decisions that a message lists."""


def compared(policy: Any, like: str | os.PathLike[str], settings: Mapping[str, Any]) -> Comparison:
    """Play a run of a policy as a stored run was played, and compare the two."""
    asked: dict[str, Any] = {"progress": False, "finish": (), "note": lambda text: None}
    return compare(like, play_run(policy=policy, like=like, **asked | dict(settings)))


def faults_of(
    found: Comparison, new_decisions: int, worth: float, same_rules: bool, at_least: float | None
) -> list[str]:
    """Return what speaks against the second policy, in lines; none: nothing does."""
    new, faults = found.b, []
    if at_least is not None and new.return_mean < at_least:
        faults.append(f"its mean return is {few(new.return_mean)}, below {few(at_least)}")
    if new.smallest is None:
        return [*faults, "no smallest policy of it is confirmed: play more episodes"]
    least = worth * abs(new.return_mean - new.reference)
    more = [row for row in found.needs if row.need is Need.NEW and _sure(row) > least]
    if len(more) > new_decisions:
        allowed = f", {new_decisions} allowed" if new_decisions else ""
        faults.append(f"it needs {len(more)} decisions that the old policy did not{allowed}:")
        faults += [_new_words(row) for row in more[:_LISTED]]
    other = [row for row in found.needs if row.need is Need.BOTH and _acts_otherwise(row)]
    if same_rules and other:
        faults.append(f"it acts otherwise in {len(other)} decisions that both need:")
        faults += [_other_words(row) for row in other[:_LISTED]]
    return faults


def _sure(row: ComparedDecision) -> float:
    return 0.0 if row.b is None else row.b.loss_low


def _acts_otherwise(row: ComparedDecision) -> bool:
    assert row.a is not None
    assert row.b is not None
    before, now = (_first_action(one.policy_action) for one in (row.a, row.b))
    return before != now


def _first_action(words: str) -> str:
    """Return the commonest of the actions in words; '' for numbers, of which none is common."""
    first = words.partition(", ")[0]
    return "" if words.startswith("(") else first.rpartition(" ")[0] if "%" in first else first


def _new_words(row: ComparedDecision) -> str:
    assert row.b is not None
    return f"  {row.state}: {row.b.policy_action}, loses {few(row.b.loss)} without it"


def _other_words(row: ComparedDecision) -> str:
    assert row.a is not None
    assert row.b is not None
    return f"  {row.state}: {row.a.policy_action} before, {row.b.policy_action} now"

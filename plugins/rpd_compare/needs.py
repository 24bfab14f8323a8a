"""What the smallest policies of two runs need: in the second and not in the first, and so on."""

from __future__ import annotations

from collections.abc import Iterator

from rpd_compare.records import ComparedDecision, Need, SmallestOf
from rpd_core.results.records import Decision
from rpd_core.results.run import Run
from rpd_core.results.words import percent

_ORDER = (Need.NEW, Need.GONE, Need.BOTH)


def smallest_of(run: Run) -> SmallestOf | None:
    """Return the smallest policy of a run; None where none is confirmed."""
    policy = run.policy()
    if policy is None or not policy.met:
        return None
    return SmallestOf(
        run.target,
        policy.kept,
        policy.states,
        policy.steps,
        policy.overrides,
        policy.return_mean,
        policy.share,
        policy.share_bound,
        sum(one.needed for one in run.decisions),
    )


def compare_needs(a: Run, b: Run) -> tuple[ComparedDecision, ...]:
    """Return the decisions that either smallest policy needs: new ones first, each kind by loss."""
    if smallest_of(a) is None or smallest_of(b) is None:
        return ()
    one, two = ({row.key: row for row in run.decisions} for run in (a, b))
    found = [
        ComparedDecision(key, (one.get(key) or two[key]).state, need, one.get(key), two.get(key))
        for key in {**one, **two}
        if (need := _need(one.get(key), two.get(key))) is not None
    ]
    return tuple(sorted(found, key=lambda row: (_ORDER.index(row.need), -row.loss, row.key)))


def _need(one: Decision | None, two: Decision | None) -> Need | None:
    """Return who needs a decision; None: neither is known to."""
    first, second = (row is not None and row.needed for row in (one, two))
    if first and second:
        return Need.BOTH
    return Need.NEW if second else Need.GONE if first else None


def notes_on_needs(a: Run, b: Run) -> Iterator[str]:
    """Yield why decisions are not compared, or what must be known to read them."""
    unproven = [name for name, run in (("A", a), ("B", b)) if smallest_of(run) is None]
    if unproven:
        have = "have" if len(unproven) > 1 else "has"
        yield (
            f"{' and '.join(unproven)} {have} no confirmed smallest policy, so that what each "
            "needs is not compared."
        )
        return
    first, second = (run.directory.stored().components.get("policy") for run in (a, b))
    yield (
        "Both are the same policy: what only one of its smallest policies needs has a substitute "
        "in the other."
        if first == second
        else "Several sets of decisions would do: what only one smallest policy needs may have a "
        "substitute in the other."
    )
    if a.target != b.target:
        yield (
            f"The smallest policies are for different targets, {percent(a.target)} and "
            f"{percent(b.target)} of the return."
        )

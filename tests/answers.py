"""Answers written by hand, for tests of what is said about them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rpd_core.pruning.records import PrunedPoint
from rpd_core.results.records import (
    Baseline,
    Baselines,
    Coverage,
    Decision,
    FailedTry,
    FrontPoint,
    ListFacts,
    Minimising,
    PassRates,
    Policy,
    Returns,
    SuiteFacts,
    Summary,
    SweepFacts,
    Threshold,
)

_SUITE = {
    "env": "corridor", "policy": "goes",
    "settings": {"abstraction": ["round:1"], "default_action": "repeat", "seed": 7},
}  # fmt: skip


def decision(rank: int, loss: float = 50.0, **changes: Any) -> Decision:
    """Return a decision of a policy that returns 180."""
    made = Decision(
        rank=rank, key=rank, state=f"place {rank}", policy_action="go", default_action="stay (90%)",
        loss=loss, loss_low=loss - 5, loss_high=loss + 5, return_without=180.0 - loss,
        return_without_low=170.0 - loss, return_without_high=190.0 - loss, share=0.1, needed=True,
        overrides=0.1, steps=0.2, reached=0.5, reached_whole=0.25, twins=100,
    )  # fmt: skip
    return replace(made, **changes)


def policy(**changes: Any) -> Policy:
    """Return a confirmed policy of 3 of 40 states."""
    made = Policy(
        measure="ochiai", kept=3, states=0.075, steps=0.284, overrides=0.26, overrides_whole=0.79,
        return_mean=180.8, return_low=178.0, return_high=183.0, target=180.0, met=True,
        episodes=1600, outcome="met", share=0.904, share_low=0.89, share_high=0.92,
        return_bound=176.8, share_bound=0.884, confidence=0.95, pass_rate=0.877,
        pass_rate_whole=1.0, worst_tenth=30.88, distinct=1600, rules_alone=None,
        rules_alone_bound=None, coverage=1.0, tries=1, calls_saved=0.716, failed=(),
        front=(front_point(9), front_point(3)),
        baselines=Baselines(
            Baseline(30, 0.75, 0.79, 0.61, 0.95, 400), None, None, None, "not measured"
        ),
        minimising=Minimising(("ochiai",), 5, 900, 9000, 10000, True, True, 0, 0.5, None),
    )  # fmt: skip
    return replace(made, **changes)


def front_point(decisions: int) -> FrontPoint:
    """Return a policy on the way to the smallest."""
    return FrontPoint(decisions, decisions / 40, 0.4, 0.3, 182.0, 0.91, 100)


def failed(kept: int) -> FailedTry:
    """Return a policy that fresh episodes refused."""
    return FailedTry("ochiai", kept, "missed", 0.8, 400)


def answer(found: Policy | None, decisions: tuple[Decision, ...] = (), **changes: Any) -> Summary:
    """Return an analysis that found a policy for 90 % of the return."""
    points = [PrunedPoint("ochiai", 10, 0.25, 0.41, 0.3, 185.0, 50),
              PrunedPoint("wong2", 32, 0.8, 0.23, 0.2, 184.0, 50)]  # fmt: skip
    met = Threshold(points[0], points[1])
    made = Summary(
        analysis="usual", env="corridor", policy_spec="goes", condition="return>=200",
        condition_asked="return>=200", original=Returns(200.0, 0.0, 100, 0.0, "given", 9.4),
        suite=SuiteFacts(5000, 3000.0, 40, 10**6, 0.4, 40, 10), coverage=Coverage(1.0, 1.0),
        pass_rates=PassRates(1.0, 0.0, 0.6), sweep=SweepFacts(1000, 2000),
        targets={"0.9": 180.0},
        thresholds={"0.9": {"ochiai": met, "portfolio": met, "random": None, "random_best": None}},
        policy=found, policies={"0.9": found}, ties={}, decisions=decisions,
        list=ListFacts("impact:shrunken", 40, 10, 0.05, 0, 0, {"matters": 40}, 400, 40),
        ranking=(), stability=None, growth=None, played=(), seed=7,
        configuration={"suite": _SUITE, "analysis": {"unvisited": "default"}},
    )  # fmt: skip
    return replace(made, **changes)


def configured(summary: Summary, abstraction: str = "round:1", **analysis: Any) -> Summary:
    """Return an answer of another abstraction, or to other settings of the analysis."""
    settings = {**_SUITE["settings"], "abstraction": [abstraction]}  # type: ignore[dict-item]
    suite = {**_SUITE, "settings": settings}
    return replace(summary, configuration={"suite": suite, "analysis": analysis})

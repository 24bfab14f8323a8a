"""The few numbers of a run that are worth a curve."""

from __future__ import annotations

from rpd_core.results.run import Run


def figures_of(run: Run) -> dict[str, float]:
    """Return what a run found as numbers by name, for loggers.

    Always `return`, the mean return of the policy as it is, `default_return`, that of acting by
    default everywhere, and `confirmed`, 1 if a smallest policy is confirmed. Then, of that policy:
    `decisions`, `states` and `steps` (shares), `overrides` and `overrides_whole` (shares of steps),
    `needed` (decisions), `smallest_return` and `share` (of the return).
    """
    found = run.summary
    figures = {
        "return": found.original.return_mean,
        "default_return": found.original.default_everywhere,
        "confirmed": 0.0,
    }
    policy = found.policy
    if policy is None or not policy.met:
        return figures
    return figures | {
        "confirmed": 1.0,
        "decisions": float(policy.kept),
        "states": policy.states,
        "steps": policy.steps,
        "overrides": policy.overrides,
        "overrides_whole": policy.overrides_whole,
        "needed": float(sum(one.needed for one in found.decisions)),
        "smallest_return": policy.return_mean,
        "share": policy.share,
    }

from rpd_core import Component, hookimpl


@hookimpl
def rpd_measures():
    summary = "How much likelier mutation makes failure"
    return [Component("lift", "rpd_lift_measure:Lift", summary, runs_code=False)]

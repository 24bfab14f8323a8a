from rpd_core import Component, hookimpl


@hookimpl
def rpd_environments():
    summary = "Cross a frozen lake"
    return [Component("lake", "rpd_lake.environment:Lake", summary, runs_code=False)]

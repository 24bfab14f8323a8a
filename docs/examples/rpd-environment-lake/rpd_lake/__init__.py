from rpd_core import Component, hookimpl


@hookimpl
def rpd_environments():
    return [Component("lake", "rpd_lake.environment:Lake", "Cross a frozen lake")]

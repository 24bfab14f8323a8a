"""Work on a Dask cluster."""

from rpd_core import Component, hookimpl


@hookimpl
def rpd_executors() -> list[Component]:
    return [
        Component(
            "dask",
            "rpd_dask.executor:Dask",
            "Workers of a Dask cluster, or of one on this machine",
            requires=("distributed", "dask"),
            install='"ranking-policy-decisions[dask]"',
            runs_code=False,
            takes=("distributed.client.Client",),
        )
    ]

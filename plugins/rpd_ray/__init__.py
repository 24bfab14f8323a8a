"""Work on a Ray cluster."""

from rpd_core import Component, hookimpl


@hookimpl
def rpd_executors() -> list[Component]:
    return [
        Component(
            "ray",
            "rpd_ray.executor:Ray",
            "Workers of a Ray cluster, or of one on this machine",
            requires=("ray",),
            install='"ranking-policy-decisions[ray]"',
            runs_code=False,
            takes=("ray._private.worker.RayContext",),
        )
    ]

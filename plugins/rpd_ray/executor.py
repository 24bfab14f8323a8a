"""The recipes: a Ray cluster that is running, or one on this machine that ends with us."""

from __future__ import annotations

import logging
import os
import re
import secrets
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rpd_core import Engine
from rpd_core.errors import ExecutionError, SpecError, one_line
from rpd_core.execute.cluster import Sender
from rpd_core.play.heartbeat import STALL_TIMEOUT

if TYPE_CHECKING:
    from rpd_ray.engine import RayEngine

_TOKENS = ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")
"""Variables by which a user chooses how Ray knows its own; read by Ray when it is imported."""
_SPANS_MACHINES = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""Whether a cluster may span machines where that is no matter of course; read in the same way."""
_OWN = {"worker_niceness": 0}
"""Ray would let its workers stand back behind everything else on the machine."""
_ADDRESS = re.compile(r"auto|(ray://)?[^=/,\s]+:\d+")

log = logging.getLogger("rpd")


@dataclass(frozen=True)
class Ray:
    """Workers of a Ray cluster that is running, or of one on this machine that ends with us.

    Where Ray is connected in this process already, that cluster is used and left as it is.
    """

    address: str = ""
    """The cluster's, for example HOST:6379, or auto; none: workers of our own on this machine."""
    timeout: float = 10.0
    """Seconds in which somebody must answer there."""
    stall_timeout: float = STALL_TIMEOUT
    """Seconds without progress after which an item's process is ended."""

    def __post_init__(self) -> None:
        if self.address and not _ADDRESS.fullmatch(self.address):
            raise SpecError(f"address must be like HOST:6379 or auto, got {self.address!r}")
        for name in ("timeout", "stall_timeout"):
            if not 0 < getattr(self, name) < float("inf"):
                raise SpecError(f"{name} must be above 0 seconds, got {getattr(self, name):g}")

    @classmethod
    def from_object(cls, context: object, stage: object) -> Ray:
        """Return an executor that uses what `ray.init` has connected, and leaves it so."""
        return cls()

    @contextmanager
    def open(self, workers: int) -> Iterator[Engine]:
        """Join the cluster now, or start our own when there is work for it."""
        if not self.address and not _is_connected():
            _keep_to_ourselves()
        import ray  # not before the token is there

        from rpd_ray.engine import RayEngine

        def connect() -> None:
            if not ray.is_initialized():
                self._init(ray, workers)

        ours = not ray.is_initialized()
        if not ours and self.address:
            raise ExecutionError(
                f"Ray is connected in this process already: leave {self.address!r} out to use "
                "that cluster, or call ray.shutdown() first"
            )
        path = () if self.address else tuple(sys.path)  # Ray's workers have another one
        engine = RayEngine(connect, Sender(self.stall_timeout, path))
        yield from self._opened(engine, ray if ours else None)

    def _opened(self, engine: RayEngine, ours: Any) -> Iterator[Engine]:
        if self.address:
            engine.connect()
        try:
            yield engine
        finally:
            if ours is not None and not engine.gone:  # it would wait, and then end this process
                ours.shutdown()

    def _init(self, ray: Any, workers: int) -> None:
        """Connect to the cluster, or start one; Ray's own words go to its log alone."""
        quiet = {"log_to_driver": False, "logging_level": "CRITICAL"}
        try:
            if self.address:
                self._knock()
                ray.init(address=self.address, **quiet)
            else:
                own = {"num_cpus": workers, "include_dashboard": False, "_system_config": _OWN}
                ray.init(address="local", **own, **quiet)
        except Exception as error:  # whatever a wrong address, token or version makes of it
            ray.shutdown()
            raise ExecutionError(self._refusal(error)) from error

    def _knock(self) -> None:
        """Check that somebody is there: Ray would try for minutes."""
        if self.address != "auto":
            host, _, port = self.address.removeprefix("ray://").rpartition(":")
            socket.create_connection((host, int(port)), self.timeout).close()

    def _refusal(self, error: Exception) -> str:
        if not self.address:
            return f"Ray cannot start on this machine ({one_line(error)}): try --executor local"
        return (
            f"no Ray cluster answers at {self.address!r} ({one_line(error)}): check the address, "
            "that 'ray start' has run on this machine too, and the token (RAY_AUTH_TOKEN)"
        )


def _is_connected() -> bool:
    """Return whether Ray is connected in this process already; that is left as it is."""
    ray = sys.modules.get("ray")
    return ray is not None and bool(ray.is_initialized())


def _keep_to_ourselves() -> None:
    """Let a cluster of our own know us by a token of its own.

    Left to itself, Ray would write one into the home directory, where the next cluster finds it,
    and it would listen on all interfaces of the machine. When told that it cannot span several
    machines, as on macOS, it keeps to the loopback.
    """
    if "ray" not in sys.modules:
        os.environ.setdefault(_SPANS_MACHINES, "0")
    elif os.environ.get(_SPANS_MACHINES) != "0":
        log.warning(
            "Ray was imported before rpd could tell it to keep to itself: a cluster that it starts "
            "listens on all interfaces of this machine, for whoever has its token"
        )
    chosen = any(os.environ.get(name) for name in _TOKENS)
    if (
        "ray" not in sys.modules
        and not chosen
        and not Path("~/.ray/auth_token").expanduser().exists()
    ):
        os.environ["RAY_AUTH_MODE"] = "token"
        os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)

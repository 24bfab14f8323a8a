"""The recipes: a cluster that is running, a client that somebody holds, or workers of our own."""

from __future__ import annotations

import importlib.util
import logging
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields
from pathlib import Path

import dask
from distributed import Client, LocalCluster
from distributed.security import Security

from rpd_core import Engine
from rpd_core.errors import ExecutionError, SpecError, nearest, one_line
from rpd_core.execute.processes import ctrl_c_waits
from rpd_core.play.heartbeat import STALL_TIMEOUT
from rpd_dask.engine import DaskEngine

_QUIET = {
    "distributed.admin.large-graph-warning-threshold": "1GB",  # rankings travel with evaluations
    "distributed.comm.retry.count": 0,
}
_OWN = {
    "distributed.scheduler.allowed-failures": 0,  # the core tries again, nobody else
    "distributed.scheduler.work-stealing": False,  # it would shift what is about to be done
    "distributed.worker.memory.terminate": False,  # the work is not in the process it looks at
}


_ADDRESS = re.compile(r"([a-z]+://)?[^=/,\s]+:\d+(/\S*)?")


@dataclass(frozen=True)
class Dask:
    """Workers of a Dask cluster that is running, or of one on this machine that ends with us."""

    address: str = ""
    """The scheduler's, for example tcp://HOST:8786; none: workers of our own on this machine."""
    timeout: float = 10.0
    """Seconds in which a scheduler must answer."""
    stall_timeout: float = STALL_TIMEOUT
    """Seconds without progress after which an item's process is ended."""
    tls_ca_file: str = ""
    """Certificate authority of the cluster, a file; for an address that begins with tls://."""
    tls_cert: str = ""
    """Our certificate, a file."""
    tls_key: str = ""
    """The key of our certificate, a file; none: in the same file."""

    def __post_init__(self) -> None:
        key, equals, _ = self.address.partition("=")
        if equals and key.isidentifier():
            known = [one.name for one in fields(self)]
            hint = nearest(key, known) or f" It takes {', '.join(known)}."
            raise SpecError(f"{key!r} is not a parameter of 'dask'.{hint}")
        if self.address and not _ADDRESS.fullmatch(self.address):
            raise SpecError(f"address must be like tcp://HOST:8786, got {self.address!r}")
        for name in ("timeout", "stall_timeout"):
            if not 0 < getattr(self, name) < float("inf"):
                raise SpecError(f"{name} must be above 0 seconds, got {getattr(self, name):g}")
        for name in ("tls_ca_file", "tls_cert", "tls_key"):
            path = getattr(self, name)
            if path and not self.address:
                raise SpecError(f"{name} belongs to an address: a cluster of our own needs none")
            if path and not Path(path).is_file():
                raise SpecError(f"{name}: there is no file {path!r}")
        if (self.tls_cert or self.tls_key) and not self.tls_ca_file:
            raise SpecError("tls_cert and tls_key need tls_ca_file, which tells whom to trust")

    @classmethod
    def from_object(cls, client: Client, stage: object) -> Joined:
        """Return an executor that uses a client, and leaves it open."""
        return Joined(client)

    @contextmanager
    def open(self, workers: int) -> Iterator[Engine]:
        """Join the cluster now, or start our own when there is work for it."""
        with _without_logs(), dask.config.set(_QUIET), ExitStack() as stack:

            def connect() -> Client:
                make = self._join if self.address else lambda: _start(stack, workers)
                return stack.enter_context(_closing(make()))

            yield from _opened(connect, self.stall_timeout, early=bool(self.address))

    def _join(self) -> Client:
        security = self._security()
        if self.address.startswith("tls://") and not _has_certificates(security):
            raise ExecutionError(
                f"{self.address!r} needs certificates: add tls_ca_file=FILE and tls_cert=FILE"
            )
        client = Client.__new__(Client)  # in two steps: one that is half made must be closed, too
        try:
            client.__init__(
                self.address,
                timeout=self.timeout,
                security=security,
                set_as_default=False,
                name="rpd",
            )
        except Exception as error:  # whatever a wrong address, host or certificate makes of it
            client.__del__()  # which closes as much of it as there is
            raise ExecutionError(
                f"no Dask scheduler answers at {self.address!r} ({one_line(error)}): check the "
                "address, that 'dask scheduler' is running there, and its TLS settings"
            ) from error
        return client

    def _security(self) -> Security:
        """Return the credentials that were given, or those of Dask's own configuration."""
        if not self.tls_ca_file:
            return Security()
        return Security(
            tls_ca_file=self.tls_ca_file,
            tls_client_cert=self.tls_cert or None,
            tls_client_key=self.tls_key or self.tls_cert or None,
            require_encryption=True,
        )


def _has_certificates(security: Security) -> bool:
    return bool(security.tls_ca_file and security.tls_client_cert)


@dataclass(frozen=True)
class Joined:
    """A client that somebody holds, and keeps."""

    client: Client
    stall_timeout: float = STALL_TIMEOUT
    """Seconds without progress after which an item's process is ended."""

    @contextmanager
    def open(self, workers: int) -> Iterator[Engine]:
        """Use the client as it is; the size of its cluster counts, not ours."""
        if self.client.asynchronous or self.client.status != "running":
            raise ExecutionError(
                f"this Dask client is {self._fault()}: hand over one that is connected, made by "
                "distributed.Client(...)"
            )
        with dask.config.set(_QUIET):
            yield from _opened(lambda: self.client, self.stall_timeout, early=True)

    def _fault(self) -> str:
        return "asynchronous" if self.client.asynchronous else str(self.client.status)


def _opened(connect: Callable[[], Client], stall_timeout: float, early: bool) -> Iterator[Engine]:
    """Yield an engine, and end what works for it on the cluster."""
    engine = DaskEngine(connect, stall_timeout)
    if early:
        engine.connect()
    try:
        yield engine
    finally:
        engine.dismiss()


def _start(stack: ExitStack, workers: int) -> Client:
    """Start a scheduler and workers on this machine that nobody else can talk to."""
    secret = importlib.util.find_spec("cryptography") is not None
    try:
        with dask.config.set(_OWN), ctrl_c_waits():  # workers would answer it with a traceback
            cluster = LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                host="127.0.0.1",
                protocol="tls://" if secret else "tcp://",
                security=Security.temporary() if secret else None,
                dashboard_address=None,
                scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},  # its port for health checks
                memory_limit=None,
                silence_logs=logging.CRITICAL,
                worker_dashboard_address=None,
            )
        stack.enter_context(cluster)
        return Client(cluster, set_as_default=False, name="rpd")
    except Exception as error:  # of sockets, processes and disks
        raise ExecutionError(
            f"Dask cannot start a cluster on this machine ({one_line(error)}): try --executor local"
        ) from error


@contextmanager
def _closing(client: Client) -> Iterator[Client]:
    try:
        yield client
    finally:
        client.close()


@contextmanager
def _without_logs() -> Iterator[None]:
    """Keep Dask's log off the screen: what matters is said in a line of ours."""
    names = [name for name in logging.root.manager.loggerDict if name.startswith("distributed")]
    before = {logging.getLogger(name): logging.getLogger(name).level for name in names}
    for log in before:
        log.setLevel(logging.CRITICAL + 1)  # each has a level of its own
    try:
        yield
    finally:
        for log, level in before.items():
            log.setLevel(level)

"""One thread for numerics: in a process of ours, or while episodes are played in another's."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
_here = threading.local()
"""Whether numerics of the current thread of Python have one thread already."""


def one_thread() -> None:
    """Restrict numerical libraries that this process imports later to one thread."""
    os.environ.update(_ONE_THREAD)


@contextmanager
def one_numeric_thread() -> Iterator[None]:
    """Restrict NumPy, and torch where a policy has imported it, to one thread inside the block.

    With more threads they split sums in another way and the last bits differ, so results would
    depend on the machine; and small products wait for threads longer than they take. Worker
    processes have one thread from their environment; here the number is set and put back, because
    the process may be the user's own.
    """
    if getattr(_here, "limited", False):  # to look for libraries takes longer than a small network
        with _one_thread_of_torch():
            yield
        return
    from threadpoolctl import threadpool_limits  # the command line sets `one_thread` first of all

    # torch first: limited to one thread of OpenMP it says one, whatever its MKL was told before
    with _one_thread_of_torch(), threadpool_limits(1):
        _here.limited = True
        try:
            yield
        finally:
            _here.limited = False


@contextmanager
def _one_thread_of_torch() -> Iterator[None]:
    torch = sys.modules.get("torch")  # looked up, not imported: most policies need none
    before = torch.get_num_threads() if torch is not None else 1
    if torch is None or before == 1:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)

"""One thread for numerics: in a process of ours, or while episodes are played in another's."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


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
    from threadpoolctl import threadpool_limits  # the command line sets `one_thread` first of all

    with threadpool_limits(1), _one_thread_of_torch():
        yield


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

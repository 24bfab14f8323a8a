"""One thread for numerics while episodes are played, and the caller's number afterwards."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits


@contextmanager
def one_numeric_thread() -> Iterator[None]:
    """Restrict NumPy, and torch where a policy has imported it, to one thread inside the block.

    With more threads they split sums in another way and the last bits differ, so results would
    depend on the machine; and small products wait for threads longer than they take. Worker
    processes have one thread from their environment; here the number is set and put back, because
    the process may be the user's own.
    """
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

"""One thread for numerics while a policy is loaded and asked, and the caller's number afterwards.

With more threads torch splits sums in another way and the last bits differ, so results would
depend on the machine. Workers have one thread from their environment, and nothing is done there.
In anyone else's process the number is set and put back: that takes a third of a microsecond, and
torch keeps the idle threads, so the caller's next computation finds them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute with one thread inside the block."""
    before = torch.get_num_threads()
    if before == 1:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)

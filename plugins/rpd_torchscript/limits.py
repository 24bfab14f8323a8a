"""How much a stranger's file may hold and how much one call of it may do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import prod
from pathlib import Path

from torch import Tensor

from rpd_core.errors import EpisodeError, FitError, one_line
from rpd_core.untrusted.boundary import Flaw, Refused, check_loading

UNPACKED_BYTES = 2**31
"""Bytes in all members of an archive together."""
CODE_BYTES = 2**21
"""Bytes of code in all members together."""
NUMBERS = 2**27
"""Numbers in one tensor."""
CALL_BYTES = 2**31
"""Bytes of tensors that one call may make."""
CALL_WORK = 3 * 10**10
"""Multiplications (and the like) in one call."""
CALL_STEPS = 10**6
"""Nodes of code that one call may evaluate in loops."""
_WORK_PER_BYTE = 5
"""What a byte of a new tensor counts for, in multiplications."""
ITEMS = 10**6
"""Items in one list, letters in one text."""
AXES = 64
"""Axes of a tensor, and whole numbers in a list that says something about each."""
PIECES = 10_000
"""Tensors in a list."""


TRUST = "refused. If you trust whoever made the file, add trust=true or --trust-policy"
"""The way out for files that want more than rpd does for a stranger."""


class Fault(Exception):
    """What the code of a file did wrong while it was evaluated."""


class Forbidden(Fault):
    """The code does what a policy must not do, however it is called; `remedy` is the way out."""

    def __init__(self, what: str, remedy: str = TRUST) -> None:
        super().__init__(what)
        self.remedy = remedy


class Exhausted(Forbidden):
    """A call needs more than it may use."""


class Unusable(FitError):
    """A file that is not loaded without trust, whatever the environment."""


def contradiction(what: str) -> Forbidden:
    """Return the error for a file that asks for what it lacks."""
    return Forbidden(f"is damaged or made to do harm: {what}", "copy or save it again")


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Turn what is wrong inside a file into one line that names it."""
    try:
        yield
    except Forbidden as error:
        raise Unusable(f"{path.name} {error}: {error.remedy}") from error
    except Refused as error:
        what = f"cannot be read without running it: {error}"
        raise Unusable(f"{path.name} {what}: {TRUST}") from error
    except Flaw as error:
        raise Unusable(f"{path.name}: {error}") from error


def last_line(error: BaseException) -> str:
    """Return the line of torch's long reports that says what happened."""
    error = (error.__cause__ or error) if isinstance(error, EpisodeError) else error
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    marked = [line.partition("Error:")[2].strip() for line in lines if "Error:" in line]
    if marked and marked[-1]:
        text = marked[-1]
    elif isinstance(error, Fault | RuntimeError):
        text = " ".join(lines).partition(" Exception raised from ")[0]
    else:
        text = one_line(error)
    return text[:200].rstrip(". ")


class Meter:
    """What is left for one call to use, and whether the numbers of its inputs steer it."""

    def __init__(self, frozen: frozenset[int] = frozenset()) -> None:
        self.room, self.work, self.steps = CALL_BYTES, CALL_WORK, CALL_STEPS
        self.frozen = frozen
        """Where the memory of the weights begins, which nobody may write to."""
        self.from_inputs: set[int] = set()
        """Ids of the tensors whose numbers depend on the inputs."""
        self.steered = self.wrote = False
        """Whether such numbers decided over anything but numbers; whether any were changed."""

    def made(self, result: Tensor) -> None:
        """Count a new tensor."""
        size = result.nbytes
        self.room -= size
        self.work -= size * _WORK_PER_BYTE
        if self.room < 0 or self.work < 0:
            raise Exhausted(f"makes more than {CALL_BYTES >> 30} GB of tensors in one call")

    def worked(self, count: int) -> None:
        """Count multiplications before they are done."""
        self.work -= count
        if self.work < 0:
            raise Exhausted(f"does more than {CALL_WORK:.0e} multiplications in one call")

    def stepped(self, count: int = 1) -> None:
        """Count nodes of code before they are evaluated."""
        check_loading()
        self.steps -= count
        if self.steps < 0:
            raise Exhausted(f"goes on for more than {CALL_STEPS} steps in one call")

    def own(self, target: Tensor) -> None:
        """Check that a tensor may be changed in place."""
        if target.numel() and target.untyped_storage().data_ptr() in self.frozen:
            raise Forbidden(
                "changes its own weights or buffers when it is called, so that two workers would "
                "answer differently"
            )
        self.wrote = True
        self.worked(target.nbytes * _WORK_PER_BYTE)

    def read(self, *tensors: Tensor) -> None:
        """Note that numbers in these tensors decide over plain values, shapes or errors."""
        if self.wrote or any(id(tensor) in self.from_inputs for tensor in tensors):
            self.steered = True


def check_count(count: int) -> None:
    """Refuse a tensor of so many numbers, before it is made."""
    if not 0 <= count <= NUMBERS:
        raise Exhausted(f"asks for a tensor of {count} numbers, more than {NUMBERS}")


def check_axes(count: int) -> None:
    """Refuse a tensor of so many axes: torch recurses over them, and takes a while for each."""
    if count > AXES:
        raise Fault(f"a tensor of {count} axes is too much")


def check_sizes(sizes: Sequence[int]) -> None:
    """Refuse the shape of a tensor, before it is made."""
    check_axes(len(sizes))
    if any(size < 0 for size in sizes):
        raise Fault(f"a tensor cannot have the size {list(sizes)}")
    check_count(prod(sizes))

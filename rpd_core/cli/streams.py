"""Standard streams: there when they were closed, and free for the answer while others play."""

from __future__ import annotations

import ctypes
import io
import os
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress


def open_closed_streams() -> None:
    """Put nothing in the place of streams that were closed, or files would take their numbers."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # it takes this number
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r" if number == 0 else "w"))  # noqa: SIM115
        elif isinstance(stream := getattr(sys, name), io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # terminals that know ASCII alone


def flush_answer() -> str:
    """Write out what was printed; return what is wrong if that cannot be done, else nothing."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has left, which is its right
        _discard_output()
    except OSError as error:
        _discard_output()
        return f"cannot write the answer: {error.strerror}"
    return ""


def reader_has_left(error: BaseException) -> bool:
    """Return whether an error comes from writing an answer that nobody reads any more.

    A pipe to a worker may break, too: whether standard output is one without a reader decides.
    """
    if isinstance(error, SystemExit):  # of rich, which has closed the output, and of typer
        return isinstance(error.__context__, BrokenPipeError)
    if not isinstance(error, BrokenPipeError):
        return False
    if not hasattr(select, "poll"):  # on Windows: there is no telling
        return True
    output = select.poll()
    output.register(1, 0)
    return bool(output.poll(0))


def _discard_output() -> None:
    """Throw away what is still to be written, or Python would try again at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


@contextmanager
def output_for_the_answer() -> Iterator[None]:
    """Meanwhile send what anybody prints to standard error, also C code and other programs."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        if sys.__stdout__ is not None:
            sys.__stdout__.flush()  # some print there on purpose
        with suppress(TypeError):  # of Windows, whose C library has no name
            ctypes.CDLL(None).fflush(None)  # what C code has printed may still be in its buffers
        os.dup2(kept, 1)
        os.close(kept)

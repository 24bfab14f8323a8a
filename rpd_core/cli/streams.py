"""Standard streams and signals: what a process of the command line begins and ends with."""

from __future__ import annotations

import io
import os
import select
import signal
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
            setattr(sys, name, open(os.devnull, "r" if number == 0 else "w", encoding="utf-8"))  # noqa: SIM115
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
            import ctypes  # needed once, at the end

            ctypes.CDLL(None).fflush(None)  # what C code has printed may still be in its buffers
        os.dup2(kept, 1)
        os.close(kept)


QUICK = frozenset({"list-plugins", "describe", "new-plugin"})
"""Commands that import nothing that takes long."""
_shown: list[str] = []


def show_status(words: list[str]) -> None:
    """Show a line on a terminal, if a command takes long to begin; it is written over later."""
    first = words[0] if words else "-"
    slow = first not in QUICK and first[0] != "-" and not {"-h", "--help"} & set(words)
    if slow and sys.stderr is not None and sys.stderr.isatty():
        _shown.append("rpd: loading ...")
        sys.stderr.write(f"{_shown[0]}\r")
        sys.stderr.flush()


def clear_status() -> None:
    """Remove the line, if it is there."""
    if _shown:
        _shown.clear()
        sys.stderr.write("\x1b[2K\r")
        sys.stderr.flush()


_REQUESTS = (signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else []))
"""Windows has no terminals that hang up."""


class _Stopped(KeyboardInterrupt):
    """Somebody other than the person at the keyboard asks rpd to end."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


class Interrupted(KeyboardInterrupt):
    """Work was interrupted that can be gone on with."""

    def __init__(self, advice: str, code: int) -> None:
        super().__init__(advice)
        self.advice = advice
        """What was kept, and how to go on."""
        self.code = code
        """The exit code."""


def heed_signals() -> None:
    """Make requests to end interrupt as Ctrl-C does, unless they are ignored, as under nohup."""
    for number in _REQUESTS:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _stop)


def _stop(number: int, frame: object) -> None:
    raise _Stopped(number)


def exit_code(stop: KeyboardInterrupt) -> int:
    """Return the exit code that shells know: 130 after Ctrl-C, 143 when terminated."""
    if isinstance(stop, Interrupted):
        return stop.code
    return 128 + (stop.number if isinstance(stop, _Stopped) else signal.SIGINT)

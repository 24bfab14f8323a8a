"""Signals that ask rpd to end: it tidies up as after Ctrl-C."""

from __future__ import annotations

import signal

_REQUESTS = (signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else []))
"""Windows has no terminals that hang up."""


class Stopped(KeyboardInterrupt):
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
    raise Stopped(number)


def exit_code(stop: KeyboardInterrupt) -> int:
    """Return the exit code that shells know: 130 after Ctrl-C, 143 when terminated."""
    if isinstance(stop, Interrupted):
        return stop.code
    return 128 + (stop.number if isinstance(stop, Stopped) else signal.SIGINT)

"""Signals that ask rpd to end: it tidies up as after Ctrl-C."""

from __future__ import annotations

import signal

_REQUESTS = (signal.SIGTERM, signal.SIGHUP)


class Stopped(KeyboardInterrupt):
    """Somebody other than the person at the keyboard asks rpd to end."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


def heed_signals() -> None:
    """Make requests to end interrupt as Ctrl-C does, unless they are ignored, as under nohup."""
    for number in _REQUESTS:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _stop)


def _stop(number: int, frame: object) -> None:
    raise Stopped(number)


def exit_code(stop: KeyboardInterrupt) -> int:
    """Return the exit code that shells know: 130 after Ctrl-C, 143 when terminated."""
    return 128 + (stop.number if isinstance(stop, Stopped) else signal.SIGINT)

"""A program on a terminal of its own, and what is to be seen there."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path

from watching import heed_signals

_SEQUENCE = re.compile(r"\x1b\[([?0-9;]*)([A-Za-z])")


def screen(text: str) -> list[str]:
    """Return the lines that a terminal shows after a text: carriage returns, and the sequences
    that progress bars are drawn with."""
    lines, row, column, at = [""], 0, 0, 0
    while at < len(text):
        found = _SEQUENCE.match(text, at)
        if found:
            at = found.end()
            if found[2] == "A":
                row = max(row - int(found[1] or 1), 0)
            elif found[2] == "K":
                lines[row] = "" if found[1] == "2" else lines[row][:column]
            continue
        sign, at = text[at], at + 1
        if sign == "\r":
            column = 0
        elif sign == "\n":
            row, column = row + 1, 0
            lines += [""] * (row + 1 - len(lines))
        else:
            lines[row] = lines[row].ljust(column)[:column] + sign + lines[row][column + 1 :]
            column += 1
    return [line.rstrip() for line in lines]


class Terminal:
    """A process whose input, output and errors are a terminal."""

    def __init__(self, words: list[str], cwd: Path, width: int = 100) -> None:
        self.ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
        self.process = subprocess.Popen(
            [sys.executable, *words],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=cwd,
            env={**os.environ, "TERM": "xterm"},
            start_new_session=True,
            preexec_fn=_take_terminal,
        )
        os.close(theirs)
        self.text = ""

    def read(self, seconds: float = 0.1) -> None:
        """Take what the process has written, or wait a while for it."""
        if select.select([self.ours], [], [], seconds)[0]:
            try:
                self.text += os.read(self.ours, 65536).decode(errors="replace")
            except OSError:  # the other end is closed
                time.sleep(seconds)

    def until(self, holds: Callable[[str], object], seconds: float = 120.0) -> None:
        """Read until something is true of all that was written."""
        deadline = time.monotonic() + seconds
        while not holds(self.text):
            assert time.monotonic() < deadline, self.text
            assert self.process.poll() is None or holds(self.text), self.text
            self.read()

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self.ours, text.encode())

    def end(self, seconds: float = 120.0) -> int:
        """Read to the end and return the exit code."""
        deadline = time.monotonic() + seconds
        while self.process.poll() is None:
            assert time.monotonic() < deadline, self.text
            self.read()
        self.read()
        os.close(self.ours)
        return self.process.returncode

    def kill(self) -> None:
        """End the process, if it has not ended."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def _take_terminal() -> None:
    heed_signals()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # so that Ctrl-C is heard

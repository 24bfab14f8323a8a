"""The command `rpd`: the way in and out.

Imports that take time come when signals are heeded, so that Ctrl-C ends them quietly, too.
"""

from __future__ import annotations

import sys

from rpd_core.cli.streams import clear_status, exit_code, heed_signals, show_status


def main() -> None:
    """Start the command line."""
    try:
        heed_signals()
        sys.exit(_start())
    except KeyboardInterrupt as stop:  # before there was anything to say, or after it was said
        clear_status()
        sys.exit(exit_code(stop))


def _start() -> int:
    from rpd_core.cli.streams import flush_answer, open_closed_streams

    open_closed_streams()
    show_status(sys.argv[1:])
    from rpd_core.play.heartbeat import one_thread

    one_thread()  # before anything numerical is imported
    from rpd_core.cli.app import start

    code = start()
    complaint = flush_answer()
    if complaint:
        sys.stderr.write(f"rpd: {complaint}\n")
    return code or (2 if complaint else 0)


if __name__ == "__main__":
    main()

"""What is seen on a terminal, and in a log: from the first moment to Ctrl-C."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from terminal import Terminal, screen

from rpd_core.cli import console
from rpd_core.execute.progress import Pace

LIGHT = ["--env", "gym:CartPole-v1", "--policy", "random", "--default-action", "constant:0"]
"""An environment that is opened quickly; no network."""
RPD = ["-m", "rpd_core.cli.main"]


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Callable[..., Terminal]]:
    """Start programs on terminals; whatever still runs is ended."""
    started: list[Terminal] = []

    def start(*words: str) -> Terminal:
        started.append(Terminal(list(words), tmp_path))
        return started[-1]

    yield start
    for one in started:
        one.kill()


LONG = """
from rpd_core.cli import cost
cost.LONG = 0.0
from rpd_core.cli.main import main
main()
"""
"""Every run is long."""
TOLD = """
import os, sys

class Told:
    def find_spec(self, name, path=None, target=None):
        if name in ("typer", "numpy"):
            os.write(2, f"[{name}]".encode())

sys.meta_path.insert(0, Told())
from rpd_core.cli.main import main
main()
"""
"""Says what is imported, as it is."""


def test_something_is_shown_before_anything_heavy_is_imported(
    terminal: Callable[..., Terminal],
) -> None:
    words = ["suite", *LIGHT, "--episodes", "20", "--workers", "1", "--yes"]
    shown = terminal("-c", TOLD, *words)
    assert shown.end() == 0, shown.text
    first, then, later = (shown.text.index(w) for w in ("rpd: loading", "[typer]", "[numpy]"))
    assert first < then < later
    assert then < shown.text.index("starting") < later
    assert "loading" not in "\n".join(screen(shown.text)[1:])
    assert "20 episodes, " in "\n".join(screen(shown.text))


def test_ctrl_c_leaves_the_bars_and_speaks_below_them(terminal: Callable[..., Terminal]) -> None:
    words = ["suite", *LIGHT, "--episodes", "100000", "--workers", "1", "--out", "run", "--yes"]
    shown = terminal(*RPD, *words)
    shown.until(lambda text: re.search(r"suite \S* ?\S* *[1-9]\d*/100000", _plain(text)))
    shown.until(lambda text: re.search(r"/100000 episodes \S+ \d+:\d\d:\d\d left", _plain(text)))
    shown.type("\x03")
    assert shown.end() == 130
    lines = [line for line in screen(shown.text) if line]
    bars = [place for place, line in enumerate(lines) if "━" in line]
    (said,) = [place for place, line in enumerate(lines) if line.startswith("rpd: interrupted")]
    assert bars
    assert said == max(bars) + 1
    assert "episodes" in lines[bars[-1]]
    assert "━" not in "".join(lines[said:])
    assert shown.text.rindex("\x1b[?25h") < shown.text.index("rpd: interrupted"), "cursor is back"


def _plain(text: str) -> str:
    return re.sub(r"\x1b\[[?0-9;]*[A-Za-z]", "", text)


@pytest.mark.parametrize(
    "key",
    ["n\n", *(pytest.param(k, marks=pytest.mark.slow) for k in ("\n", "\x04", "\x03"))],
    ids=["no", "nothing", "end", "ctrl-c"],
)
def test_a_long_run_asks_and_can_be_declined(
    terminal: Callable[..., Terminal], key: str, tmp_path: Path
) -> None:
    shown = terminal("-c", LONG, "suite", *LIGHT, "--episodes", "300", "--out", "run")
    shown.until(lambda text: "go on? [y/N]" in text)
    assert not (tmp_path / "run" / "suite").exists()
    shown.type(key)
    assert shown.end() == 130
    lines = [line for line in screen(shown.text) if line.startswith("rpd: ")]
    assert "this will take about" in lines[0]
    assert "for 300 mutant and 0 pruned episodes, judged from" in lines[0]
    assert "interrupted" in lines[-1] if key == "\x03" else "before the long work" in lines[-1]


@pytest.mark.slow
def test_a_long_run_goes_on_when_that_is_wanted(
    terminal: Callable[..., Terminal], tmp_path: Path
) -> None:
    shown = terminal("-c", LONG, "suite", *LIGHT, "--episodes", "300", "--out", "run")
    shown.until(lambda text: "go on? [y/N]" in text)
    shown.type("y\n")
    assert shown.end() == 0, shown.text
    assert "300 episodes, " in "\n".join(screen(shown.text))


def test_nobody_is_asked_where_nobody_can_answer(
    cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rpd_core.cli.cost.LONG", 0.0)
    words = ["suite", *LIGHT, "--episodes", "100", "--workers", "1", "--out", "run"]
    done = cli(*words)
    assert done.exit_code == 0, done.output
    assert done.stderr.startswith("rpd: note: this will take about ")
    assert done.stderr.count("\n") == 1
    assert cli(*words).stderr == "", "what is there costs nothing"
    assert cli(*words, "--yes", "--seed", "1", "--out", "other").stderr == ""


@pytest.mark.slow
def test_a_slip_of_the_keyboard_is_noticed_in_time(
    terminal: Callable[..., Terminal], tmp_path: Path
) -> None:
    words = ["run", "--env", "cartpole", "--episodes", "1000000000", "--workers", "1"]
    shown = terminal(*RPD, *words)
    shown.until(lambda text: "go on? [y/N]" in text)
    seen = re.search(
        r"about ([\d.]+) hours and ([\d.]+) GB of disk.* ([\d.]+) GB of mem", shown.text
    )
    assert seen is not None
    assert float(seen[1]) > 10
    assert 100 < float(seen[2]) < 1000
    assert 10 < float(seen[3]) < 1000
    shown.type("n\n")
    assert shown.end() == 130
    assert list(tmp_path.glob("runs/cartpole/suite")) == []


# ------------------------------------------------------------------------------- logs


@pytest.fixture
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "EVERY", 60.0)  # other tests want no lines, however busy it is


@pytest.mark.usefixtures("_often")
def test_lines_come_every_minute_and_more_rarely_later() -> None:
    now = [0.0]
    written: list[tuple[float, str]] = []
    lines = console.Lines(lambda text: written.append((now[0], text)))
    lines.pace = Pace(lambda: now[0])
    lines.written = 0.0
    lines("suite", 0, 7200)
    for second in range(1, 7201):
        now[0] = float(second)
        lines("suite", second, 7200)
    times = [at for at, _ in written]
    assert times[:10] == [60.0 * k for k in range(1, 11)]
    assert 25 < len(times) < 40
    assert written[1][1] == ("suite: 120 of 7200 episodes (2%) in 2 minutes, about 2.0 hours left")
    now[0] = 9000.0
    lines.write_if_due()
    lines.write_if_due()
    assert [text for at, text in written if at == 9000.0] == [
        "suite: 7200 of 7200 episodes (100%) in 2.0 hours"
    ]


@pytest.mark.usefixtures("_often")
def test_a_line_says_how_far_everything_is_where_that_is_known() -> None:
    now = [0.0]
    written: list[str] = []
    lines = console.Lines(written.append)
    lines.pace, lines.written = Pace(lambda: now[0]), 0.0
    lines.pace.plan = [("suite", 100), ("minimising", 300)]
    lines("suite", 0, 100)
    now[0] = 100.0
    lines("suite", 100, 100)
    lines("minimising", 0, 50)
    now[0] = 170.0
    lines("minimising", 25, 50)
    assert written == [
        "suite: 100 of 100 episodes (100%) in 2 minutes; 25% of all, about 5 minutes left",
        "minimising: 25 episodes in 70 seconds; 31% of all, about 6 minutes left",
    ]


@pytest.mark.usefixtures("_often")
def test_a_stage_in_which_nothing_is_finished_is_heard_of_too() -> None:
    now = [0.0]
    written: list[str] = []
    lines = console.Lines(written.append)
    lines.pace, lines.written = Pace(lambda: now[0]), 0.0
    lines("prepare", 0, 1)
    now[0] = 62.0
    lines.write_if_due()
    assert written == ["prepare: 62 seconds so far"]


LOGGED = """
import time
from functools import partial
from rpd_core.cli import console
console.Pace = partial(console.Pace, lambda: 100 * time.monotonic())
console.EVERY = console.YOUNG = 1
console._LOOK_EVERY = 0.01
from rpd_core.cli.main import main
main()
"""
"""A clock that goes fast: however quick the machine is, there are seconds to tell of."""


def test_a_log_gets_plain_lines(tmp_path: Path) -> None:
    words = ["suite", *LIGHT, "--episodes", "1000", "--workers", "1", "--out", "run"]
    command = [sys.executable, "-c", LOGGED, *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stderr
    assert re.search(r"^rpd: suite: \d+ of 1000 episodes \(\d+%\) in ", done.stderr, re.M)
    assert re.search(r", about \d+ (second|seconds|minutes) left$", done.stderr, re.M)


def test_a_quick_run_leaves_the_log_empty(cli: Callable[..., Any]) -> None:
    done = cli("suite", *LIGHT, "--episodes", "50", "--workers", "1")
    assert done.stderr == ""


# --------------------------------------------------------------------- before heavy imports

EARLY = """
import sys
from rpd_core.cli.app import app
try:
    app(sys.argv[1:])
except SystemExit as end:
    heavy = [name for name in ("numpy", "gymnasium", "torch", "pyarrow") if name in sys.modules]
    print(end.code, heavy)
"""


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["run", "--measure", "nope"], "no measure is called 'nope'"),
        (["run", "--policy", "sb3:nope.zip,deterministic=false"], "nope.zip' does not exist"),
        (["suite", "--mutation-rate", "20"], "Did you mean 0.2?"),
        (["bench", "--condition", "atuo", "--seeds", "0"], "Did you mean 'auto'?"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_options_are_checked_before_anything_heavy_is_imported(
    words: list[str], told: str, tmp_path: Path
) -> None:
    command = [sys.executable, "-c", EARLY, *words, "--env", "cartpole"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert told in done.stderr
    assert done.stdout == "2 []\n"

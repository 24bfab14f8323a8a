"""Make the gallery again, for a release: play each run, picture its page, keep its first words.

    python docs/gallery/make_gallery.py WORK [NAME...]

Runs are kept in the folder WORK, so that one that was broken off goes on. Policies ship with rpd or
are the few lines of `policies.py` and `docs/examples/inventory.py`; nothing is downloaded. It needs
the extra `dev`, a Chromium, and for some entries `gymnasium[box2d]` or `flappy-bird-gymnasium`.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
WIDTH, HEIGHT, SHOWN = 1200, 900, 900
LARGEST = 120_000
"""Bytes of a picture."""


@dataclass(frozen=True)
class Entry:
    """One answer of the gallery."""

    name: str
    """What its files are called."""
    words: tuple[str, ...]
    """The options of `rpd run`."""


FLAPPY = "gym:flappy_bird_gymnasium:FlappyBird-v0,max_steps=500,use_lidar=false"
FLAPPY_NAMES = (
    "pipe x,pipe top,pipe bottom,next x,next top,next bottom,"
    "third x,third top,third bottom,bird y,bird speed,bird angle"
)
INVENTORY = ("--env", "python:inventory:Inventory,max_steps=60")
SMALL = ("--episodes", "400", "--test-episodes", "20", "--confirm-episodes", "200")
ENTRIES = (
    Entry("cartpole", ("--env", "cartpole")),
    Entry("minigrid", ("--env", "minigrid", "--seed", "121")),
    Entry(
        "doorkey",
        (
            *("--env", "minigrid:DoorKey-6x6", "--policy", "python:policies:unlock"),
            *("--abstraction", "rules"),
        ),
    ),
    Entry(
        "inventory",
        (*INVENTORY, "--policy", "python:inventory:base_stock", "--seed", "304"),
    ),
    Entry("mountaincar", ("--env", "gym:MountainCar-v0", "--policy", "python:policies:swing")),
    Entry("acrobot", ("--env", "gym:Acrobot-v1", "--policy", "python:policies:pump")),
    Entry(
        "lunarlander",
        ("--env", "gym:LunarLander-v3", "--policy", "python:policies:land", *SMALL),
    ),
    Entry(
        "flappybird",
        ("--env", FLAPPY, "--policy", "python:policies:flap", "--names", FLAPPY_NAMES, *SMALL),
    ),
)


def main(work: Path, names: list[str]) -> None:
    """Make the entries of these names, or all."""
    chosen = [entry for entry in ENTRIES if not names or entry.name in names]
    for entry in chosen:
        run = work.resolve() / entry.name
        play(entry, run)
        (HERE / f"{entry.name}.txt").write_text(answer(run), "utf-8")
        (HERE / f"{entry.name}.webp").write_bytes(picture(run / "report.html"))


def play(entry: Entry, run: Path) -> None:
    """Play a run, or go on with it."""
    rpd(*("run", *entry.words, "--out", str(run)))


def rpd(*words: str) -> str:
    """Return what a command prints, with the gallery's modules at hand."""
    places = [str(HERE), str(ROOT / "docs" / "examples"), os.environ.get("PYTHONPATH", "")]
    around = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, places)), "COLUMNS": "100"}
    call = [str(Path(sys.executable).with_name("rpd")), *words]
    done = subprocess.run(call, env=around, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


def answer(run: Path) -> str:
    """Return the first paragraph of a run's answer as one line, which the page breaks."""
    return " ".join(rpd("show", str(run)).partition("\n\n")[0].split()) + "\n"


def picture(page: Path) -> bytes:
    """Return what a window shows of the top of a page, as a small WebP."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        window = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        window.goto(page.as_uri())
        seen = Image.open(io.BytesIO(window.screenshot())).convert("RGB")
        browser.close()
    seen = seen.resize((SHOWN, SHOWN * HEIGHT // WIDTH), Image.Resampling.LANCZOS)
    for quality in (80, 65, 50, 35):
        sink = io.BytesIO()
        seen.save(sink, "WEBP", quality=quality, method=6)
        if sink.tell() < LARGEST:
            return sink.getvalue()
    raise SystemExit(f"{page} makes a picture of {sink.tell()} bytes: show less of it")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])

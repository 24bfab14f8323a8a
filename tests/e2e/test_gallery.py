"""The gallery: each answer has its files, and its policy does what the page says."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import gymnasium
import minigrid  # noqa: F401  # registers its environments
import pytest

GALLERY = Path(__file__).resolve().parents[2] / "docs" / "gallery"
sys.path.insert(0, str(GALLERY))

from policies import unlock  # noqa: E402

PAGE = (GALLERY / "index.md").read_text("utf-8")
NAMES = re.findall(r"\{literalinclude\} (\w+)\.txt$", PAGE, re.MULTILINE)


def test_there_are_eight_answers_which_the_script_makes():
    made = re.findall(r"Entry\(\s*\"(\w+)\"", (GALLERY / "make_gallery.py").read_text("utf-8"))
    assert made == NAMES
    assert len(NAMES) == 8


@pytest.mark.parametrize("name", NAMES)
def test_an_answer_has_its_words_and_its_picture(name):
    assert "enough" in (GALLERY / f"{name}.txt").read_text("utf-8")
    assert f"]({name}.webp)" in PAGE
    assert (GALLERY / f"{name}.webp").stat().st_size < 120_000


@pytest.mark.parametrize("seed", range(10))
def test_the_planner_fetches_the_key_and_reaches_the_goal(seed):
    environment = gymnasium.make("MiniGrid-DoorKey-6x6-v0")
    seen, _ = environment.reset(seed=seed)
    for _ in range(40):
        (action,) = unlock({"image": seen["image"][None]})
        seen, reward, done, _, _ = environment.step(action)
        if done:
            break
    assert reward > 0.9

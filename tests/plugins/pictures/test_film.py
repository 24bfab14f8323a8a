"""Films on request: exact pixels, who decides marked, the same seed on both sides."""

from __future__ import annotations

import builtins
import dataclasses
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import refusal, rpd_command
from films import SMALL, cartpole_run, plain_frames
from PIL import Image
from stores import corridor, finish, tree
from strangers import WORLDS, having, plugin

import rpd
from rpd_core.errors import RpdError
from rpd_pictures.cards import COLOURS, picture_in, readable, shortened, wrapped, writable
from rpd_pictures.files import GAP
from rpd_pictures.twins import LossEpisodes


@pytest.fixture(scope="module")
def run() -> rpd.Run:
    """A small run of CartPole, which nobody changes."""
    return cartpole_run()


def pages(path: Path) -> list[Image.Image]:
    """Return the frames of a film."""
    film = Image.open(path)
    found = []
    for number in range(getattr(film, "n_frames", 1)):
        film.seek(number)
        found.append(film.convert("RGB"))
    return found


def sides(page: Image.Image) -> tuple[Image.Image, Image.Image]:
    """Return the two cards of a page."""
    width = (page.width - GAP) // 2
    height = page.height
    return page.crop((0, 0, width, height)), page.crop((width + GAP, 0, page.width, height))


def colour_of(card: Image.Image) -> str:
    """Return who decides by the colour of the band."""
    found = card.getpixel((1, 36))
    return next(who for who, colour in COLOURS.items() if colour == found)


def is_marked(card: Image.Image) -> bool:
    """Return whether a card is of the step that the film is about."""
    return card.getpixel((1, card.height // 2)) == (255, 193, 7)


def test_a_film_shows_exactly_what_gymnasium_draws(run: rpd.Run, tmp_path: Path) -> None:
    made = run.draw("film", tmp_path / "film.webp", episode="suite:3", frames=6)
    film = pages(made.path)
    assert len(film) == 7
    again = run.replay("suite:3")
    actions = [{"left": 0, "right": 1}[step.action] for step in again.steps[:6]]
    mutant = plain_frames(again.seed, actions)
    original = None
    for number, page in enumerate(film[:6]):
        left, right = sides(page)
        np.testing.assert_array_equal(picture_in(right, (400, 600), True, 2), mutant[number])
        assert colour_of(left) == "policy"
        assert colour_of(right) == again.steps[number].decided_by
        original = original or picture_in(left, (400, 600), True, 2).tobytes()
    assert original == mutant[0].tobytes(), "the same seed"
    assert made.shown[0].title == "original policy"
    assert made.shown[1].title == "mutant suite:3"
    assert made.shown[1].total_return == again.total_return
    assert "the first 6 of" in made.notes[0]


def test_a_film_alone_has_one_side(run: rpd.Run, tmp_path: Path) -> None:
    made = run.draw("film", tmp_path / "film.webp", episode="original:1", frames=2, against="none")
    assert [one.title for one in made.shown] == ["original policy"]
    assert pages(made.path)[0].width == 608


def test_letters_are_twelve_pixels_high_where_a_film_is_600_wide() -> None:
    assert [readable(width) for width in (260, 600, 601, 1224)] == [12, 12, 13, 25]


@pytest.mark.parametrize(
    ("episode", "more", "title"),
    [
        ("original:1", {}, "pruned policy, "),
        ("unmutated:1", {"against": "default"}, "original policy"),
        ("pruned:1", {}, "pruned policy"),
        ("original:0", {"keep": 0.5}, "policy in the first "),
    ],
)
def test_who_stands_beside_the_original(
    run: rpd.Run, tmp_path: Path, episode: str, more: dict[str, Any], title: str
) -> None:
    made = run.draw("film", tmp_path / "film.webp", episode=episode, frames=1, **more)
    assert made.shown[1].title.startswith(title)
    first = "default action everywhere" if more.get("against") else "original policy"
    assert made.shown[0].title == first
    left, right = sides(pages(made.path)[0])
    np.testing.assert_array_equal(
        picture_in(left, (400, 600), True, 2), picture_in(right, (400, 600), True, 2)
    )


def test_an_unmutated_episode_is_the_stored_one(run: rpd.Run) -> None:
    again = run.replay("unmutated:2")
    assert again.stored_return == again.total_return
    assert {step.decided_by for step in again.steps} == {"policy"}


def test_an_episode_that_fails_or_passes_is_found(run: rpd.Run, tmp_path: Path) -> None:
    passed = run.analysis.weights >= 0.5
    for outcome, wanted in (("failing", ~passed), ("passing", passed)):
        made = run.draw("film", tmp_path / "film.webp", episode="suite", frames=1, find=outcome)
        assert made.episode == f"suite:{int(np.flatnonzero(wanted)[0])}"
        later = run.draw("film", tmp_path / "film.webp", episode="suite:20", frames=1, find=outcome)
        assert later.episode == f"suite:{20 + int(np.flatnonzero(wanted[20:])[0])}"
    asked: dict[str, Any] = {"episode": "original", "frames": 1, "find": "failing"}
    made = run.draw("film", tmp_path / "film.webp", **asked, keep=0.0)
    assert made.shown[1].total_return < 120
    with pytest.raises(RpdError, match=r"none of 4 episodes from original:0 on is failing"):
        run.draw("film", tmp_path / "film.webp", **asked)


def test_a_decision_is_shown_with_and_without_from_the_very_same_step(
    run: rpd.Run, tmp_path: Path
) -> None:
    first = next(one for one in run.decisions if one.needed)
    made = run.draw("film", tmp_path / "film.webp", decision=str(first.rank))
    again = run.replay(made.episode)
    assert again.agrees
    visit = next(step.number for step in again.steps if step.key == first.key)
    film = pages(made.path)
    shared = min(visit, 5)
    for page in film[:shared]:
        left, right = (np.asarray(side)[31:] for side in sides(page))
        np.testing.assert_array_equal(left, right)
    left, right = sides(film[shared])
    assert (colour_of(left), colour_of(right)) == ("policy", "default")
    assert [one.title for one in made.shown] == ["smallest policy", "without this decision"]
    returns = [one.total_return for one in made.shown]
    assert returns[0] == again.total_return
    assert returns[0] > returns[1], "it shows what is claimed"
    twins = LossEpisodes.read(run).twins_of(first)
    flipping = sum(one.returns[0] >= 120 > one.returns[1] for one in twins)
    assert f"In {flipping} of {first.twins} episodes that reach it, return>=120" in made.notes[0]
    marked = [place for place, page in enumerate(film) if is_marked(sides(page)[0])]
    assert marked == [shared], "the moment that the film is about"


def test_only_decisions_of_the_smallest_policy_are_filmed(run: rpd.Run, tmp_path: Path) -> None:
    inside = {one.key for one in run.decisions}
    other = next(int(key) for key in run.suite.states.key if int(key) not in inside)
    with pytest.raises(RpdError, match="is no decision of the smallest policy, which acts by"):
        run.draw("film", tmp_path / "film.webp", decision=str(other))
    opened = rpd.Run(run.path, run.name, run.setup)
    vars(opened)["summary"] = dataclasses.replace(run.summary, decisions=())
    with pytest.raises(RpdError, match="no confirmed smallest policy"):
        opened.draw("film", tmp_path / "film.webp", decision="1")


@pytest.mark.parametrize(
    ("suffix", "start"),
    [("webp", b"RIFF"), pytest.param("mp4", b"ftyp", marks=pytest.mark.extras)],
)
def test_films_have_the_same_bytes_again(
    run: rpd.Run, tmp_path: Path, suffix: str, start: bytes
) -> None:
    if suffix == "mp4":
        pytest.importorskip("imageio_ffmpeg", reason="needs the extra video")
    made = [
        run.draw("film", tmp_path / f"{name}.{suffix}", episode="suite:1", frames=3)
        for name in "ab"
    ]
    first, second = (one.path.read_bytes() for one in made)
    assert first == second
    assert start in first[:8]


def test_rendering_changes_nothing_in_the_run(run: rpd.Run, tmp_path: Path) -> None:
    before = tree(run.path)
    run.draw("film", tmp_path / "film.webp", episode="suite:1", frames=1)
    assert tree(run.path) == before


# ---------------------------------------------------------------------------- paths


@pytest.mark.slow
def test_a_path_runs_through_the_cells_that_were_visited(tmp_path: Path) -> None:
    more = {
        "lanes": 4,
        "episodes": 20,
        "chunk": 20,
        "evidence": 1,
        "shares": (1.0,),
        "condition": "return>=0.8",
    }
    done = rpd.run("minigrid", out=tmp_path / "run", **{**SMALL, **more})
    made = done.draw("path", tmp_path / "path.png", episode="unmutated:0", against="none")
    (page,) = pages(made.path)
    trace = picture_in(page, (288, 288), True)
    assert (trace == COLOURS["policy"]).all(axis=2).sum() > 100
    assert not (trace == COLOURS["default"]).all(axis=2).any()
    x, y = 1.5 * 32, 1.5 * 32
    assert trace[int(y), int(x)].tolist() == [255, 255, 255], "it starts in the corner"
    assert trace[int(7.5 * 32), int(7.5 * 32)].tolist() == [255, 255, 255], "and ends in the goal"


def test_a_path_needs_an_agent_with_a_place(run: rpd.Run, tmp_path: Path) -> None:
    with pytest.raises(RpdError, match="does not tell where its agent is"):
        run.draw("path", tmp_path / "path.png", episode="suite:1")


# --------------------------------------------------------------------------- traces


def bar_of(page: Image.Image) -> np.ndarray:
    """Return what stands below the card: a line of words of 13 pixels, and bars of 39."""
    return np.asarray(page)[-(13 + 6 + 39 + 8) :]


def coloured(bar: np.ndarray) -> int:
    """Return how many pixels of bars are not grey."""
    return int((bar.max(axis=2).astype(int) - bar.min(axis=2) > 30).sum())


@pytest.mark.parametrize("side", ["whole", "smallest"])
def test_a_traced_episode_is_filmed_with_its_losses_running_along(
    run: rpd.Run, tmp_path: Path, side: str
) -> None:
    traces = run.traces
    assert traces is not None
    made = run.draw("trace", tmp_path / "film.webp", episode=side, frames=12)
    stored = getattr(traces, side)
    assert made.episode == f"{side}:{traces.typical}"
    assert made.shown[0].total_return == stored.episodes.total_return[traces.typical]
    film = pages(made.path)
    assert len(film) == 13
    assert not [note for note in made.notes if "another way" in note]
    bars = [coloured(bar_of(page)) for page in film]
    assert bars == sorted(bars), "what is still to come is grey"
    assert bars[0] < bars[-1], "the step that is worth most is among them"
    drawn = re.search(r"steps (\d+) to (\d+) of (\d+) are drawn", made.notes[0])
    assert drawn is not None
    first = int(drawn[1])
    kept = stored.steps(traces.typical).kept[first : first + 12].tolist()
    assert [colour_of(page) == "policy" for page in film[:12]] == kept


def test_a_traced_episode_may_be_a_gif(run: rpd.Run, tmp_path: Path) -> None:
    made = [run.draw("trace", tmp_path / f"{name}.gif", frames=3) for name in "ab"]
    first, second = (one.path.read_bytes() for one in made)
    assert first[:6] == b"GIF89a"
    assert first == second
    assert made[0].episode.startswith("smallest:")


# ------------------------------------------------------------------- the command line


@pytest.fixture(scope="module")
def strange(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A run whose environment is installed only for a while."""
    path = tmp_path_factory.mktemp("strange") / "run"
    with having(plugin("strange-worlds", "1.0", WORLDS)):
        asked = corridor(env="corridor", policy="goes", evidence=2, minimise_steps=40_000)
        finish(path, asked)
        yield path


def test_the_command_writes_a_film_and_tells_what_it_shows(strange: Path, tmp_path: Path) -> None:
    out = tmp_path / "film.webp"
    told = rpd_command("draw", strange, "film", "--episode", "suite:3", "--out", out, "--json")
    assert told.exit_code == 0, told.output
    printed = json.loads(told.stdout)
    assert printed["file"] == str(out)
    assert printed["episode"] == "suite:3"
    assert [one["title"] for one in printed["shown"]] == ["original policy", "mutant suite:3"]
    assert len(pages(out)) == max(one["length"] for one in printed["shown"]) + 1
    plain = rpd_command("draw", strange, "film", "--decision", "1", "--out", out)
    assert plain.exit_code == 0
    assert "without this decision: return" in plain.stdout


def test_pictures_are_taken_by_command_at_any_later_time(strange: Path) -> None:
    told = rpd_command("draw", strange, "pictures", "--workers", "1")
    assert told.exit_code == 0, told.output
    assert "4 pictures of states and 2 pairs of clips are in" in told.stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["film"], "nothing to draw: name an --episode or a --decision"),
        (["path"], "nothing to draw: name an --episode"),
        (["film", "--episode", "suite:99"], "there is no episode suite:99"),
        (["film", "--episode", "suite:1", "--against", "nobody"], "nobody is called 'nobody'"),
        (["film", "--episode", "suite:1", "--out", "film.avi"], "must end in .webp, .mp4 or .gif"),
        (["film", "--episode", "suite:1", "--out", "no/f.webp"], "there is no folder no"),
        (["path", "--episode", "suite:1", "--out", "film.mp4"], "must end in .webp or .png"),
        (["film", "--episode", "suite:1", "--frames", "0"], "frames must be at least 1"),
        (["film", "--episode", "suite:1", "--keep", "2"], "lies in [0, 1], got 2"),
        (["film", "--episode", "suite:1", "--find", "odd"], "--find takes failing or passing"),
        (["film", "--decision", "99"], "there is no decision 99"),
        (["film", "--decision", "1", "--keep", "1"], "--keep does not go with a --decision"),
        (["film", "--decision", "1", "--episode", "pruned:1"], "--episode does not go with a"),
        (["path", "--decision", "1"], "--decision is for film, not for path"),
        (["trace", "--episode", "suite:1"], "no traced episode is called 'suite:1'"),
        (["trace", "--episode", "whole:99"], "there is no whole:99: "),
        (["trace", "--keep", "1"], "--keep is for film and path, not for trace"),
        (
            ["curves", "--episode", "suite:1"],
            "is for film and trace and path, not for curves",
        ),
        (["film", "--count", "3"], "--count is for decisions, not for film"),
        (["film", "--workers", "2"], "--workers is for pictures, not for film"),
        (
            ["pictures", "--frames", "2"],
            "is for film and trace and path, not for pictures",
        ),
        (["pictures", "--out", "a.webp"], "film and trace and path, not for pictures"),
        (
            ["map", "--stall-timeout", "9"],
            "--stall-timeout is for film and trace and path and pictures, not for map",
        ),
    ],
)
def test_bad_input_is_one_line(strange: Path, words: list[str], told: str) -> None:
    assert told in refusal("draw", strange, *words)


def test_a_machine_without_the_environment_is_told_what_is_needed(strange: Path) -> None:
    with having():
        line = refusal("draw", strange, "film", "--episode", "suite:1")
        assert "drawing plays the episode again, which needs the policy and the environment" in line
        assert "no environment is called 'corridor'" in line
        assert "no environment is called 'corridor'" in refusal("draw", strange, "pictures")


def test_without_ffmpeg_there_is_one_line(
    strange: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def lacking(name: str, *rest: Any, **more: Any) -> Any:
        if name == "imageio_ffmpeg":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", lacking)
    out = tmp_path / "film.mp4"
    line = refusal("draw", strange, "film", "--episode", "suite:1", "--out", out)
    assert "pip install 'ranking-policy-decisions[video]'" in line
    assert not out.exists()


# ----------------------------------------------------------------------------- words


def test_words_are_written_in_signs_that_the_font_has() -> None:
    assert writable("pole 12°, é → \u202e<b>\n") == "pole 12°, e ? ?<b> "
    assert shortened("x" * 500, 100).endswith("…")
    assert len(wrapped("facing right " * 50, 200, 3)) == 3
    assert wrapped("short", 200, 2) == ("short", "")

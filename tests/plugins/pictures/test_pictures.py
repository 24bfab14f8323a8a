"""Pictures and clips that are stored with a run: of the right steps, bounded, the same again."""

from __future__ import annotations

import dataclasses
import io
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import worlds
from films import SMALL, cartpole_run, plain_frames
from PIL import Image, ImageDraw
from stores import contents, corridor, finish, ready, session_at

import rpd
from rpd_core.errors import RpdError, StoreError
from rpd_core.play.recipe import recipe_of
from rpd_core.results.verification import verify
from rpd_pictures import cards, files
from rpd_pictures.claim import film_claim
from rpd_pictures.clips import ClipJob, choose_twins, film_twins
from rpd_pictures.pictures import take_pictures
from rpd_pictures.portraits import affordable
from rpd_pictures.scene import Scene
from rpd_pictures.stored import picture_folder, read_pictures
from rpd_pictures.twins import Choice, Filmed, LossEpisodes, Smallest, Twin, Visit, telling
from rpd_pictures.viewing import viewing, viewing_late

DRAWN = {"minimise_steps": 40_000}
"""Settings of a run on the corridor that gives decisions which are needed."""


@pytest.fixture(scope="module")
def run() -> rpd.Run:
    """A small run of CartPole with its pictures, which nobody changes."""
    return cartpole_run()


def frames_of(path: Path) -> list[np.ndarray]:
    """Return the frames of an animated file."""
    film = Image.open(path)
    found = []
    for number in range(getattr(film, "n_frames", 1)):
        film.seek(number)
        found.append(np.asarray(film.convert("RGB")))
    return found


def playing_time(path: Path) -> int:
    """Return how long an animated file takes, in milliseconds."""
    film, total = Image.open(path), 0
    for number in range(getattr(film, "n_frames", 1)):
        film.seek(number)
        film.load()
        total += int(film.info["duration"])
    return total


def test_a_decision_is_drawn_as_the_smallest_policy_first_meets_it(run: rpd.Run) -> None:
    pictures = read_pictures(run.path, str(run.name))
    assert pictures is not None
    met = [one for one in run.decisions if one.reached]
    assert {*pictures.states} == {one.key for one in met[:50]}
    visits = LossEpisodes.read(run).visits
    for one in met[:4]:
        first = visits[one.key][0]
        again = run.replay(f"losses:{first.episode}")
        assert again.agrees
        actions = [{"left": 0, "right": 1}[step.action] for step in again.steps[: first.step]]
        assert again.steps[first.step].key == one.key
        expected = files.thumbnail([plain_frames(again.seed, actions)[-1]])
        assert pictures.states[one.key].read_bytes() == expected
        assert Image.open(io.BytesIO(expected)).size == (192, 128)


def test_clips_are_of_the_first_needed_decisions_that_a_twin_shows(run: rpd.Run) -> None:
    pictures = read_pictures(run.path, str(run.name))
    assert pictures is not None
    played = LossEpisodes.read(run)
    seen = {one.key: telling(played.twins_of(one)) for one in run.decisions if one.needed}
    assert [pair.key for pair in pictures.clips] == [key for key in seen if seen[key]][:2]
    assert pictures.clips
    for pair in pictures.clips:
        paths = pictures.folder / pair.policy, pictures.folder / pair.default
        policy, default = map(frames_of, paths)
        shared = min(pair.step, 5)
        for before, after in zip(policy[:shared], default[:shared], strict=True):
            np.testing.assert_array_equal(before, after)
        assert (policy[shared] != default[shared]).any(), "red, and blue"
        assert max(path.stat().st_size for path in paths) <= files.LARGEST_CLIP
        assert len(policy) <= 5 + 31 + 12 + 1
        assert len({playing_time(path) for path in paths}) == 1, "they stay in step"
        assert pair.policy_return > pair.default_return, "they show what is claimed"
        shown = seen[pair.key]
        assert shown is not None
        assert (pair.differing, pair.tried) == (shown.alike, shown.tried)
        assert (pair.flips, pair.least) == (shown.flips, shown.least)
        assert pair.flips, "a pole that falls misses the condition"


def test_twins_as_stored_give_the_losses_and_are_what_is_filmed(run: rpd.Run) -> None:
    assert run.setup is not None
    played, recipe = LossEpisodes.read(run), recipe_of(run.setup)
    policy, chosen = Smallest.of(run), []
    for one in run.decisions:
        twins = played.twins_of(one)
        assert len(twins) == one.twins
        if one.needed:
            lost = sum(twin.loss for twin in twins)
            speaking = round(lost / one.loss)
            assert lost / speaking == pytest.approx(one.loss), "a mean over whole episodes"
            found = telling(twins)
            assert found is not None
            chosen.append(found.twin)
        for twin in twins:
            assert twin.passed == tuple(total >= 120 for total in twin.returns)
    job = ClipJob(recipe, policy, (), (), run.analysis.condition)
    with viewing(recipe) as viewer:
        seen = film_twins(job, viewer, chosen)
    for place, twin in enumerate(chosen):
        for arm in (0, 1):
            steps = seen.steps[2 * place + arm]
            inside = {one.key for one in run.decisions}
            inside -= {twin.visit.key} if arm else set()
            assert {step.policy_decided == (step.key in inside) for step in steps} == {True}
            assert seen.episodes.length[2 * place + arm] == twin.lengths[arm]
            assert seen.episodes.total_return[2 * place + arm] == twin.returns[arm]


def test_twins_are_played_where_none_of_the_run_share_its_episodes(run: rpd.Run) -> None:
    assert run.setup is not None
    needed = next(one for one in run.decisions if one.needed)
    recipe, choice = recipe_of(run.setup), LossEpisodes.read(run).choice(needed)
    visits = tuple(one.visit for one in choice.twins)
    choices = choice, Choice((), visits)
    job = ClipJob(recipe, Smallest.of(run), choices, (), run.analysis.condition)
    with viewing(recipe) as viewer:
        stored, played = choose_twins(job, viewer)
    assert stored == played


def twins(losses: Sequence[float], passed: Sequence[tuple[bool, bool]] = ()) -> list[Twin]:
    outcomes = passed or [(True, True)] * len(losses)
    return [
        Twin(Visit(1, at, 0), (10.0, 10.0 - loss), (5, 5), outcome)
        for at, (loss, outcome) in enumerate(zip(losses, outcomes, strict=True))
    ]


def test_a_twin_is_shown_whose_outcome_flips_one_in_the_middle_of_those() -> None:
    flips, stays, fails = (True, False), (True, True), (False, False)
    some = twins((3.0, 9.0, 8.0, 4.0, 0.0, 5.0), (flips, stays, fails, flips, flips, flips))
    shown = telling(some)
    assert shown is not None
    assert (shown.twin, shown.tried, shown.alike) == (some[3], 6, 3), "no loss, nothing to see"
    assert (shown.flips, shown.least) == (True, 3.0)


def test_where_none_flips_a_twin_is_shown_that_loses_half_the_mean_or_more() -> None:
    some = twins((1.0, 0.0, -2.0, 9.0, 4.0))  # 2.4 in the mean
    shown = telling(some)
    assert shown is not None
    assert (shown.twin, shown.tried, shown.alike) == (some[3], 5, 2)
    assert (shown.flips, shown.least) == (False, 4.0)
    assert telling(some[:3]) is None, "it gains in the mean"
    assert telling([]) is None


@pytest.mark.parametrize(
    ("filmed", "told"),
    [
        ((40, 31, True, 3.0), "In 31 of 40 episodes that reach it, return>=200 is met with the "
         "policy and missed without it. This is one in the middle of them."),
        ((5, 2, False, 4.0), "In 2 of 5 episodes that reach it, a return of 4 or more is lost "
         "without the policy. This is one in the middle of them."),
        ((1, 1, False, 0.0), "In 1 of 1 episode that reach it, the return is lower without the "
         "policy. This is the one."),
    ],
)  # fmt: skip
def test_a_film_says_how_often_it_goes_so(filmed: tuple[int, int, bool, float], told: str) -> None:
    assert film_claim(Filmed(twins((1.0,))[0], *filmed), "return>=200") == told


@pytest.mark.slow
def test_pictures_have_the_same_bytes_again(run: rpd.Run, tmp_path: Path) -> None:
    copy = shutil.copytree(run.path, tmp_path / "run")
    before = contents(copy, "pictures/**/*")
    assert any(name.endswith("index.json") for name in before)
    stray = picture_folder(copy, str(run.name)) / "states" / "17.webp"
    stray.write_bytes(b"old")
    rpd.open_run(copy).draw("pictures")
    assert contents(copy, "pictures/**/*") == before


@pytest.mark.slow
def test_pictures_that_are_there_are_not_taken_again(run: rpd.Run, tmp_path: Path) -> None:
    copy = shutil.copytree(run.path, tmp_path / "run")
    index = picture_folder(copy, str(run.name)) / "index.json"
    written = index.stat().st_mtime_ns
    rpd.run("cartpole", out=copy, **SMALL)
    assert index.stat().st_mtime_ns == written
    next(index.parent.glob("states/*.webp")).unlink()
    rpd.run("cartpole", out=copy, **SMALL)
    assert index.stat().st_mtime_ns != written


def test_states_that_cost_too_many_steps_go_without() -> None:
    seen = [Visit(1, 0, 9), Visit(2, 1, 99), Visit(3, 0, 19), Visit(4, 2, 4)]
    assert [one.key for one in affordable(seen, 25)] == [1, 3, 4]
    assert affordable(seen, 1000) == seen


@pytest.mark.parametrize("text", ["jolly fjord, (y)", "…°·", "W" * 33, "policy: left"])
def test_text_is_drawn_once_and_then_copied_pixel_by_pixel(text: str) -> None:
    plain = Image.new("RGB", (cards.NARROWEST - 2 * cards.BORDER, cards.SMALLEST), (238, 238, 238))
    pen = ImageDraw.Draw(plain)
    pen.fontmode = "1"
    pen.text((8, 8), cards.shortened(text, plain.width - 16), (33, 33, 33), cards._font(12))
    before = cards._letters.cache_info().misses
    for _ in range(2):
        assert np.array_equal(cards.word_frame(text), plain)
    assert cards._letters.cache_info().misses <= before + 1


def test_large_pictures_are_made_smaller() -> None:
    noise = np.random.default_rng(0).integers(0, 256, (200, 200, 3), dtype=np.uint8)
    content = files.thumbnail([noise])
    assert len(content) <= files.LARGEST_THUMBNAIL
    assert max(Image.open(io.BytesIO(content)).size) < files.THUMBNAILS[0]
    assert files.reduced(noise, 200) is noise
    assert files.reduced(noise, 100).shape == (100, 100, 3)


# ------------------------------------------------------------------ without rendering


class BlindLanes(worlds.CorridorLanes):
    """Lanes that draw nothing."""

    def render(self, lane: int) -> Any:
        raise NotImplementedError("no screen")


@dataclass(frozen=True)
class Blind(worlds.Corridor):
    """The corridor without pictures."""

    def open(self, opening: Any) -> Any:
        return BlindLanes(opening.lanes)


@dataclass(frozen=True)
class Drawn:
    """The cell, which this abstraction can draw."""

    def __call__(self, values: Any, views: Any) -> Any:
        return values

    def draw(self, value: Any) -> Any:
        return np.full((8, 4, 3), int(value[0]), dtype=np.uint8)


def test_words_stand_in_where_nothing_is_drawn(tmp_path: Path) -> None:
    done = finish(tmp_path / "run", corridor(env=Blind(), **DRAWN), finish=("draw",))
    pictures = read_pictures(done.path, str(done.name))
    assert pictures is not None
    assert pictures.states == {}
    assert len(pictures.clips) == 2
    assert "draws no pictures (NotImplementedError: no screen)" in pictures.missing
    assert pictures.missing.endswith("states are shown in words")
    assert verify(done.directory).faults == ()


def test_the_abstraction_draws_where_the_environment_does_not(tmp_path: Path) -> None:
    asked = corridor(env=Blind(), abstraction=(Drawn(),), **DRAWN)
    done = finish(tmp_path / "run", asked, finish=("draw",))
    pictures = read_pictures(done.path, str(done.name))
    assert pictures is not None
    assert pictures.missing.endswith("states are drawn by the abstraction")
    states = done.suite.states
    cells = dict(zip(states.key.tolist(), states.value[:, 0].tolist(), strict=True))
    assert pictures.states
    for key, path in pictures.states.items():
        (frame,) = frames_of(path)
        assert frame.shape == (192, 96, 3)
        assert (frame == cells[key]).all()


def test_the_drawing_stands_beside_the_frame(tmp_path: Path) -> None:
    done = finish(tmp_path / "run", corridor(abstraction=(Drawn(),), **DRAWN), finish=("draw",))
    pictures = read_pictures(done.path, str(done.name))
    assert pictures is not None
    (frame,) = frames_of(next(iter(pictures.states.values())))
    assert frame.shape == (192, 192 + 4 + 96, 3)


def test_a_run_without_a_confirmed_policy_has_no_pictures(pictured: rpd.Run) -> None:
    session = session_at(pictured.path, corridor(**DRAWN))
    unproven = rpd.Run(pictured.path, pictured.name, session.setup)
    vars(unproven)["summary"] = dataclasses.replace(unproven.summary, decisions=())
    pictures = take_pictures(session, unproven, panels={})
    assert (pictures.states, pictures.clips) == ({}, ())
    assert pictures.missing == "no smallest policy is confirmed, so there is no decision to draw"


def test_a_run_without_a_place_for_pictures_has_its_answer(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    heard: list[str] = []
    ready(tmp_path / "run")
    (tmp_path / "run" / "pictures").symlink_to(tmp_path / "elsewhere")
    done = finish(tmp_path / "run", finish=("draw",), note=heard.append)
    assert done.summary.decisions is not None
    assert [text for text in heard if "the run has its answer, but rpd draw failed: " in text]
    assert list((tmp_path / "elsewhere").iterdir()) == []


# -------------------------------------------------------------------------- reading


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> rpd.Run:
    """A run on the corridor with pictures."""
    path = tmp_path_factory.mktemp("drawn") / "run"
    return finish(path, corridor(**DRAWN), finish=("draw",))


@pytest.fixture
def pictured(drawn: rpd.Run, tmp_path: Path) -> rpd.Run:
    """A copy of it, to be spoilt."""
    return rpd.Run(shutil.copytree(drawn.path, tmp_path / "run"), drawn.name)


def test_a_run_without_pictures_has_none(tmp_path: Path) -> None:
    done = ready(tmp_path / "run")
    assert read_pictures(done.path, str(done.name)) is None


def test_pictures_that_have_gone_are_left_out_and_named_by_verify(pictured: rpd.Run) -> None:
    folder = picture_folder(pictured.path, str(pictured.name))
    before = read_pictures(pictured.path, str(pictured.name))
    assert before is not None
    assert verify(pictured.directory).faults == ()
    gone, spoilt = list(before.states.values())[:2]
    gone.unlink()
    policy, default = (folder / before.clips[0].policy, folder / before.clips[0].default)
    default.unlink()
    after = read_pictures(pictured.path, str(pictured.name))
    assert after is not None
    assert len(after.states) == len(before.states) - 1
    assert after.clips == before.clips[1:]
    assert "is missing: make the pictures again" in verify(pictured.directory).faults[0]
    gone.write_bytes(spoilt.read_bytes())
    default.write_bytes(policy.read_bytes())
    spoilt.write_bytes(b"<script>")
    assert "is not a WebP picture" in verify(pictured.directory).faults[0]
    assert folder.is_dir()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"states": {"1": "../../../run.json"}}, "names '../../../run.json', which is outside"),
        ({"states": {"1": "/etc/passwd"}}, "delete the index and run rpd draw pictures"),
        ({"states": {"1" * 5001: "states/1.webp"}}, "index.json': '11111"),
        ({"clips": [{}] * 10_001}, "entries, at most 10000 can be: delete the file"),
        ({"panels": {"a": dict.fromkeys(map(str, range(10_001)), "b")}}, "at most 10000 can be"),
        ({"states": {"one": "states/1.webp"}}, "'one' is not the key of a state"),
        ({"states": {"1": "a\0b"}}, "a\\x00b"),
        ({"schema": 2}, "has schema 2, this rpd reads 1"),
        ({"clips": [{"key": 1}]}, "clips[0].episode is missing"),
    ],
)
def test_a_strange_index_is_refused_in_one_line(
    pictured: rpd.Run, change: dict[str, Any], told: str
) -> None:
    path = picture_folder(pictured.path, str(pictured.name)) / "index.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(StoreError) as caught:
        read_pictures(pictured.path, str(pictured.name))
    assert told in str(caught.value)
    assert "index.json'" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert told in verify(pictured.directory).faults[0]


def test_a_name_that_no_file_can_have_is_a_picture_that_has_gone(pictured: rpd.Run) -> None:
    path = picture_folder(pictured.path, str(pictured.name)) / "index.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "states": {"1": "a" * 5000}}))
    found = read_pictures(pictured.path, str(pictured.name))
    assert found is not None
    assert found.states == {}


# --------------------------------------------------------------------------- panels


class Gathers:
    """A panel that keeps the keys of an episode, and whether they were mutated."""

    def gather(self, scene: Scene) -> dict[str, bytes]:
        assert scene.traces is not None
        steps = scene.replay("pruned:0")
        traced = scene.traces.smallest.steps(0)
        assert [step.key for step in steps] == traced.key.tolist()
        assert steps[0].frame is not None
        observed = np.stack([step.observation for step in steps])
        assert scene.keys(observed).tolist() == [step.key for step in steps]
        return {"fates.txt": " ".join(str(step.mutated) for step in steps).encode()}


class Raises:
    def gather(self, scene: Scene) -> dict[str, bytes]:
        raise ValueError("out of\nfilm")


class Junk:
    def gather(self, scene: Scene) -> dict[str, bytes]:
        return {"../run.json": b""}


def test_policy_and_environment_are_opened_once_and_only_where_a_panel_looks(
    run: rpd.Run,
) -> None:
    not_to_be_opened: Any = object()
    with viewing_late(not_to_be_opened):
        pass
    assert run.setup is not None
    with viewing_late(recipe_of(run.setup)) as view:
        assert view() is view()
        assert view().draws


def test_what_panels_gather_is_stored_and_a_broken_one_is_noted(pictured: rpd.Run) -> None:
    heard: list[str] = []
    session = session_at(pictured.path, corridor(**DRAWN))
    done = rpd.Run(pictured.path, pictured.name, session.setup)
    panels = {"good": Gathers(), "raises": Raises(), "junk": Junk()}
    session = dataclasses.replace(session, note=heard.append)
    pictures = take_pictures(session, done, again=True, panels=panels)
    assert set(pictures.panels) == {"good"}
    assert pictures.panels["good"]["fates.txt"].read_bytes()[:4] in (b"True", b"Fals")
    assert [text.split(":")[0] for text in heard] == [
        "panel 'raises' gathers nothing", "panel 'junk' gathers nothing",
    ]  # fmt: skip
    assert not any("\n" in text for text in heard)


def test_pictures_of_an_unfinished_run_are_refused(tmp_path: Path) -> None:
    session_at(tmp_path / "run", corridor())
    with pytest.raises(RpdError, match="has no finished analysis"):
        take_pictures(session_at(tmp_path / "run", corridor()), rpd.Run(tmp_path / "run", None))

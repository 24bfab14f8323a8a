"""Where the ball is when the policy matters, over the game's own screen."""

from __future__ import annotations

import dataclasses

import pytest

from rpd_atari.memory import Pong
from rpd_atari.panels import BallOnScreen
from rpd_core.plugin.protocols import Circle, PanelFacts, PanelView, Picture
from rpd_kit import example_view

ABOUT = PanelFacts(
    "atari:Pong", abstraction=("pong:20",), entries=Pong().name_entries(()), shape=(4,), frames=True
)
STATES = [[20, 40, 100, 60], [20, 40, 120, 60], [100, 180, 100, 60], [-1, -1, 100, 60]]


@pytest.fixture
def view() -> PanelView:
    return example_view(STATES, ABOUT)


def test_the_ball_is_where_it_is_on_the_screen_with_y_downwards(view: PanelView) -> None:
    (drawing,) = BallOnScreen().hero(view)
    (screen,) = [one for one in drawing.shapes if isinstance(one, Picture)]
    assert screen.height / screen.width == pytest.approx(210 / 160)
    zoom = screen.width / 160
    places = {
        (round((x - screen.at[0]) / zoom), round((y - screen.at[1]) / zoom))
        for x, y in (one.at for one in drawing.shapes if isinstance(one, Circle))
    }
    assert places == {(21, 42), (101, 182)}, "the middles of the ball; none where it is gone"
    assert len(drawing.track) == len(view.traces.smallest.steps(view.traces.typical))


def test_a_place_has_the_tone_of_its_mean_loss_and_none_where_nothing_is_lost(
    view: PanelView,
) -> None:
    (drawing,) = BallOnScreen().hero(view)
    trace, states = view.traces.smallest.trace, view.traces.smallest.states
    losses = view.losses(trace)
    for circle in (one for one in drawing.shapes if isinstance(one, Circle)):
        x = 20 if circle.at[0] < 200 else 100
        mine = states.value[states.key.searchsorted(trace.key)][:, 0] == x
        mean = losses[mine].mean()
        assert circle.fill == (f"loss:{mean / view.largest:.3f}" if mean > 0 else "none")


def test_only_positions_in_pixels_and_stored_frames_will_do() -> None:
    assert BallOnScreen().applies(ABOUT)
    assert not BallOnScreen().applies(dataclasses.replace(ABOUT, frames=False))
    assert not BallOnScreen().applies(dataclasses.replace(ABOUT, abstraction=("atari",)))
    chained = dataclasses.replace(ABOUT, abstraction=("pong", "bins"))
    assert not BallOnScreen().applies(chained)

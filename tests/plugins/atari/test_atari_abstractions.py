"""The paper's generic Atari abstraction, and what is read from memory."""

from __future__ import annotations

import numpy as np
import pytest

from rpd_atari.environment import Atari
from rpd_atari.grid import AREAS, AtariGrid, windows
from rpd_atari.memory import Breakout, Pong, RamBytes
from rpd_core.errors import FitError, SpecError
from rpd_core.plugin.protocols import Facts, Opening

AREA = (34, 194, 0, 160)


def grid(screen: np.ndarray, **options) -> np.ndarray:
    return AtariGrid(AREA, **options)(None, {"grey": screen[None]})[0]


def test_a_single_bright_or_dark_pixel_fills_its_cell() -> None:
    screen = np.full((210, 160), 100, dtype=np.uint8)
    screen[34 + 5, 3] = 255
    screen[34 + 155, 157] = 0
    cells = grid(screen)
    assert cells.shape == (18, 14)
    assert cells.dtype == np.uint8
    assert cells[0, 0] == 8
    assert cells[17, 13] == 0
    assert (cells == 100 * 9 // 256).sum() == 18 * 14 - 2


def test_what_lies_outside_the_area_does_not_count() -> None:
    screen = np.zeros((210, 160), dtype=np.uint8)
    screen[:34] = screen[194:] = 255
    assert not grid(screen).any()


def test_levels_run_from_zero_to_eight() -> None:
    levels = [grid(np.full((210, 160), grey, dtype=np.uint8))[0, 0] for grey in range(256)]
    assert np.unique(levels).tolist() == list(range(9))
    assert (np.diff(levels) >= 0).all()


def test_windows_cover_every_pixel() -> None:
    for length, parts in [(160, 18), (165, 14), (122, 18), (18, 18)]:
        assert np.unique(windows(length, parts)).tolist() == list(range(length))


def test_the_ball_of_pong_is_seen_wherever_it_is() -> None:
    lanes = Atari("Pong").open(Opening(1))
    lanes.reset(np.array([0]), np.array([1]))
    seen, states = 0, AtariGrid(AREA)
    for step in range(200):
        lanes.step(np.array([2 + step % 2]), np.array([True]))
        x, y, *_ = Pong(1)(None, {"ram": lanes.view("ram")})[0].tolist()
        white = (lanes.view("screen")[0, 34:194] == 236).all(axis=2)
        if not white.any():
            continue
        seen += 1
        top, left = np.argwhere(white).min(axis=0)
        assert (x, y) == (left, pytest.approx(top + 34, abs=2))
        cells = states(None, {"grey": lanes.view("grey")})[0]
        row = (windows(160, 18) == top).any(axis=1)
        column = (windows(160, 14) == left).any(axis=1)
        assert (cells[np.ix_(row, column)] == 8).all()
    assert seen > 100


def test_ball_and_paddle_of_breakout_are_where_the_screen_shows_them() -> None:
    lanes = Atari("Breakout").open(Opening(1))
    lanes.reset(np.array([0]), np.array([1]))
    seen = 0
    for step in range(60):
        lanes.step(np.array([0 if step % 3 else 3]), np.array([True]))
        red = (lanes.view("screen")[0] == [200, 72, 72]).all(axis=2)
        ball = np.argwhere(red[93:189, 8:152])
        if not len(ball):
            continue
        seen += 1
        paddle = np.argwhere(red[189:193, 8:152])
        x, y, bat = Breakout(1)(None, {"ram": lanes.view("ram")})[0].tolist()
        assert [y - 93, x - 8] == ball.min(axis=0).tolist()
        assert bat - 8 == paddle[:, 1].min()
    assert seen > 10


def test_positions_are_rounded_to_tens_and_what_is_gone_is_said() -> None:
    ram = np.zeros((1, 128), dtype=np.uint8)
    ram[0, [99, 101, 72]] = 136, 120, 146
    value = Breakout()(None, {"ram": ram})[0]
    assert value.tolist() == [90, 130, 100]
    assert Breakout().show(value) == "ball x 90, ball y 130, paddle x 100"
    ram[0, 101] = 0  # the game leaves an old x behind
    value = Breakout()(None, {"ram": ram})[0]
    assert value.tolist() == [-1, -1, 100]
    assert Breakout().show(value) == "ball x gone, ball y gone, paddle x 100"


def test_a_paddle_at_the_edge_of_the_screen_is_not_gone() -> None:
    ram = np.zeros((1, 128), dtype=np.uint8)
    ram[0, [49, 54, 51, 50]] = 100, 100, 100, 3
    assert Pong()(None, {"ram": ram})[0].tolist() == [50, 90, 90, 0]
    ram[0, 50] = 0
    assert Pong()(None, {"ram": ram})[0].tolist() == [50, 90, 90, -1]


def test_bytes_of_memory() -> None:
    ram = np.arange(256, dtype=np.uint8).reshape(2, 128)
    assert RamBytes((49, 54))(None, {"ram": ram}).tolist() == [[49, 54], [177, 182]]
    assert RamBytes()(None, {"ram": ram}).shape == (2, 128)
    assert RamBytes((49, 54)).show(ram[0, [49, 54]]) == "byte 49 is 49, byte 54 is 54"


def test_the_memory_of_another_game_is_refused() -> None:
    with pytest.raises(FitError, match="reads the memory of atari:Breakout, not of atari:Pong"):
        Breakout().open(Facts(None, None, 1, description="atari:Pong"))


@pytest.mark.parametrize("make", [
    lambda: AtariGrid((1, 2, 3)),
    lambda: AtariGrid((0, 10, 0, 160)),
    lambda: AtariGrid(levels=1),
    lambda: AtariGrid(rows=0),
    lambda: Breakout(pixels=0),
    lambda: Breakout(pixels=10**30),
    lambda: Pong(pixels=211),
    lambda: RamBytes((128,)),
])  # fmt: skip
def test_parameters_out_of_range_are_refused(make) -> None:
    with pytest.raises(SpecError):
        make()


def test_the_area_is_that_of_the_game_unless_given() -> None:
    pong, other = (Facts(None, None, 1, description=f"atari:{name}") for name in ("Pong", "Gopher"))
    assert AtariGrid().open(pong) == AtariGrid((34, 194, 0, 160))
    assert AtariGrid(levels=5).open(pong) == AtariGrid((34, 194, 0, 160), levels=5)
    assert AtariGrid().open(other) == AtariGrid((25, 195, 0, 160))
    assert AtariGrid((0, 210, 0, 160)).open(pong) == AtariGrid((0, 210, 0, 160))


def test_an_area_outside_the_screen_is_refused() -> None:
    with pytest.raises(FitError, match=r"outside a screen of \(210, 160\)"):
        AtariGrid((0, 240, 0, 160))(None, {"grey": np.zeros((1, 210, 160), np.uint8)})


def test_all_areas_hold_the_grid() -> None:
    assert len(AREAS) == 25
    for area in AREAS.values():
        AtariGrid(area)


def test_the_cells_are_drawn_as_large_as_the_game_area() -> None:
    cells = np.zeros((18, 14), dtype=np.uint8)
    cells[0, 0], cells[17, 13] = 8, 1
    picture = AtariGrid(AREA).draw(cells)
    assert (picture.shape, picture.dtype) == ((160, 160, 3), np.uint8)
    assert picture[0, 0].tolist() == picture[8, 11].tolist() == [255, 255, 255]
    assert picture[9, 0].tolist() == picture[0, 12].tolist() == [0, 0, 0]
    assert picture[159, 159].tolist() == [31, 31, 31]
    assert AtariGrid(AREA, levels=256).draw(cells)[159, 159].tolist() == [1, 1, 1]
    assert AtariGrid().draw(cells).shape == (170, 160, 3)


def test_ball_and_paddle_of_breakout_are_drawn_where_they_are() -> None:
    picture = Breakout().draw(np.array([90, 130, 100], dtype=np.int16))
    assert (picture.shape, picture.dtype) == ((210, 160, 3), np.uint8)
    expected = np.zeros((210, 160), dtype=np.uint8)
    expected[130:134, 90:92] = expected[189:193, 100:116] = 255
    assert (picture == expected[..., None]).all()
    lost = Breakout().draw(np.array([-1, -1, 100], dtype=np.int16))
    assert np.argwhere(lost[..., 0]).min(axis=0).tolist() == [189, 100]


def test_ball_and_paddles_of_pong_are_drawn_where_they_are() -> None:
    picture = Pong().draw(np.array([50, 90, 100, -1], dtype=np.int16))
    expected = np.zeros((210, 160), dtype=np.uint8)
    expected[90:94, 50:52] = expected[100:116, 140:144] = 255
    assert (picture == expected[..., None]).all()
    both = Pong().draw(np.array([-1, -1, 100, 40], dtype=np.int16))
    assert np.argwhere(both[..., 0]).min(axis=0).tolist() == [40, 16]


def test_blocks_are_drawn_where_the_screen_of_pong_shows_them() -> None:
    lanes = Atari("Pong").open(Opening(1))
    lanes.reset(np.array([0]), np.array([1]))
    for _ in range(20):
        lanes.step(np.array([0]), np.array([True]))
    screen = lanes.view("screen")[0]
    drawn = Pong(1).draw(Pong(1)(None, {"ram": lanes.view("ram")})[0])[..., 0] > 0
    green = (screen == [92, 186, 92]).all(axis=2)[34:194, 140:144]
    both = np.argwhere(green & drawn[34:194, 140:144])
    assert len(both) >= 0.8 * green.sum() > 0

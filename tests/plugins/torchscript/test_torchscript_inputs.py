"""How observations and hidden states reach the module."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from gymnasium import spaces
from script_files import LANES, Counter, Linear, box, facts, loaded, save, seen, vectors
from torch import Tensor, nn

from rpd_core.errors import FitError
from rpd_torchscript.screens import baby_a3c


class Pixels(nn.Module):
    """A convolution over channels-first pictures; says itself whether it takes bytes."""

    def __init__(self, channels: int = 4, floats: bool = False) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer = nn.Conv2d(channels, 3, 5)
        self.floats = floats

    def forward(self, picture: Tensor) -> Tensor:
        if not self.floats:
            picture = picture.float() / 255.0
        return self.layer(picture).mean(dim=[2, 3])


class Parts(Linear):
    def forward(self, image: Tensor, direction: Tensor) -> Tensor:  # type: ignore[override]
        return self.layer(image.float().flatten(1)) + direction.float()[:, None]


class DictModule(Linear):
    def forward(self, obs: dict[str, Tensor]) -> Tensor:  # type: ignore[override]
        return self.layer(obs["image"].float().flatten(1)) + obs["direction"].float()[:, None]


class OneImage(Linear):
    def forward(self, image: Tensor) -> Tensor:
        return self.layer(image.float().flatten(1))


GRID = spaces.Dict({"image": box((2, 2, 3), np.uint8), "direction": spaces.Discrete(4)})


def grid() -> dict[str, np.ndarray]:
    random = np.random.default_rng(2)
    return {
        "image": random.integers(0, 9, (LANES, 2, 2, 3)).astype(np.uint8),
        "direction": random.integers(0, 4, LANES),
    }


def numbers(policy: object, observations: object) -> np.ndarray:
    return policy(seen(observations)).action_values  # type: ignore[operator,no-any-return]


def direct(module: nn.Module, *tensors: object) -> np.ndarray:
    with torch.inference_mode():
        return module(*tensors).numpy()  # type: ignore[no-any-return]


def frames(shape: tuple[int, ...] = (40, 40, 4)) -> np.ndarray:
    return np.random.default_rng(4).integers(0, 256, (LANES, *shape)).astype(np.uint8)


@pytest.mark.parametrize("last", [True, False])
def test_channels_go_where_the_module_wants_them(tmp_path: Path, last: bool) -> None:
    module = Pixels()
    first = np.moveaxis(frames(), -1, 1)
    given = frames() if last else first
    where = facts(box(given.shape[1:], np.uint8))
    policy = loaded(save(module, tmp_path / "p.pt"), where, output="q")
    expected = direct(module, torch.from_numpy(first.copy()))
    np.testing.assert_allclose(numbers(policy, given), expected, atol=1e-5)


def test_pixels_for_a_module_of_floats_need_a_word_from_the_user(tmp_path: Path) -> None:
    module = Pixels(floats=True)
    path = save(module, tmp_path / "p.pt")
    where = facts(box((40, 40, 4), np.uint8))
    with pytest.raises(FitError, match=r"say divide=255 if .* 0 to 1, divide=1 if on 0 to 255"):
        loaded(path, where)
    for divide in (255.0, 1.0):
        policy = loaded(path, where, output="q", divide=divide)
        first = torch.from_numpy(np.moveaxis(frames(), -1, 1).copy()).float() / divide
        np.testing.assert_allclose(numbers(policy, frames()), direct(module, first), rtol=1e-4)


def test_small_codes_become_floats_unasked(tmp_path: Path) -> None:
    module = Linear(12)
    where = facts(box((2, 2, 3), np.uint8))
    policy = loaded(save(module, tmp_path / "a.pt"), where, output="q")
    codes = grid()["image"]
    expected = direct(module, torch.from_numpy(codes.reshape(LANES, -1)).float())
    np.testing.assert_allclose(numbers(policy, codes), expected, atol=1e-5)
    assert policy.describe()["observation"] == "observation flattened, as floats"


def test_a_dict_is_reduced_to_its_image(tmp_path: Path) -> None:
    module = OneImage(12)
    policy = loaded(save(module, tmp_path / "a.pt"), facts(GRID), output="q")
    expected = direct(module, torch.from_numpy(grid()["image"]))
    np.testing.assert_allclose(numbers(policy, grid()), expected, atol=1e-5)


def test_parts_of_a_dict_go_to_the_arguments_of_their_name(tmp_path: Path) -> None:
    module = Parts(12)
    policy = loaded(save(module, tmp_path / "a.pt"), facts(GRID), output="q")
    tensors = [torch.from_numpy(grid()[name]) for name in ("image", "direction")]
    np.testing.assert_allclose(numbers(policy, grid()), direct(module, *tensors), atol=1e-5)


def test_a_module_may_take_the_whole_dict(tmp_path: Path) -> None:
    module = DictModule(12)
    policy = loaded(save(module, tmp_path / "a.pt"), facts(GRID), output="q")
    tensors = {name: torch.from_numpy(part) for name, part in grid().items()}
    np.testing.assert_allclose(numbers(policy, grid()), direct(module, tensors), atol=1e-5)


def test_a_whole_number_becomes_one_hot_for_a_linear_module(tmp_path: Path) -> None:
    module = Linear(5)
    policy = loaded(save(module, tmp_path / "a.pt"), facts(spaces.Discrete(5)), output="q")
    states = np.array([0, 1, 2, 3, 4, 4])
    expected = direct(module, torch.eye(5)[states])
    np.testing.assert_allclose(numbers(policy, states), expected, atol=1e-6)


def test_single_frames_are_stacked_oldest_first(tmp_path: Path) -> None:
    module = Pixels()
    where = facts(box((40, 40), np.uint8))
    policy = loaded(save(module, tmp_path / "p.pt"), where, stack=4, output="q")
    random = np.random.default_rng(7)
    memory, history = None, np.zeros((LANES, 4, 40, 40), dtype=np.uint8)
    for step in range(6):
        frame = random.integers(0, 256, (LANES, 40, 40)).astype(np.uint8)
        starts = np.full(LANES, step == 0) | (np.arange(LANES) == step)
        history = np.concatenate([history[:, 1:], frame[:, None]], axis=1)
        history[starts] = frame[starts][:, None]
        choice = policy(seen(frame, step, starts=starts, memory=memory))
        memory = choice.memory
        expected = direct(module, torch.from_numpy(history.copy()))
        np.testing.assert_allclose(choice.action_values, expected, atol=1e-5)


def test_what_does_not_fit_is_said_in_one_line(tmp_path: Path) -> None:
    path = save(Linear(9), tmp_path / "a.pt")
    with pytest.raises(
        FitError, match=r"a world gives \(float32 \(4,\)\): mat1 and mat2"
    ) as caught:
        loaded(path)
    assert "\n" not in str(caught.value)
    assert "layout=" in str(caught.value)


# ------------------------------------------------------------------ hidden states


class Cell(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.cell = nn.GRUCell(4, 5)
        self.head = nn.Linear(5, 3)

    def forward(self, observation: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
        hidden = self.cell(observation, hidden)
        return self.head(hidden), hidden


class PackedMemory(nn.Module):
    """Both states of an LSTM side by side, and a value before them, as rl-starter-files does."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.cell = nn.LSTMCell(4, 5)
        self.head = nn.Linear(5, 3)

    def forward(self, observation: Tensor, memory: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        hidden, cell = self.cell(observation, (memory[:, :5], memory[:, 5:]))
        return self.head(hidden), hidden[:, 0], torch.cat([hidden, cell], dim=1)


class Layers(nn.Module):
    """States in the layout of nn.LSTM: (layers, lanes, size), two of them in a tuple."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.core = nn.LSTM(4, 5, num_layers=2)
        self.head = nn.Linear(5, 3)

    def forward(
        self, observation: Tensor, state: tuple[Tensor, Tensor]
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        out, state = self.core(observation[None], state)
        return self.head(out[0]), state


def zeros(module: nn.Module) -> object:
    if isinstance(module, Layers):
        return torch.zeros(2, 1, 5), torch.zeros(2, 1, 5)
    return torch.zeros(1, 10 if isinstance(module, PackedMemory) else 5)


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("kind", [Cell, PackedMemory, Layers])
def test_each_lane_keeps_its_own_hidden_state(
    tmp_path: Path, kind: type[nn.Module], traced: bool
) -> None:
    module = kind()
    example = (torch.zeros(1, 4), zeros(module)) if traced else None
    policy = loaded(save(module, tmp_path / "r.pt", example), output="q")  # type: ignore[arg-type]
    memory, states = None, [zeros(module) for _ in range(LANES)]
    for step in range(5):
        rows = vectors(step)
        starts = np.full(LANES, step == 0) | (np.arange(LANES) == step)
        choice = policy(seen(rows, step, starts=starts, memory=memory))
        memory = choice.memory
        for lane in range(LANES):
            state = zeros(module) if starts[lane] else states[lane]
            with torch.inference_mode():
                outputs = module(torch.from_numpy(rows[lane : lane + 1]), state)
            states[lane] = outputs[-1]
            expected = outputs[0][0].numpy()
            np.testing.assert_allclose(choice.action_values[lane], expected, atol=1e-5)


class Forgetful(nn.Module):
    """RSL-RL's TorchScript form of a recurrent policy: the state is a buffer of one lane."""

    def __init__(self) -> None:
        super().__init__()
        self.rnn, self.mlp = nn.GRU(4, 5), nn.Linear(5, 2)
        self.register_buffer("hidden_state", torch.zeros(1, 1, 5))

    def forward(self, x: Tensor) -> Tensor:
        x, h = self.rnn(x.unsqueeze(0), self.hidden_state)
        self.hidden_state[:] = h
        return self.mlp(x.squeeze(0))


def test_a_module_that_keeps_its_hidden_state_in_itself_is_refused(tmp_path: Path) -> None:
    path = save(Forgetful(), tmp_path / "policy.pt")
    with pytest.raises(FitError, match=r"keeps its hidden state in itself.*take it with onnx:"):
        loaded(path)


def test_a_state_without_weights_must_be_declared(tmp_path: Path) -> None:
    path = save(Counter(), tmp_path / "c.pt")
    with pytest.raises(FitError, match=r"carries a hidden state \('hidden'\).*hidden=<size>"):
        loaded(path)
    policy = loaded(path, hidden=(1,), output="q")
    ones = np.ones((LANES, 4), dtype=np.float32)
    first = policy(seen(ones))
    second = policy(seen(ones, 1, memory=first.memory))
    assert first.actions.tolist() == [1] * LANES
    assert second.actions.tolist() == [2] * LANES
    assert policy.describe()["hidden state"] == "(1,) for each lane"


def test_a_declared_state_that_the_module_lacks_is_refused(tmp_path: Path) -> None:
    path = save(Linear(), tmp_path / "a.pt")
    with pytest.raises(FitError, match="hidden=8 is given, but the module takes no state"):
        loaded(path, hidden=(8,))


def test_an_optional_argument_is_no_hidden_state(tmp_path: Path) -> None:
    class Masked(Linear):
        def forward(  # type: ignore[override]
            self, observation: Tensor, mask: Tensor | None = None
        ) -> tuple[Tensor, Tensor]:
            result = self.layer(observation)
            if mask is not None:
                result = result + mask
            return result, result[:, 0]

    policy = loaded(save(Masked(), tmp_path / "a.pt"), output="q")
    assert policy.describe()["hidden state"] == "none"
    expected = direct(Linear(), torch.from_numpy(vectors()))
    np.testing.assert_allclose(numbers(policy, vectors()), expected, atol=1e-6)


def test_an_argument_that_nobody_fills_is_named(tmp_path: Path) -> None:
    class Strange(Linear):
        def forward(self, observation: Tensor, mask: Tensor) -> Tensor:  # type: ignore[override]
            return self.layer(observation) + mask

    with pytest.raises(FitError, match="also takes 'mask', which is neither"):
        loaded(save(Strange(), tmp_path / "a.pt"))


# -------------------------------------------------------------------- baby-a3c


def test_baby_a3c_sees_stretched_frames_of_80_by_80() -> None:
    screens = np.zeros((2, 210, 160, 3), dtype=np.uint8)
    screens[:, :35] = 255  # the score is cut off
    screens[0, 35:115] = (30, 60, 90)
    screens[1] = 77  # one colour: nothing to stretch
    seen_frames = baby_a3c(screens)
    assert seen_frames.shape == (2, 1, 80, 80)
    assert np.unique(seen_frames[0, 0, :39]).tolist() == [1.0]
    assert np.unique(seen_frames[0, 0, 41:]).tolist() == [0.0]
    assert seen_frames[0, 0, 39, 0] == pytest.approx(223 / 255)  # 7/8 of 255
    assert np.unique(seen_frames[1]).tolist() == [0.0]


def test_baby_a3c_shrinks_as_pillow_does() -> None:
    image = pytest.importorskip("PIL.Image")
    random = np.random.default_rng(0)
    grey = random.integers(0, 256, (160, 160)).astype(np.uint8)
    grey[0, 0], grey[0, 1] = 0, 255
    screens = np.zeros((1, 210, 160, 3), dtype=np.uint8)
    screens[0, 35:195] = grey[:, :, None]
    expected = np.asarray(image.fromarray(grey).resize((80, 80), image.Resampling.BILINEAR))
    difference = np.abs(baby_a3c(screens)[0, 0] * 255 - expected)
    assert difference.max() < 1.01  # roundings may fall to either side
    assert (difference > 0.5).mean() < 0.01


def test_baby_a3c_looks_at_the_screen(tmp_path: Path) -> None:
    module = Pixels(1, floats=True)
    path = save(module, tmp_path / "b.pt")
    with pytest.raises(FitError, match="needs the view 'screen'"):
        loaded(path, preprocess="baby-a3c")
    policy = loaded(path, facts(views=("screen",)), preprocess="baby-a3c", output="q")
    assert policy.needs == ("screen",)
    screens = np.random.default_rng(0).integers(0, 256, (LANES, 210, 160, 3)).astype(np.uint8)
    choice = policy(seen(vectors(), views={"screen": screens}))
    expected = direct(module, torch.from_numpy(baby_a3c(screens)))
    np.testing.assert_allclose(choice.action_values, expected, atol=1e-5)

"""What modules return, and what becomes of it."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from cartpole_module import load_network
from gymnasium import spaces
from script_files import Linear, box, facts, loaded, save, seen, vectors
from torch import Tensor, nn

from rpd_basics.default_actions import Repeat
from rpd_core.chance import Phase, episode_keys
from rpd_core.errors import FitError, RpdError
from rpd_core.play.loop import Plan, Player, Recipe
from rpd_core.plugin.registry import installed
from rpd_gym.cartpole import CartPole, CartPoleGrid
from rpd_gym.cartpole_policy import CartPolePolicy
from rpd_kit import check_component
from rpd_torchscript.loader import TorchScriptFile


class Actor(Linear):
    """Logits with a value beside them."""

    def forward(self, observation: Tensor) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        return self.layer(observation), observation[:, 0]


class SoftmaxPolicy(Linear):
    def forward(self, observation: Tensor) -> Tensor:
        return torch.softmax(self.layer(observation), dim=-1)


class Dueling(Linear):
    def forward(self, observation: Tensor) -> Tensor:
        gains = self.layer(observation)
        return observation[:, :1] + gains - gains.mean(dim=1, keepdim=True)


class QNetwork(Linear):
    pass


class Best(Linear):
    def forward(self, observation: Tensor) -> Tensor:
        return self.layer(observation).argmax(dim=-1)


class Torque(Linear):
    def forward(self, observation: Tensor) -> Tensor:
        return 3.0 * torch.tanh(self.layer(observation))


def reference(module: nn.Module, rows: np.ndarray) -> np.ndarray:
    with torch.inference_mode():
        result = module(torch.from_numpy(rows))
    return (result[0] if isinstance(result, tuple) else result).numpy()


def softmax(numbers: np.ndarray) -> np.ndarray:
    return np.exp(numbers) / np.exp(numbers).sum(axis=1, keepdims=True)


def test_logits_are_drawn_from_and_offered_as_probabilities(tmp_path: Path) -> None:
    module = Actor()
    policy = loaded(save(module, tmp_path / "a.pt"))
    expected = softmax(reference(module, vectors()))
    choices = [policy(seen(vectors(), step)) for step in range(400)]
    np.testing.assert_allclose(choices[0].probabilities, expected, atol=1e-6)
    assert choices[0].action_values is None
    drawn = np.stack([choice.actions for choice in choices])
    for action in range(3):  # 400 draws: four standard errors are at most 0.1
        np.testing.assert_allclose((drawn == action).mean(axis=0), expected[:, action], atol=0.1)


def test_the_same_draws_give_the_same_actions(tmp_path: Path) -> None:
    policy = loaded(save(Actor(), tmp_path / "a.pt"))
    first = [policy(seen(vectors(), step)).actions.tolist() for step in range(20)]
    again = [policy(seen(vectors(), step)).actions.tolist() for step in range(20)]
    assert first == again


def test_the_best_is_taken_if_the_user_says_so(tmp_path: Path) -> None:
    module = Actor()
    policy = loaded(save(module, tmp_path / "a.pt"), deterministic=True)
    best = reference(module, vectors()).argmax(axis=1)
    assert policy(seen(vectors())).actions.tolist() == best.tolist()


@pytest.mark.parametrize("kind", [Dueling, QNetwork])
def test_action_values_are_recognised_and_the_best_is_taken(
    tmp_path: Path, kind: type[Linear]
) -> None:
    module = kind()
    policy = loaded(save(module, tmp_path / "q.pt"))
    choice = policy(seen(vectors()))
    np.testing.assert_allclose(choice.action_values, reference(module, vectors()), atol=1e-6)
    assert choice.probabilities is None
    assert choice.actions.tolist() == choice.action_values.argmax(axis=1).tolist()
    assert policy.describe()["output"].startswith("q (")


def test_what_the_user_says_beats_what_is_recognised(tmp_path: Path) -> None:
    policy = loaded(save(QNetwork(), tmp_path / "q.pt"), output="logits")
    assert policy(seen(vectors())).action_values is None
    assert policy.describe()["output"] == "logits (said so)"


def test_probabilities_are_recognised_by_the_softmax(tmp_path: Path) -> None:
    module = SoftmaxPolicy()
    policy = loaded(save(module, tmp_path / "p.pt"))
    choice = policy(seen(vectors()))
    np.testing.assert_allclose(choice.probabilities, reference(module, vectors()), atol=1e-6)
    assert policy.describe()["output"] == "probabilities (ends in a softmax)"


def test_numbers_that_are_no_probabilities_are_not_taken_for_them(tmp_path: Path) -> None:
    path = save(Linear(), tmp_path / "a.pt")
    with pytest.raises(FitError, match=r"rows that sum to 1.*try output=logits"):
        loaded(path, output="probabilities")


def test_whole_numbers_are_actions(tmp_path: Path) -> None:
    module = Best()
    policy = loaded(save(module, tmp_path / "b.pt"))
    choice = policy(seen(vectors()))
    assert choice.actions.tolist() == reference(module, vectors()).tolist()
    assert policy.describe()["output"].startswith("action")


def test_continuous_actions_are_clipped_to_their_bounds(tmp_path: Path) -> None:
    module = Torque(outputs=2)
    space = spaces.Box(-1.0, 1.0, (2,), np.float32)
    policy = loaded(save(module, tmp_path / "t.pt"), facts(actions=space))
    choice = policy(seen(10 * vectors()))
    expected = np.clip(reference(module, 10 * vectors()), -1, 1)
    np.testing.assert_allclose(choice.actions, expected, atol=1e-6)
    assert np.abs(expected).max() == 1.0
    assert choice.actions.dtype == np.float32


def test_actions_count_from_the_first_of_the_space(tmp_path: Path) -> None:
    module = QNetwork()
    where = facts(actions=spaces.Discrete(3, start=5))
    policy = loaded(save(module, tmp_path / "q.pt"), where)
    best = reference(module, vectors()).argmax(axis=1)
    assert policy(seen(vectors())).actions.tolist() == (best + 5).tolist()


def test_epsilon_makes_some_actions_random(tmp_path: Path) -> None:
    module = QNetwork()
    policy = loaded(save(module, tmp_path / "q.pt"), epsilon=0.3)
    best = reference(module, vectors()).argmax(axis=1)
    actions = np.stack([policy(seen(vectors(), step)).actions for step in range(500)])
    # a random action is the best one in a third of the cases; 3000 draws, error below 0.03
    assert (actions != best).mean() == pytest.approx(0.2, abs=0.03)


def test_another_number_of_actions_is_refused(tmp_path: Path) -> None:
    path = save(Linear(), tmp_path / "a.pt")
    with pytest.raises(FitError, match=r"returns shape \(6, 3\) where \(6, 5\) or"):
        loaded(path, facts(actions=5))


def test_sampling_action_values_is_refused(tmp_path: Path) -> None:
    path = save(QNetwork(), tmp_path / "q.pt")
    with pytest.raises(FitError, match="deterministic=false needs logits or probabilities"):
        loaded(path, deterministic=False)


@pytest.mark.parametrize("options", [{"epsilon": -0.1}, {"stack": 0}, {"divide": 0.0}])
def test_parameters_out_of_range_are_refused(tmp_path: Path, options: dict[str, float]) -> None:
    with pytest.raises(RpdError, match="got"):
        TorchScriptFile(tmp_path / "a.pt", **options)  # type: ignore[arg-type]


def test_every_call_gives_the_same_bits(tmp_path: Path) -> None:
    policy = loaded(save(Linear(), tmp_path / "a.pt"))
    first = policy(seen(vectors())).probabilities
    for _ in range(20):  # TorchScript would specialise after some calls
        assert np.array_equal(policy(seen(vectors())).probabilities, first)


def test_loading_is_silent(tmp_path: Path) -> None:
    path = save(Linear(), tmp_path / "a.pt")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded(path)(seen(vectors()))


def test_episodes_are_those_of_the_same_network_loaded_otherwise(tmp_path: Path) -> None:
    path = save(load_network("weak"), tmp_path / "weak.pt")
    index = np.arange(20)
    plan = Plan(index, episode_keys(1, Phase.FIT, index))
    returns = []
    for loader in (TorchScriptFile(path, output="q"), CartPolePolicy("weak")):
        player = Player(Recipe(CartPole(), loader, CartPoleGrid(), Repeat(), 20, 200))
        played = player.play(plan, lambda keys, position: np.ones(len(keys), dtype=bool))
        returns.append(played.total_return.tolist())
    assert returns[0] == returns[1]
    assert min(returns[0]) > 20


def test_the_loader_is_found_by_its_name(tmp_path: Path) -> None:
    path = save(Linear(), tmp_path / "a.pt")
    made = installed().make("policy", f"torchscript:{path},output=q,hidden=2+8,trust=true")
    assert made == TorchScriptFile(path, output="q", hidden=(2, 8), trust=True)


def test_sampling_has_the_same_word_as_in_other_loaders(tmp_path: Path) -> None:
    path = save(Linear(), tmp_path / "a.pt")
    made = installed().make("policy", f"torchscript:{path},deterministic=true")
    assert made == TorchScriptFile(path, deterministic=True)
    with pytest.raises(RpdError, match="sample"):
        installed().make("policy", f"torchscript:{path},sample=true")


def test_describe_names_module_size_and_use(tmp_path: Path) -> None:
    described = loaded(save(Linear(), tmp_path / "a.pt"), facts(box())).describe()
    assert described["module"] == "Linear"
    assert described["size"] == "15 parameters"
    assert described["hidden state"] == "none"


def test_a_loaded_file_conforms(tmp_path: Path) -> None:
    path = save(Linear(4, 2), tmp_path / "l.pt")
    assert (
        check_component("policy", f"torchscript:{path},output=logits", environment="cartpole") == []
    )

"""Train the MiniGrid policy that ships with rpd.

Run `python tests/training/train_minigrid.py` from the project's root, with rpd installed: the
policy in `plugins/rpd_minigrid/policies` is replaced; `--out` names another file.

Proximal policy optimisation on the lanes of `rpd_minigrid`, with one core in a few minutes. The
file is replaced only by a policy whose sampled actions earn at least 0.9 over fresh episodes.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

import rpd_minigrid
from rpd_core.errors import RpdError
from rpd_core.plugin.protocols import Opening
from rpd_minigrid.environment import MiniGrid
from rpd_minigrid.lanes import MiniGridLanes
from rpd_minigrid.network import HIDDEN

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from minigrid_module import Network, as_tensors  # of the tests

SHIPPED = Path(rpd_minigrid.__file__).parent / "policies" / "simple_crossing.npz"
GOOD_ENOUGH = 0.9


@dataclass(frozen=True)
class Settings:
    """How to train."""

    seed: int = 0
    """Seed of weights, maps and actions."""
    lanes: int = 256
    """Episodes side by side."""
    horizon: int = 64
    """Steps in all lanes between two updates."""
    updates: int = 100
    """Number of updates."""
    passes: int = 4
    """Times that each update goes over the steps."""
    batches: int = 8
    """Parts into which the steps are cut in each pass."""
    rate: float = 1e-3
    """Learning rate at the start; it falls to 0."""
    discount: float = 0.99
    """Worth of a reward one step later."""
    trace: float = 0.95
    """Weight of longer estimates of the advantage."""
    clip: float = 0.2
    """How far the odds of an action may move in one update."""
    curiosity: float = 0.01
    """Weight of the entropy."""


class Learner(nn.Module):
    """The policy's network and, beside it, one that predicts the return."""

    def __init__(self) -> None:
        super().__init__()
        self.actor = Network()
        self.critic = Network()
        self.value = nn.Linear(HIDDEN, 1)

    def forward(self, image: Tensor, direction: Tensor) -> tuple[Tensor, Tensor]:
        """Return the logits of the actions and the expected return."""
        worth = self.value(self.critic.features(image, direction))
        return self.actor(image, direction), worth[:, 0]


@dataclass
class Steps:
    """What happened between two updates; the first axis is time, the second the lane."""

    images: Tensor
    directions: Tensor
    actions: Tensor
    logs: Tensor
    values: Tensor
    rewards: Tensor
    ended: Tensor

    @classmethod
    def blank(cls, settings: Settings) -> Steps:
        """Make room."""
        shape = settings.horizon, settings.lanes
        numbers = [torch.zeros(shape) for _ in range(4)]
        images = torch.zeros((*shape, 7, 7, 3), dtype=torch.uint8)
        directions = torch.zeros(shape, dtype=torch.uint8)
        return cls(images, directions, torch.zeros(shape, dtype=torch.long), *numbers)


class Collector:
    """Plays on and on in all lanes, each episode with a seed of its own."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        lanes = MiniGrid().open(Opening(settings.lanes))
        assert isinstance(lanes, MiniGridLanes)
        self.lanes = lanes
        self.seeds = np.random.default_rng(settings.seed)
        self.running = np.zeros(settings.lanes)
        self.finished: list[float] = []
        self._start(np.arange(settings.lanes))

    def _start(self, lanes: NDArray[np.int64]) -> None:
        self.running[lanes] = 0.0
        self.lanes.reset(lanes, self.seeds.integers(2**31, size=len(lanes)))

    @torch.no_grad()
    def collect(self, learner: Learner) -> tuple[Steps, Tensor]:
        """Play and return the steps, and the expected return of where they ended."""
        steps = Steps.blank(self.settings)
        every = np.ones(self.settings.lanes, dtype=bool)
        for time_step in range(self.settings.horizon):
            image, direction = as_tensors(self.lanes.observe())
            logits, values = learner(image, direction)
            logs = torch.log_softmax(logits, dim=1)
            actions = torch.multinomial(logs.exp(), 1)[:, 0]
            result = self.lanes.step(actions.numpy(), every)
            over = result.terminated | result.truncated
            steps.images[time_step], steps.directions[time_step] = image, direction
            steps.actions[time_step], steps.values[time_step] = actions, values
            steps.logs[time_step] = chosen(logs, actions)
            steps.rewards[time_step] = torch.from_numpy(result.rewards)
            steps.ended[time_step] = torch.from_numpy(over)
            self.running += result.rewards
            self.finished += self.running[over].tolist()
            if over.any():
                self._start(np.flatnonzero(over))
        return steps, learner(*as_tensors(self.lanes.observe()))[1]


def chosen(logs: Tensor, actions: Tensor) -> Tensor:
    """Return each row's entry for the action taken in it."""
    return logs.gather(1, actions[:, None])[:, 0]


def advantages(steps: Steps, last: Tensor, settings: Settings) -> Tensor:
    """Return how much better each step went than predicted (generalised advantage estimate)."""
    found, following, after = torch.zeros_like(steps.values), torch.zeros_like(last), last
    for time_step in range(settings.horizon - 1, -1, -1):
        going_on = 1.0 - steps.ended[time_step]
        surprise = (
            steps.rewards[time_step]
            + settings.discount * going_on * after
            - steps.values[time_step]
        )
        following = surprise + settings.discount * settings.trace * going_on * following
        found[time_step], after = following, steps.values[time_step]
    return found


def update(
    learner: Learner, optimiser: torch.optim.Optimizer, steps: Steps, gains: Tensor, how: Settings
) -> None:
    """Improve the networks with the steps just played."""
    targets = (gains + steps.values).flatten()
    gains = ((gains - gains.mean()) / (gains.std() + 1e-8)).flatten()
    images, directions = steps.images.flatten(0, 1), steps.directions.flatten()
    actions, logs = steps.actions.flatten(), steps.logs.flatten()
    for _ in range(how.passes):
        for part in torch.randperm(len(gains)).chunk(how.batches):
            logits, values = learner(images[part], directions[part])
            new_logs = torch.log_softmax(logits, dim=1)
            odds = (chosen(new_logs, actions[part]) - logs[part]).exp()
            bounded = odds.clamp(1 - how.clip, 1 + how.clip)
            gain = torch.min(odds * gains[part], bounded * gains[part]).mean()
            error = (values - targets[part]).square().mean()
            entropy = -(new_logs.exp() * new_logs).sum(dim=1).mean()
            loss = 0.5 * error - gain - how.curiosity * entropy
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(learner.parameters(), 0.5)
            optimiser.step()


def train(settings: Settings) -> Network:
    """Train and return a network."""
    torch.set_num_threads(1)
    torch.manual_seed(settings.seed)
    learner, collector = Learner(), Collector(settings)
    optimiser = torch.optim.Adam(learner.parameters(), lr=settings.rate, eps=1e-5)
    start = time.perf_counter()
    for number in range(settings.updates):
        optimiser.param_groups[0]["lr"] = settings.rate * (1 - number / settings.updates)
        steps, last = collector.collect(learner)
        update(learner, optimiser, steps, advantages(steps, last, settings), settings)
        if number % 20 == 19:
            recent = np.mean(collector.finished[-1000:])
            spent = time.perf_counter() - start
            print(f"update {number + 1}: mean return {recent:.3f}, {spent:.0f} s", flush=True)
    return learner.actor.eval()


def mean_return(network: Network, sample: bool, episodes: int = 1024, seed: int = 10**6) -> float:
    """Return the mean return over fresh episodes, all of them side by side."""
    lanes = MiniGrid().open(Opening(episodes))
    lanes.reset(np.arange(episodes), seed + np.arange(episodes))
    chance = torch.Generator().manual_seed(seed)
    active, total = np.ones(episodes, dtype=bool), np.zeros(episodes)
    while active.any():
        with torch.inference_mode():
            odds = torch.softmax(network(*as_tensors(lanes.observe())), dim=1)
            drawn = torch.multinomial(odds, 1, generator=chance)[:, 0]
            actions = (drawn if sample else odds.argmax(dim=1)).numpy()
        result = lanes.step(actions, active)
        total += np.where(active, result.rewards, 0.0)
        active &= ~(result.terminated | result.truncated)
    lanes.close()
    return float(total.mean())


def main() -> None:
    """Train, measure, and store the weights if they are good enough."""
    parser = argparse.ArgumentParser(description="Train the MiniGrid policy that ships with rpd.")
    parser.add_argument("--out", type=Path, default=SHIPPED, help="file to write")
    parser.add_argument("--seed", type=int, default=0, help="seed of weights, maps and actions")
    given = parser.parse_args()
    network = train(Settings(seed=given.seed))
    sampled, best = mean_return(network, sample=True), mean_return(network, sample=False)
    print(f"mean return over 1024 fresh episodes: sampled {sampled:.3f}, likeliest {best:.3f}")
    if sampled < GOOD_ENOUGH:
        raise RpdError(f"{sampled:.3f} is below {GOOD_ENOUGH}: nothing stored, try another --seed")
    weights = {name: tensor.numpy() for name, tensor in network.state_dict().items()}
    np.savez_compressed(given.out, **weights)
    print(f"stored in {given.out}")


if __name__ == "__main__":
    try:
        main()
    except RpdError as error:
        sys.exit(str(error))

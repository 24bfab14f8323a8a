"""Policy classes of an author's own, in files that the user trusts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from gymnasium import spaces
from sb3_toys import VECTOR, batch, facts_of, samples, saved, seen, train
from stable_baselines3.common.policies import ActorCriticPolicy

from rpd_core.errors import FitError, SpecError
from rpd_sb3.loader import Sb3File

FOUR = spaces.Discrete(4)
FACTS = facts_of(VECTOR, FOUR)


class Renamed(ActorCriticPolicy):
    """Acts as its base does."""


class Contrary(ActorCriticPolicy):
    """Takes the least likely action."""

    def _predict(self, observation: Any, deterministic: bool = False) -> torch.Tensor:
        chances = self.get_distribution(observation).distribution.probs
        return chances.argmin(dim=1)


@pytest.mark.parametrize("kind", [Renamed, Contrary])
def test_a_class_of_ones_own_acts_as_its_predict_says(tmp_path: Path, kind: Any) -> None:
    model = train("PPO", kind, VECTOR, FOUR)
    path = saved(model, tmp_path)
    with pytest.raises(SpecError, match=f"policy class .*{kind.__name__} is the author's own"):
        Sb3File(path).load(FACTS)
    choice = Sb3File(path, trust=True).load(FACTS)(seen(batch(samples(VECTOR))))
    expected = [int(model.predict(row, deterministic=True)[0]) for row in samples(VECTOR)]
    assert choice.actions.tolist() == expected
    assert (choice.probabilities is None) == (kind is Contrary)


def test_a_class_that_draws_in_its_own_way_is_not_drawn_from(tmp_path: Path) -> None:
    path = saved(train("PPO", Contrary, VECTOR, FOUR), tmp_path)
    with pytest.raises(FitError, match="Contrary draws actions in a way of its own"):
        Sb3File(path, trust=True, deterministic=False).load(FACTS)

"""State-dependent exploration: one matrix of noise per episode."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from rpd_core.plugin.protocols import PolicyInput


class ExplorationNoise:
    """Noise that is a random linear function of the features, drawn as an episode starts.

    `predict` draws one matrix when a model is loaded and keeps it; here every episode has its own,
    so that no episode depends on another.
    """

    def __init__(self, distribution: Any, owner: Any) -> None:
        self.std: torch.Tensor = distribution.get_std(owner.log_std).detach()

    def __call__(
        self, latent: torch.Tensor, seen: PolicyInput, memory: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the noise for each lane, and the matrices to keep for the next step."""
        if memory is None or seen.starts.any():
            fresh = self._draw(seen)
            starts = torch.from_numpy(seen.starts)[:, None, None]
            memory = fresh if memory is None else torch.where(starts, fresh, memory)
        return torch.bmm(latent[:, None, :], memory)[:, 0], memory

    def _draw(self, seen: PolicyInput) -> torch.Tensor:
        drawn = seen.draws.normal(self.std.numel()).astype(np.float32)
        return torch.from_numpy(drawn).reshape(-1, *self.std.shape) * self.std

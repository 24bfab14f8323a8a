import numpy as np
from gymnasium import spaces

from rpd_core import Draws, Facts, StepResult

ACTIONS = ("down", "right", "up", "left")
MOVES = np.array([[-1, 0], [0, -1], [1, 0], [0, 1]])
AROUND = np.stack(np.meshgrid([1, 0, -1], [1, 0, -1], indexing="ij"), axis=-1)


def is_hole(cells):
    """Return which cells, given by the rows and columns still to go, are holes in the ice."""
    return (cells[..., 0] + 2 * cells[..., 1]) % 5 == 3


class LakeLanes:
    """All lanes side by side: how far each is from the goal, its seed, and its steps so far."""

    def __init__(self, size, slip, lanes):
        self.size, self.slip = size, slip
        self.places = np.zeros((lanes, 2), dtype=np.int64)
        self.seeds = np.zeros(lanes, dtype=np.uint64)
        self.steps = np.zeros(lanes, dtype=np.int64)
        self.facts = Facts(
            observation_space=spaces.Box(0, size - 1, (2,), np.int64),
            action_space=spaces.Discrete(len(ACTIONS)),
            lanes=lanes,
            views=("around",),
            action_names=ACTIONS,
            description=f"lake:{size}",
        )

    def reset(self, lanes, seeds):
        self.places[lanes], self.seeds[lanes], self.steps[lanes] = self.size - 1, seeds, 0

    def observe(self):
        return self.places.copy()

    def view(self, name):
        cells = self.places[:, None, None] + AROUND
        inside = ((cells >= 0) & (cells < self.size)).all(axis=-1)
        return (inside & ~is_hole(cells)).astype(np.uint8)

    def step(self, actions, active):
        chance = Draws(self.seeds, self.steps).uniform(2)
        slipped = np.floor(chance[:, 1] * len(ACTIONS)).astype(np.int64)
        moves = MOVES[np.where(chance[:, 0] < self.slip, slipped, actions)]
        self.places[active] = np.clip(self.places + moves, 0, self.size - 1)[active]
        self.steps[active] += 1
        there = active & self._at_goal()
        over = there | (active & is_hole(self.places))
        return StepResult(there.astype(np.float64), over, np.zeros(len(over), dtype=bool))

    def _at_goal(self):
        return (self.places == 0).all(axis=1)

    def info(self, lane):
        return {"is_success": bool(self._at_goal()[lane])}

    def render(self, lane):
        cells = np.stack(np.indices((self.size, self.size))[:, ::-1, ::-1], axis=-1)
        picture = np.where(is_hole(cells)[..., None], (20, 40, 90), (200, 225, 240))
        picture[-1, -1] = (40, 160, 60)
        picture[tuple(self.size - 1 - self.places[lane])] = (200, 60, 40)
        return picture.repeat(16, axis=0).repeat(16, axis=1).astype(np.uint8)

    def close(self):
        pass

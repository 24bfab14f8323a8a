import numpy as np

from rpd_lake.lanes import ACTIONS, is_hole


def walk(observations):
    """Go down where the ice below holds, else right."""
    below = observations - np.array([1, 0])
    holds = (below[:, 0] >= 0) & ~is_hole(below)
    return np.where(holds, ACTIONS.index("down"), ACTIONS.index("right"))

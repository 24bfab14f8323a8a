"""How much of the emulator's speed is left in a suite? `python tests/benchmarks/atari_speed.py`.

The bare emulator plays the same number of frames at random and returns one screen in colour for
every four frames; nothing is done with it. The suite plays mutant episodes of random play, which
costs next to nothing, so that what is compared is everything outside policy inference: frames
joined, made grey, shrunk and stacked, abstraction, keys, coins and records. Both run in this
process, in turns, so that a busy machine slows both; what counts is the ratio of frames per second
of processor time.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np
from ale_py import ALEInterface, LoggerMode

from rpd_atari.games import rom_path
from rpd_core.config.resolve import resolve
from rpd_core.config.settings import Request
from rpd_core.play.chunks import SuiteChunk, perform_suite, player_for
from rpd_core.play.recipe import recipe_of
from rpd_core.plugin.registry import installed

GAMES = ("Pong", "Breakout", "SpaceInvaders", "Seaquest")
ROUNDS = 5
EPISODES, STEPS, SKIP = 25, 150, 4


class Bare:
    """The emulator alone."""

    def __init__(self, game: str) -> None:
        ALEInterface.setLoggerMode(LoggerMode.Error)
        self.ale = ALEInterface()
        self.ale.setFloat("repeat_action_probability", 0.0)
        self.ale.loadROM(rom_path(game))
        self.actions = self.ale.getMinimalActionSet()

    def play(self, steps: int) -> float:
        """Step and return screens; return frames per second."""
        ale = self.ale
        chosen = np.random.default_rng(0).integers(len(self.actions), size=steps)
        start = time.process_time()
        for at, number in enumerate(chosen.tolist()):
            action = self.actions[number]
            for _ in range(SKIP):
                ale.act(action)
            ale.getScreenRGB()
            if ale.game_over() or at % STEPS == 0:
                ale.reset_game()
        return steps * SKIP / (time.process_time() - start)


def suite(game: str, seed: int) -> float:
    """Play a chunk of mutant episodes; return frames per second."""
    request = Request(env=f"atari:{game},max_steps={STEPS}", policy="random", episodes=EPISODES)
    setup = resolve(request, installed())
    recipe, rate = recipe_of(setup), setup.config.settings.mutation_rate
    player_for(recipe)
    start = time.process_time()
    played = perform_suite(SuiteChunk(recipe, seed, rate, 0, EPISODES - 1)).suite
    return int(played.episodes.length.sum()) * SKIP / (time.process_time() - start)


def measure(game: str) -> dict[str, float | str]:
    """Interleave both and return the median ratio."""
    bare = Bare(game)
    suite(game, 0)  # loads the games
    pairs = [(bare.play(EPISODES * STEPS), suite(game, seed)) for seed in range(1, ROUNDS + 1)]
    ratios = [fast / plain for plain, fast in pairs]
    return {
        "game": game,
        "bare_frames_per_second": round(float(np.median([plain for plain, _ in pairs]))),
        "suite_frames_per_second": round(float(np.median([fast for _, fast in pairs]))),
        "ratio_median": round(float(np.median(ratios)), 3),
        "ratio_min": round(min(ratios), 3),
    }


if __name__ == "__main__":
    for name in sys.argv[1:] or GAMES:
        print(json.dumps(measure(name)), flush=True)

"""Environments and policies that hang, end their process or leave programs behind."""

from __future__ import annotations

import os
import subprocess
import time
from multiprocessing import parent_process
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.wrappers import TimeLimit

FOREVER = 1000.0


class Corridor(gymnasium.Env[Any, Any]):
    """Eight steps to the end, of which each that goes is rewarded."""

    observation_space = spaces.Discrete(9)
    action_space = spaces.Discrete(2)
    resets = 0
    """Of all that there are in this process."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        self.at = self.time = 0
        Corridor.resets += 1
        return self.at, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.time += 1
        self.at += int(action)
        return self.at, float(action), self.time == 8, False, {}


class HangsInStep(Corridor):
    def step(self, action: Any) -> Any:
        if self.resets >= 3:
            time.sleep(FOREVER)
        return super().step(action)


class HangsInReset(Corridor):
    def reset(self, **options: Any) -> Any:
        if self.resets == 2:
            time.sleep(FOREVER)
        return super().reset(**options)


class NeverStops(Corridor):
    def step(self, action: Any) -> Any:
        while self.resets >= 3:
            pass
        return super().step(action)


class HangsInClose(Corridor):
    def close(self) -> None:
        time.sleep(FOREVER)


class EndsItsProcess(Corridor):
    def reset(self, **options: Any) -> Any:
        if self.resets == 2:
            os._exit(0)
        return super().reset(**options)


class ShowsItsNumber(Corridor):
    """Writes down which process plays, and plays slowly."""

    def step(self, action: Any) -> Any:
        if parent_process() is not None:
            Path("number").write_text(str(os.getpid()))
        time.sleep(0.01)
        return super().step(action)


class LeavesPrograms(Corridor):
    """Starts one program in its own session and one in ours, and closes neither."""

    def reset(self, **options: Any) -> Any:
        if self.resets == 0 and parent_process() is not None:
            started = [
                subprocess.Popen(["sleep", "600"], start_new_session=apart, stdout=2)
                for apart in (False, True)
            ]
            with Path("programs").open("a") as stream:
                stream.writelines(f"{one.pid}\n" for one in started)
        return super().reset(**options)


def capped(kind: type[Corridor]) -> Any:
    return lambda: TimeLimit(kind(), 20)


well = capped(Corridor)
in_step, in_reset, in_close = capped(HangsInStep), capped(HangsInReset), capped(HangsInClose)
busy, ends, slow, leaves = (
    capped(NeverStops), capped(EndsItsProcess), capped(ShowsItsNumber), capped(LeavesPrograms)
)  # fmt: skip


def goes(observations: Any) -> Any:
    return np.ones(len(observations), dtype=np.int64)


def hangs(observations: Any) -> Any:
    time.sleep(FOREVER)

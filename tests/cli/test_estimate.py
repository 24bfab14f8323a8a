"""What a run would cost."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest
import worlds

from rpd_core.cli import cost as estimate
from rpd_core.config.resolve import resolve
from rpd_core.config.settings import Request
from rpd_core.plugin.registry import Registry


@pytest.mark.parametrize(
    ("workers", "seconds"), [(1, 400 + 8552), (4, 100 + 2138), (8, 100 + 1069)]
)
def test_chunks_bound_the_suite_and_workers_the_pruning(
    workers: int,
    seconds: float,
    tmp_path: Path,
    registry: Registry,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    request = Request(worlds.Corridor(), worlds.Goes(), episodes=400, chunk=100, test_episodes=20)
    # two fifths of 15 rankings at 25 points of 20 episodes; as much as these and the suite for
    # minimising, a quarter on top for losses, and a quarter of all that for the second target; for
    # each target two looks at 60 episodes
    monkeypatch.chdir(tmp_path)
    ticks = count(0.0, 64.0)  # the probe of 64 episodes takes 64 seconds
    monkeypatch.setattr("rpd_core.play.chunks.time.perf_counter", lambda: next(ticks))
    cost = estimate.estimate(resolve(request, registry), workers)
    assert (cost.probe_episodes, cost.suite_episodes, cost.pruning_episodes) == (64, 400, 8552)
    assert cost.seconds == seconds
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("disk", "free", "told"),
    [
        (3.2, 0.06, ["3.2 MB of disk (60.0 kB are free)"]),
        (3.2, 100.0, []),
        (254_800, float("inf"), ["254.8 GB of disk"]),
    ],
)
def test_a_disk_that_is_too_small_is_told_in_its_own_size(
    disk: float, free: float, told: list[str]
) -> None:
    assert estimate.reasons_to_ask(estimate.Cost(8, 5000, 0, 10.0, disk), free) == told


def test_the_stages_to_come_are_in_their_order(registry: Registry) -> None:
    request = Request(
        worlds.Corridor(), worlds.Goes(), episodes=400, test_episodes=20, target=(0.9,)
    )
    assert estimate.stages_of(resolve(request, registry).config.settings) == [
        ("references", 60),
        ("suite", 400),
        ("unmutated", 400),
        ("pruning", 3000),
        ("minimising", 3400),
        ("confirmation", 120),
        ("losses", 850),
    ]

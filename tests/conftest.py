"""What all tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import settings

from rpd_core.cli import console
from rpd_core.execute.local import usable_cores
from rpd_core.play.chunks import close_players
from rpd_core.play.heartbeat import one_thread
from rpd_core.plugin.registry import Registry, installed

one_thread()  # for this process and for those that tests start
console.EVERY = float("inf")  # how busy the machine is must not decide what tests see

settings.register_profile("rpd", deadline=None, max_examples=40, derandomize=True)
settings.load_profile("rpd")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return one process more than there are cores: many tests wait for others to end."""
    return usable_cores() + 1


@pytest.fixture(scope="session")
def registry() -> Registry:
    """Return everything that is installed."""
    return installed()


@pytest.fixture(autouse=True)
def _nothing_left_open() -> Iterator[None]:
    """Keep each test from working with environments that another one opened."""
    yield
    close_players()

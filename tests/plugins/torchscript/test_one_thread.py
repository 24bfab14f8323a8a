"""Torch computes in one thread while episodes are played, in the user's own process, too."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
import torch

from rpd_core.play.heartbeat import one_numeric_thread

THREADS = re.compile(r"(?:at::get_num_threads|_get_max_threads)\(\) : (\d+)")


def threads_of_torch() -> set[int]:
    """Return how many threads torch, its OpenMP and its MKL may use."""
    return {int(number) for number in THREADS.findall(torch.__config__.parallel_info())}


@pytest.fixture
def told_two() -> Iterator[None]:
    """Tell torch, and with it its MKL, how many threads to use, as a user may."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("told_two")
def test_all_of_torch_has_one_thread_inside_and_as_many_as_before_afterwards() -> None:
    assert threads_of_torch() == {2}
    for _ in range(2):
        with one_numeric_thread():
            assert threads_of_torch() == {1}
            with one_numeric_thread():
                assert threads_of_torch() == {1}
            assert threads_of_torch() == {1}
        assert threads_of_torch() == {2}

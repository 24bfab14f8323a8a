"""Numerics have one thread while episodes are played, in the user's own process, too."""

from __future__ import annotations

import numpy as np
import pytest
import threadpoolctl
from threadpoolctl import threadpool_info, threadpool_limits

from rpd_core.play.heartbeat import one_numeric_thread


def threads_of_numpy() -> set[int]:
    """Return how many threads NumPy's library of linear algebra may use."""
    np.linalg.inv(np.eye(2))
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_numpy_has_one_thread_inside_and_as_many_as_before_afterwards() -> None:
    with threadpool_limits(2, user_api="blas"):
        with one_numeric_thread():
            assert threads_of_numpy() == {1}
        assert threads_of_numpy() == {2}


def test_numpy_is_limited_once_however_often_that_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int] = []

    def limits(threads: int) -> threadpool_limits:
        asked.append(threads)
        return threadpool_limits(threads)

    monkeypatch.setattr(threadpoolctl, "threadpool_limits", limits)
    for _ in range(2):
        with one_numeric_thread():
            with one_numeric_thread():
                assert threads_of_numpy() == {1}
            assert threads_of_numpy() == {1}
    assert asked == [1, 1]

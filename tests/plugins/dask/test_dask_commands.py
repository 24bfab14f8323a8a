"""Whole commands on a cluster: a cluster of our own, one that stops, and twenty kills."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from clusters import dask_cluster, items, results, stop_worker_once, stored, surroundings
from watching import wait_until

pytest.importorskip("distributed", reason="needs the extra dask")

from rpd_dask.executor import Dask

KILLS = 20
LIGHT = [
    *("suite", "--env", "gym:CartPole-v1", "--policy", "random", "--seed", "3"),
    *("--default-action", "constant:0", "--workers", "2"),
]
"""A suite in parts of 250 episodes, without torch."""


def start(folder: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "rpd_core.cli.main", *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=surroundings(),
    )


def parts(run: Path) -> int:
    return len(list(run.glob("suite/episodes/part-*.parquet")))


def test_a_cluster_of_our_own_gives_the_same_bytes_and_nothing_but_json(tmp_path):
    words = [*LIGHT, "--episodes", "500"]
    there = start(tmp_path, *words, "--executor", "dask", "--json", "--out", "there")
    told, errors = there.communicate(timeout=300)
    assert there.returncode == 0, errors
    assert json.loads(told)["episodes"] == 500
    assert [line for line in errors.splitlines() if not line.startswith("rpd: ")] == []
    assert start(tmp_path, *words, "--out", "here").wait(300) == 0
    assert stored(tmp_path / "there") == stored(tmp_path / "here")


@pytest.mark.slow
def test_a_scheduler_that_went_away_leaves_parts_with_which_the_same_command_continues(tmp_path):
    words = [*LIGHT, "--episodes", "5000", "--out", "run"]
    with dask_cluster(tmp_path, workers=2) as cluster:
        running = start(tmp_path, *words, "--executor", f"dask:{cluster.address},timeout=60")
        assert wait_until(lambda: parts(tmp_path / "run") >= 3, 300)
        cluster.kill_scheduler()
        _, told = running.communicate(timeout=120)
        assert running.returncode == 2
        assert "has gone: finished parts are kept; run the same command again" in told
        assert "Traceback" not in told
    kept = parts(tmp_path / "run")
    assert 3 <= kept < 20
    with dask_cluster(tmp_path, workers=2) as cluster:
        again = start(tmp_path, *words, "--executor", f"dask:{cluster.address},timeout=60")
        assert again.wait(300) == 0
    assert start(tmp_path, *words[:-1], "here").wait(300) == 0
    assert stored(tmp_path / "run") == stored(tmp_path / "here")


@pytest.mark.slow
def test_a_worker_that_is_stopped_is_given_up_by_the_cluster(tmp_path):
    soon = {"DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "20s"}
    with (
        dask_cluster(tmp_path, workers=2, **soon) as cluster,
        Dask(cluster.address, timeout=60).open(1) as engine,
    ):
        assert results(engine, items(stop_worker_once, str(tmp_path / "mark"))) == ["survived"]


@pytest.mark.slow
def test_twenty_kills_of_the_command_leave_the_same_bytes(tmp_path):
    words = [*LIGHT, "--episodes", "12500"]
    with dask_cluster(tmp_path, workers=2) as cluster:
        there = [*words, "--executor", f"dask:{cluster.address},timeout=60", "--out", "there"]
        kept = 0
        for kill in range(KILLS):
            killed = start(tmp_path, *there)
            more = kept + 1 + kill % 2
            assert wait_until(lambda more=more: parts(tmp_path / "there") >= more, 300)
            os.kill(killed.pid, signal.SIGKILL)
            killed.communicate()
            assert killed.returncode == -signal.SIGKILL
            assert kept < parts(tmp_path / "there") < 50
            kept = parts(tmp_path / "there")
        assert start(tmp_path, *there).wait(600) == 0
    assert start(tmp_path, *words, "--out", "here").wait(600) == 0
    assert stored(tmp_path / "there") == stored(tmp_path / "here")

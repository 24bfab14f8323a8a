"""Whole commands on a cluster: a cluster of our own, one that stops, and twenty kills."""

from __future__ import annotations

import json

import itemwork
import pytest
from clusters import (
    LIGHT,
    dask_cluster,
    finish,
    items,
    killed_at,
    parts,
    results,
    start,
    stop_worker_once,
    stored,
)
from commands import rpd_command
from watching import wait_until

pytest.importorskip("distributed", reason="needs the extra dask")

from distributed.security import Security

from rpd_core.errors import ExecutionError
from rpd_dask.executor import Dask

pytestmark = pytest.mark.extras

KILLS = 20


def test_a_cluster_of_our_own_gives_the_same_bytes_and_nothing_but_json(tmp_path):
    words = [*LIGHT[:-1], "1", "--episodes", "500"]
    there = start(tmp_path, *words, "--executor", "dask", "--json", "--out", "there")
    told, errors = there.communicate(timeout=300)
    assert there.returncode == 0, errors
    assert json.loads(told)["episodes"] == 500
    assert [line for line in errors.splitlines() if not line.startswith("rpd: ")] == []
    assert rpd_command(*words, "--out", tmp_path / "here").exit_code == 0
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
        finish(tmp_path, *words, "--executor", f"dask:{cluster.address},timeout=60")
    finish(tmp_path, *words[:-1], "here")
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
def test_a_cluster_with_certificates_takes_those_who_have_one(tmp_path):
    pytest.importorskip("cryptography", reason="needs the extra dask")
    made = Security.temporary()
    files = {"ca": made.tls_ca_file, "cert": made.tls_client_cert, "key": made.tls_client_key}
    for name, content in files.items():
        (tmp_path / f"{name}.pem").write_text(content)
    ca, cert, key = (str(tmp_path / f"{name}.pem") for name in files)
    words = ("--protocol=tls", f"--tls-ca-file={ca}", f"--tls-cert={cert}", f"--tls-key={key}")
    with dask_cluster(tmp_path, workers=1, words=words) as cluster:
        assert cluster.address.startswith("tls://")
        ours = {"tls_ca_file": ca, "tls_cert": cert, "tls_key": key}
        with Dask(cluster.address, timeout=60, **ours).open(1) as engine:
            assert results(engine, items(itemwork.double, 21)) == [42]
        with (
            pytest.raises(ExecutionError, match="needs certificates"),
            Dask(cluster.address, timeout=5).open(1),
        ):
            pass


@pytest.mark.slow
def test_twenty_kills_of_the_command_leave_the_same_bytes(tmp_path):
    words = [*LIGHT, "--episodes", "12500"]
    with dask_cluster(tmp_path, workers=2) as cluster:
        there = [*words, "--executor", f"dask:{cluster.address},timeout=60", "--out", "there"]
        kept = 0
        for kill in range(KILLS):
            process, enough = start(tmp_path, *there), kept + 1 + kill % 2
            kept = killed_at(process, tmp_path / "there", enough)
            assert enough <= kept < 50
        finish(tmp_path, *there)
    finish(tmp_path, *words, "--out", "here")
    assert stored(tmp_path / "there") == stored(tmp_path / "here")

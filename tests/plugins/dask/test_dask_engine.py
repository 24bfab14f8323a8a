"""A real scheduler with two worker processes: work, files, faults."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
from collections.abc import Iterator

import itemwork
import pytest
from clusters import (
    LIGHT,
    SMALL,
    DaskCluster,
    dask_cluster,
    items,
    killed_at,
    print_much,
    results,
    start,
    stored,
    use_signals,
    where,
)
from commands import refusal, rpd_command
from faults import (
    check_a_process_that_dies_every_time,
    check_a_process_that_stops,
    check_a_worker_that_is_killed,
    check_memory_that_is_refused,
    check_memory_that_the_kernel_ends,
)
from watching import is_running, wait_until

pytest.importorskip("distributed", reason="needs the extra dask")

from distributed import Client, LocalCluster

import rpd_dask.engine
from rpd_core.api import Call, carry_out
from rpd_core.errors import ComponentError, ExecutionError
from rpd_core.execute.items import run_items
from rpd_core.plugin.protocols import Engine
from rpd_dask.executor import Dask, Joined
from rpd_kit import check_recipe
from rpd_kit import executors as runners

pytestmark = pytest.mark.extras


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskCluster]:
    with dask_cluster(tmp_path_factory.mktemp("cluster"), workers=2) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def engine(cluster: DaskCluster) -> Iterator[Engine]:
    with Dask(cluster.address, timeout=60).open(1) as engine:
        yield engine


def test_the_kit_finds_no_fault(cluster, monkeypatch):
    monkeypatch.setattr(runners, "WORKERS", (2,))
    assert check_recipe("executor", Dask(cluster.address, timeout=60)) == []


def test_both_workers_work_each_in_a_process_beside_it(engine):
    found = results(engine, items(where, *[0.2] * 12))
    workers = {worker for _, worker in found}
    assert len(workers) == 2
    assert len({process for process, _ in found}) == 2
    assert not workers & {process for process, _ in found}


def test_a_worker_that_is_killed_costs_its_item_only(engine, tmp_path):
    told = check_a_worker_that_is_killed(engine, tmp_path)
    assert told.startswith("the Dask worker at tcp://127.0.0.1:")


def test_an_item_whose_process_dies_again_and_again_ends_the_run_in_one_line(engine):
    told = check_a_process_that_dies_every_time(engine)
    assert told.startswith("the worker process on ")


def test_memory_that_runs_out_costs_its_item_only(engine, tmp_path):
    check_memory_that_is_refused(engine, tmp_path)
    check_memory_that_the_kernel_ends(engine)


def test_a_process_that_is_stopped_is_noticed(cluster):
    with Dask(cluster.address, timeout=60, stall_timeout=1).open(1) as engine:
        check_a_process_that_stops(engine)


def test_files_travel_once_to_each_worker_and_are_used_where_there_are_none(
    engine, tmp_path, monkeypatch
):
    sent: list[int] = []
    contents = rpd_dask.engine.contents
    monkeypatch.setattr(
        rpd_dask.engine, "contents", lambda files: sent.append(1) or contents(files)
    )
    path = tmp_path / "model.zip"
    path.write_text("model")
    first = items(itemwork.read_all_slowly, *[itemwork.Reader((path,))] * 8, files=(path,))
    later = items(itemwork.read_all_slowly, *[itemwork.Reader((path,))] * 8, files=(path,))
    assert {text for ((_, text),) in results(engine, first)} == {"model"}
    path.unlink()
    found = results(engine, later)
    assert {text for ((_, text),) in found} == {"model"}
    assert str(path) not in {place for ((place, _),) in found}
    assert len(sent) == 2, "once for each worker, not for each item"


def test_environments_may_use_signals_and_print_and_have_one_thread(engine, capfd):
    assert results(engine, items(use_signals, 1, 2)) == [1, 2]
    assert results(engine, items(print_much, 1)) == ["1"]
    assert capfd.readouterr() == ("", "")


def test_what_hangs_is_ended_and_said_in_one_line(cluster):
    with (
        pytest.raises(ExecutionError, match=r"^no progress for 1 seconds before the first"),
        Dask(cluster.address, timeout=60, stall_timeout=1).open(1) as engine,
    ):
        results(engine, items(where, 600))


def test_when_the_run_ends_its_processes_end(cluster):
    with Dask(cluster.address, timeout=60).open(1) as engine:
        processes = {process for process, _ in results(engine, items(where, *[0.1] * 6))}
        outcomes = engine.execute(iter_queue(items(where, 0.0, 600)))
        next(outcomes)
        outcomes.close()
    assert wait_until(lambda: not any(map(is_running, processes)))


def iter_queue(work):
    class Queue:
        def take(self):
            return work.pop(0) if work else None

    return Queue()


def test_a_module_that_the_worker_lacks_is_one_line(engine, tmp_path, monkeypatch):
    (tmp_path / "only_here.py").write_text("def work(number):\n    return number\n")
    monkeypatch.syspath_prepend(tmp_path)
    import only_here

    with pytest.raises(ExecutionError) as caught:
        results(engine, items(only_here.work, 1))
    assert "cannot read its work (ModuleNotFoundError: No module named 'only_here')" in str(
        caught.value
    )


def test_a_run_is_the_same_to_the_byte_and_a_live_client_is_left_open(cluster, tmp_path):
    carry_out(Call(**SMALL, out=tmp_path / "here"))
    with Client(cluster.address, set_as_default=False, timeout=60) as client:
        carry_out(Call(**SMALL, out=tmp_path / "there", executor=client))
        assert client.status == "running"
    there = stored(tmp_path / "there")
    assert len(there) > 20
    assert there == stored(tmp_path / "here")


def test_a_client_that_was_closed_is_refused(cluster, tmp_path):
    with Client(cluster.address, set_as_default=False, timeout=60) as client:
        pass
    with pytest.raises(ExecutionError, match="this Dask client is closed: hand over one"):
        carry_out(Call(**SMALL, out=tmp_path / "run", executor=client))


NO_PAGE = {
    "dashboard_address": None,
    "scheduler_kwargs": {"dashboard_address": "127.0.0.1:0"},
    "silence_logs": logging.CRITICAL,
}


def test_work_waits_for_workers_that_join_late(caplog, monkeypatch):
    monkeypatch.setattr(rpd_dask.engine, "_PATIENCE", 0.5)
    monkeypatch.setattr(rpd_dask.engine, "_COUNT_EVERY", 0.2)
    told = "no Dask worker has joined the scheduler: waiting for one"
    with (
        LocalCluster(n_workers=0, threads_per_worker=2, memory_limit=None, **NO_PAGE) as late,
        Client(late, set_as_default=False) as client,
        Joined(client).open(1) as engine,
    ):

        def join_when_missed() -> None:
            assert wait_until(lambda: told in caplog.text)
            late.scale(1)

        joining = threading.Thread(target=join_when_missed)
        joining.start()
        found = results(engine, items(where, *[0.3] * 6))
        joining.join()
    assert len({worker for _, worker in found}) == 1
    assert len({process for process, _ in found}) == 2, "a process for each thread of a worker"
    assert caplog.text.count(told) == 1


def test_a_scheduler_that_goes_away_is_one_line_and_what_came_back_is_kept(tmp_path, capfd):
    came: list[int] = []

    def kill_then(item, value):
        came.append(value)
        cluster.kill_scheduler()

    with dask_cluster(tmp_path, workers=0) as cluster:
        cluster.add_workers(1, "--no-nanny")
        with (
            pytest.raises(ExecutionError) as caught,
            Dask(cluster.address, timeout=30).open(1) as engine,
        ):
            run_items(engine, [*items(itemwork.double, 21), *items(where, 60)], kill_then)
    assert came == [42]
    assert "Traceback" not in capfd.readouterr().err
    assert str(caught.value) == (
        f"the Dask scheduler at {cluster.address} has gone: finished parts are kept; run the same "
        "command again when it is back, or with another --executor"
    )


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("dask:tcp://127.0.0.1:9,timeout=1", "no Dask scheduler answers at 'tcp://127.0.0.1:9' ("),
        ("dask:nonsense", "address must be like tcp://HOST:8786, got 'nonsense'"),
        ("dask:no://127.0.0.1:9", "no Dask scheduler answers at 'no://127.0.0.1:9' (ValueError: "),
        (
            "dask:adress=tcp://127.0.0.1:9",
            "'adress' is not a parameter of 'dask'. Did you mean 'address'?",
        ),
        ("dask:nonsense=1", "'nonsense' is not a parameter of 'dask'. It takes address, timeout,"),
        ("dask:tls://127.0.0.1:9", "needs certificates: add tls_ca_file=FILE and tls_cert=FILE"),
        (f"dask:tls://127.0.0.1:9,tls_ca_file={__file__},tls_cert={__file__}", "(SSLError: "),
        ("dask:timeout=0", "timeout must be above 0 seconds, got 0"),
        ("dask:tls://h:1,tls_ca_file=none.pem", "tls_ca_file: there is no file 'none.pem'"),
        ("dask:tls_ca_file=none.pem", "tls_ca_file belongs to an address"),
    ],
)
def test_wrong_input_is_one_line(spec, told, tmp_path):
    words = ["--env", "gym:CartPole-v1", "--policy", "random", "--default-action", "constant:0"]
    said = refusal("suite", *words, "--out", tmp_path / "run", "--executor", spec)
    assert told in said
    assert not (tmp_path / "run").exists()


def test_a_client_that_is_half_made_is_closed(tmp_path):
    """Or it would complain when Python ends."""
    code = "from rpd_core.cli.main import main; main()"
    words = ["suite", "--env", "cartpole", "--executor", "dask:no://127.0.0.1:9"]
    told = subprocess.run(
        [sys.executable, "-c", code, *words], cwd=tmp_path, capture_output=True, text=True
    )
    assert told.returncode == 2
    assert told.stderr.startswith("rpd: no Dask scheduler answers at 'no://127.0.0.1:9'")
    assert told.stderr.count("\n") == 1


def test_what_is_no_client_is_refused(tmp_path):
    with pytest.raises(ComponentError, match="executor object lacks open"):
        carry_out(Call(**SMALL, out=tmp_path / "run", executor=object()))


def test_two_kills_of_the_command_leave_the_same_bytes(cluster, tmp_path):
    words = [*LIGHT, "--episodes", "2500"]
    there = [*words, "--executor", f"dask:{cluster.address},timeout=60", "--out", "there"]
    for enough in (1, 4):
        assert killed_at(start(tmp_path, *there), tmp_path / "there", enough) in range(enough, 10)
    assert rpd_command(*there[:-1], tmp_path / "there").exit_code == 0
    assert rpd_command(*words, "--out", tmp_path / "here").exit_code == 0
    assert len(stored(tmp_path / "here")) > 30
    assert stored(tmp_path / "there") == stored(tmp_path / "here")

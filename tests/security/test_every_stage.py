"""Memory that runs out and workers that are killed, in every item of work of a run.

The run ends with the bytes of one that was left alone, or, where it happens again and again, with
one line; the same command then goes on from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import armed
import pytest
from armed import Arming, Deed, be_killed, exceed_limit, exhaust_group, run_out_of_memory
from faults import little_memory
from stores import contents, corridor, finish

from rpd_core.config.settings import Request
from rpd_core.errors import ExecutionError

STAGES = (
    "fitting the abstraction", "original", "episodes 40 to 59", "played again", "tarantula",
    "minimising", "confirm", "losses", "twins", "rules-confirm", "trace-smallest",
    "learning to imitate", "imitate-0",
)  # fmt: skip
"""In the order of a run, words of which each stands in what the items of a stage are called."""


def request(abstraction: str = "bins:5") -> Request:
    return corridor(env=armed.Corridor(), policy=armed.Goes(), abstraction=(abstraction,))


Left = tuple[dict[str, bytes], Sequence[str]]


def left_alone(folder: Path, abstraction: str = "bins:5") -> Left:
    """Return what a run stores that nothing happens to, and what its items are called."""
    arming = Arming(isolate=False)
    run = finish(folder / "run", request(abstraction), executor=arming)
    return contents(run.path, "*"), arming.labels


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Left:
    return left_alone(tmp_path_factory.mktemp("alone"))


def test_the_stages_are_all_there(alone: Left) -> None:
    labels = alone[1]
    assert [stage for stage in STAGES if not any(stage in label for label in labels)] == []
    assert labels.count("episodes 0 to 19") == 2, "of the suite, and of unmutated episodes"


@pytest.mark.parametrize("place", ["environment", "policy"])
def test_memory_that_runs_out_in_every_item_leaves_the_same_bytes(
    alone: Left, tmp_path: Path, place: str
) -> None:
    arming = Arming(run_out_of_memory, place, isolate=False)
    finish(tmp_path / "run", request(), executor=arming)
    assert arming.lost == len(alone[1]) == len(arming.labels)
    assert contents(tmp_path / "run", "*") == alone[0]


def test_a_limit_of_memory_that_is_reached_in_every_item_leaves_the_same_bytes(
    alone: Left, tmp_path: Path
) -> None:
    arming = Arming(exceed_limit)
    finish(tmp_path / "run", request(), executor=arming)
    assert arming.lost == len(alone[1])
    assert contents(tmp_path / "run", "*") == alone[0]


@pytest.mark.slow
@pytest.mark.parametrize("place", ["environment", "policy"])
def test_a_worker_that_is_killed_in_every_item_leaves_the_same_bytes(
    alone: Left, tmp_path: Path, place: str
) -> None:
    arming = Arming(be_killed, place)
    finish(tmp_path / "run", request(), executor=arming)
    assert arming.lost == len(alone[1])
    assert contents(tmp_path / "run", "*") == alone[0]


@pytest.mark.slow
def test_a_worker_that_the_kernel_ends_for_its_memory_leaves_the_same_bytes(
    alone: Left, tmp_path: Path
) -> None:
    with little_memory() as group:
        arming = Arming(exhaust_group(group))
        finish(tmp_path / "run", request(), executor=arming)
    assert arming.lost == len(alone[1])
    assert contents(tmp_path / "run", "*") == alone[0]


@pytest.mark.slow
@pytest.mark.parametrize("deed", [run_out_of_memory, be_killed])
def test_so_does_an_abstraction_that_learns_by_playing(tmp_path: Path, deed: Deed) -> None:
    """Ten thousand samples and small suites; one item in five fails, the first and last with it."""
    whole, labels = left_alone(tmp_path / "alone", "rules")
    growing = [label for label in labels if "growing" in label or "sample" in label]
    chosen = {*growing[::5], growing[-1]}
    arming = Arming(deed, chosen=chosen.__contains__)
    finish(tmp_path / "run", request("rules"), executor=arming)
    assert arming.lost >= len(chosen) > 5
    assert contents(tmp_path / "run", "*") == whole


@pytest.mark.parametrize(
    ("deed", "told", "isolate"),
    [
        (run_out_of_memory, "the worker process ran out of memory (MemoryError)", False),
        pytest.param(be_killed, "was killed by SIGKILL (memory", True, marks=pytest.mark.slow),
    ],
)
def test_what_happens_every_time_is_one_line_in_every_stage_and_the_rest_goes_on(
    alone: Left, tmp_path: Path, deed: Deed, told: str, isolate: bool
) -> None:
    for stage in STAGES:
        arming = Arming(deed, "policy", lambda label, it=stage: it in label, True, isolate)
        with pytest.raises(ExecutionError) as caught:
            finish(tmp_path / "run", request(), executor=arming)
        line = str(caught.value)
        assert told in line
        assert ", 4 times, while doing " in line
        assert stage in line
        assert line.isprintable()
        assert list(tmp_path.rglob("summary.json")) == []
    finish(tmp_path / "run", request())
    assert contents(tmp_path / "run", "*") == alone[0]

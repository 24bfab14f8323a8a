"""Suites that are built in parts, anywhere, and joined: as if one run had played them."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import worlds
from commands import refusal, rpd_command
from stores import contents, corridor, finish, tree

import rpd
from rpd_core.config.settings import Settings
from rpd_core.config.typed import PartRange, parse_parts
from rpd_core.errors import ConfigError, RpdError, StoreError
from rpd_core.store.directory import RunDirectory
from rpd_core.store.merge import merge_directories
from rpd_core.store.parts import Parts

LEARNS = "bins:5"
"""An abstraction that must learn before the first episode."""
TREE = Path(__file__).resolve().parents[1]


def build(path: Path, parts: Any = None, **settings: Any) -> rpd.Run:
    """Build some parts of a small suite on the corridor."""
    asked = {"abstraction": (LEARNS,), **settings}
    request = corridor(**asked)
    return rpd.build_suite(
        request.env, request.policy, **request.given(), out=path, parts=parts, progress=False
    )


def files(path: Path) -> dict[str, bytes]:
    """Return everything in a run but its lock."""
    return {name: content for name, content in contents(path, "*").items() if name != ".lock"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One run of 60 episodes in 3 parts, `whole`; and each part in a run of its own, `0` to `2`."""
    folder = tmp_path_factory.mktemp("split")
    build(folder / "whole")
    for number in range(3):
        build(folder / str(number), (number, number + 1))
    return folder


def damaged_copy(folder: Path, name: str, target: Path) -> Path:
    """Copy a run and give its first part other returns, as another machine might."""
    shutil.copytree(folder / name, target)
    parts = RunDirectory(target).suite()
    ((first, last),) = parts.covered()
    tables = parts.read(first, last)
    episodes = tables["episodes"]
    place = episodes.column_names.index("total_return")
    raised = [value.as_py() + 1 for value in episodes["total_return"]]
    tables["episodes"] = episodes.set_column(place, "total_return", [raised])
    parts.write(first, last, tables, parts.record(first, last).origin)
    return target


# ------------------------------------------------------------------------------ equal bytes


def test_a_range_holds_its_parts_and_the_first_also_the_unmutated_episodes(folder: Path) -> None:
    for number in range(3):
        directory = RunDirectory(folder / str(number))
        assert directory.suite().covered() == [(20 * number, 20 * number + 19)]
        assert bool(directory.unmutated().covered()) == (number == 0)


@pytest.mark.parametrize("order", ["012", "210", "1102"])
def test_merged_parts_are_the_bytes_of_one_run(folder: Path, tmp_path: Path, order: str) -> None:
    before = {name: tree(folder / name) for name in "012"}
    rpd.merge_runs(tmp_path / "all", *(folder / name for name in order), progress=False)
    assert files(tmp_path / "all") == files(folder / "whole")
    assert {name: tree(folder / name) for name in "012"} == before, "they are only read"


def test_what_is_learned_is_learned_alike_everywhere(folder: Path) -> None:
    learned = {(folder / name / "prepared.json").read_bytes() for name in ("whole", *"012")}
    assert len(learned) == 1
    assert json.loads(learned.pop())["fitted"] != [None]


def test_a_merged_run_goes_on_as_one_run_does(folder: Path, tmp_path: Path) -> None:
    asked = corridor(abstraction=(LEARNS,))
    merged = rpd.merge_runs(tmp_path / "all", *(folder / name for name in "20"), progress=False)
    assert merged.missing == [(20, 39)]
    finish(merged.path, asked)
    assert files(merged.path) == files(finish(tmp_path / "one", asked).path)


def test_merging_again_and_into_one_of_them_adds_what_is_new(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "0", tmp_path / "all")
    out, given = RunDirectory(tmp_path / "all"), [RunDirectory(folder / name) for name in "01"]
    found = merge_directories(out, given)
    assert (found.parts, found.episodes_done, found.episodes) == (1, 40, 60)
    assert found.missing == ((40, 59),)
    before = tree(out.path)
    assert merge_directories(out, given).parts == 0
    assert tree(out.path) == before
    merge_directories(out, [*given, RunDirectory(folder / "2"), out])
    assert files(out.path) == files(folder / "whole")


def test_the_largest_number_of_episodes_counts(folder: Path, tmp_path: Path) -> None:
    settings = {"abstraction": ("identity",)}
    build(tmp_path / "small", **settings)
    build(tmp_path / "more", (3, 4), episodes=100, **settings)
    merged = rpd.merge_runs(tmp_path / "all", tmp_path / "small", tmp_path / "more", progress=False)
    assert merged.progress == (80, 100)
    assert merged.missing == [(80, 99)]


def test_the_file_of_a_policy_that_was_an_object_comes_along(folder: Path, tmp_path: Path) -> None:
    run, out = tmp_path / "elsewhere" / "run", tmp_path / "all"
    shutil.copytree(folder / "1", run)
    (run / "objects").mkdir()
    (run / "objects" / "model-12ab.zip").write_bytes(b"weights")
    told = json.loads((run / "run.json").read_text())
    told["policy"] = "sb3:runs/there/objects/model-12ab.zip,deterministic=false"
    (run / "run.json").write_text(json.dumps(told))
    rpd.merge_runs(out, run, progress=False)
    assert (out / "objects" / "model-12ab.zip").read_bytes() == b"weights"
    stored = RunDirectory(out).stored().policy
    assert stored == f"sb3:{out / 'objects' / 'model-12ab.zip'},deterministic=false"


# --------------------------------------------------------------------------------- refusals


def refused(tmp_path: Path, *runs: Path) -> str:
    with pytest.raises(StoreError) as caught:
        merge_directories(RunDirectory(tmp_path / "refused"), [RunDirectory(run) for run in runs])
    assert not (tmp_path / "refused").exists(), "nothing is left of what was refused"
    return str(caught.value)


def test_a_part_that_two_hold_with_different_content_is_refused(
    folder: Path, tmp_path: Path
) -> None:
    other = damaged_copy(folder, "1", tmp_path / "other")
    message = refused(tmp_path, folder / "0", folder / "1", other)
    assert "both hold episodes 20 to 39, with different episodes: rpd verify" in message
    assert str(other) in message


def test_the_same_tables_in_other_files_are_the_same(folder: Path, tmp_path: Path) -> None:
    """Another version of the library that writes files may pack them in another way."""
    shutil.copytree(folder / "1", tmp_path / "1")
    file = next((tmp_path / "1" / "suite" / "visits").iterdir())
    before = file.read_bytes()
    repack(file)
    assert file.read_bytes() != before
    merged = merge_directories(
        RunDirectory(tmp_path / "all"), [RunDirectory(folder / "1"), RunDirectory(tmp_path / "1")]
    )
    assert (merged.parts, merged.held) == (1, 0)


def repack(file: Path) -> None:
    """Write a table of a part anew without compression, and record it."""
    import hashlib

    import pyarrow.parquet as pq

    pq.write_table(pq.read_table(file), file, compression="none")
    record = file.parents[1] / f"{file.stem}.json"
    told = json.loads(record.read_text())
    told["digests"]["visits"] = hashlib.sha256(file.read_bytes()).hexdigest()
    record.write_text(json.dumps(told))


@pytest.mark.parametrize(
    ("settings", "difference"),
    [
        ({"seed": 3}, "(seed: 0 and 3)"),
        ({"mutation_rate": 0.5}, "(mutation_rate: 0.3 and 0.5)"),
        ({"policy": worlds.Goes(0)}, "policy.parameters.action: 1 and 0"),
    ],
)
def test_another_configuration_is_refused_with_the_difference(
    folder: Path, tmp_path: Path, settings: dict[str, Any], difference: str
) -> None:
    build(tmp_path / "other", (1, 2), **settings)
    message = refused(tmp_path, folder / "0", tmp_path / "other")
    assert difference in message
    assert message.endswith("only runs of the same can be merged")


def test_what_was_learned_for_another_number_of_episodes_is_refused(
    folder: Path, tmp_path: Path
) -> None:
    build(tmp_path / "other", (3, 4), episodes=80, abstraction=(LEARNS,))
    path = tmp_path / "other" / "prepared.json"
    if path.read_bytes() == (folder / "0" / "prepared.json").read_bytes():
        learned = json.loads(path.read_text())["fitted"]
        learned[0]["edges"] = [[0.5]]
        RunDirectory(tmp_path / "other").write_json("prepared.json", {"fitted": learned})
    message = refused(tmp_path, folder / "0", tmp_path / "other")
    assert "differ in what their abstractions have learned (prepared.json)" in message
    assert "give all of them the same --episodes" in message


def test_other_cuts_into_parts_are_refused(folder: Path, tmp_path: Path) -> None:
    build(tmp_path / "other", (0, 1), chunk=30)
    assert "only runs that are cut into the same parts" in refused(
        tmp_path, folder / "1", tmp_path / "other"
    )


def test_a_damaged_part_is_refused_before_any_is_copied(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "1", tmp_path / "1")
    next((tmp_path / "1" / "suite" / "visits").iterdir()).write_bytes(b"no table")
    message = refused(tmp_path, folder / "0", tmp_path / "1")
    assert "was changed after it was written" in message
    shutil.copytree(folder / "0", tmp_path / "all")
    before = tree(tmp_path / "all")
    with pytest.raises(StoreError, match="was changed after it was written"):
        rpd.merge_runs(tmp_path / "all", tmp_path / "1", progress=False)
    assert tree(tmp_path / "all") == before


def test_what_is_no_run_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is not a run directory"):
        merge_directories(RunDirectory(tmp_path / "all"), [RunDirectory(tmp_path / "nothing")])
    with pytest.raises(ConfigError, match="nothing to merge"):
        merge_directories(RunDirectory(tmp_path / "all"), [])
    assert list(tmp_path.iterdir()) == []


# ----------------------------------------------------------------------------- interruption

KILLED = """
import os, signal, sys
from pathlib import Path
from rpd_core.store import files, parts
from rpd_core.store.directory import RunDirectory
from rpd_core.store.merge import merge_directories

left = int(sys.argv[1])
replace = os.replace

def dying(*paths):
    global left
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    left -= 1
    replace(*paths)

os.replace = dying
given = [RunDirectory(Path(one)) for one in sys.argv[3:]]
merge_directories(RunDirectory(Path(sys.argv[2])), given)
"""


@pytest.mark.parametrize("writes", [0, 4, 9])
def test_a_merge_that_is_killed_leaves_whole_parts_and_goes_on(
    folder: Path, tmp_path: Path, writes: int
) -> None:
    runs = [str(folder / name) for name in "012"]
    out = tmp_path / "all"
    words = [sys.executable, "-c", KILLED, str(writes), str(out), *runs]
    assert subprocess.run(words, check=False).returncode == -signal.SIGKILL
    whole = files(folder / "whole")
    there = {name: content for name, content in files(out).items() if not name.endswith(".tmp")}
    assert there.items() <= whole.items(), "what is there is there whole"
    for first, last in RunDirectory(out).suite().covered() if writes else []:
        RunDirectory(out).suite().read(first, last)
    rpd.merge_runs(out, *runs, progress=False)
    assert files(out) == whole


# -------------------------------------------------------------------------- reading with gaps


def test_what_reads_a_suite_with_gaps_says_so(folder: Path, tmp_path: Path) -> None:
    run = folder / "1"
    shown = rpd_command("show", run)
    assert "20 of 60 mutant episodes are stored; the suite is not complete" in shown.stdout
    assert "Episodes 0 to 19 and 40 to 59 are missing." in shown.stdout
    told = json.loads(rpd_command("show", run, "--json").stdout)
    assert told["missing"] == [[0, 19], [40, 59]]
    ranked = rpd_command("rank", run, "--condition", "return>=2.5")
    assert ranked.exit_code == 0, ranked.output
    assert (
        "this stands on 20 of 60 episodes: the suite is not complete, episodes 0 to 19 and 40 to 59"
        in ranked.stderr
    )
    assert rpd.open_run(run).missing == [(0, 19), (40, 59)]


# ------------------------------------------------------------------------------ command line


def test_parts_and_merge_on_the_command_line(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rpd_core.cli.work.ISOLATE", None)
    common = ("--env", "cartpole", "--episodes", "2530", "--workers", "1")
    built = rpd_command("suite", *common, "--parts", "1:2", "--out", tmp_path / "a", "--json")
    assert built.exit_code == 0, built.output
    told = json.loads(built.stdout)
    assert (told["episodes"], told["missing"]) == (30, [[0, 2499]])
    merged = rpd_command("merge", tmp_path / "all", tmp_path / "a", "--json")
    assert json.loads(merged.stdout) == {
        "out": str(tmp_path / "all"),
        "parts": 1,
        "unmutated": 0,
        "held": 0,
        "episodes_done": 30,
        "episodes": 2530,
        "missing": [[0, 2499]],
    }
    first = rpd_command("merge", tmp_path / "first", folder / "0", folder / "1").stdout
    assert "4 parts added, 2 of unmutated episodes: 40 of 60 mutant episodes" in first
    (tmp_path / "file").touch()
    assert refusal("merge", tmp_path / "file", tmp_path / "a").endswith("choose another folder")
    text = rpd_command("merge", tmp_path / "all", tmp_path / "a").stdout
    assert "0 parts added (1 was there already): 30 of 2530 mutant episodes" in text
    assert "Not complete: episodes 0 to 2499 are missing." in text
    assert refusal("suite", *common, "--parts", "1:3", "--out", tmp_path / "b") == (
        "rpd: there are no parts '1:3': 2530 episodes in parts of 2500 are 2 parts, 0:2"
    )
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize("text", ["", "3", "a:b", "-1:2", "1:2:3", "1.5:2"])
def test_what_is_no_range_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"parts must be A:B, .* for example 0:5"):
        parse_parts(text)


def test_ranges_as_they_are_written() -> None:
    settings = Settings(episodes=90, chunk=20)
    assert parse_parts("1:3").episodes(settings) == range(20, 60)
    assert parse_parts("3:").episodes(settings) == range(60, 90)
    assert parse_parts(":2").episodes(settings) == range(40)
    assert parse_parts((4, 5)) == PartRange(4, 5)
    for empty in ("2:2", "5:6", "0:6"):
        with pytest.raises(RpdError, match="90 episodes in parts of 20 are 5 parts, 0:5"):
            parse_parts(empty).episodes(settings)


def test_parts_that_are_missing_are_found_wherever_they_are(tmp_path: Path) -> None:
    parts = Parts(tmp_path, ("episodes",), "x", tmp_path)
    for first, last in ((0, 9), (20, 24), (40, 49)):
        (tmp_path / f"part-{first:09d}-{last:09d}.json").touch()
    assert parts.missing(60) == [(10, 19), (25, 39), (50, 59)]
    assert parts.missing(0) == []
    assert parts.gaps(60, 10, 15) == [(15, 19), (25, 29), (30, 39), (50, 59)]

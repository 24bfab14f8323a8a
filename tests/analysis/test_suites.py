"""Suites: what is recorded, and that neither chunks nor workers nor order ever show."""

from __future__ import annotations

import dataclasses
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import worlds
from gymnasium import spaces
from hypothesis import given, settings
from hypothesis import strategies as st
from lines import Does, Line, always, by_step, pattern, plan, player

from rpd_core import pipeline
from rpd_core.analysis.spectrum import count_spectrum
from rpd_core.analysis.suite import merge
from rpd_core.config.configuration import Request, resolve
from rpd_core.errors import EvidenceError
from rpd_core.pipeline import Workshop
from rpd_core.play.chance import canonical, state_keys
from rpd_core.play.jobs import SuiteJob, perform_suite
from rpd_core.play.loop import Recipe
from rpd_core.play.recording import Recorder, entropy, play_suite, value_gap
from rpd_core.plugin.protocols import Choice, Spectrum, Suite
from rpd_core.plugin.registry import Registry
from rpd_core.store.directory import RunDirectory
from rpd_core.store.tables import read_suite, suite_tables

EPISODES = 40


@dataclasses.dataclass(frozen=True)
class Opinionated:
    """A policy with action values and probabilities that vary from step to step."""

    def load(self, facts: Any) -> Any:
        def decide(seen: Any) -> Choice:
            values = seen.draws.uniform(2) * 3
            chances = values / values.sum(axis=1, keepdims=True)
            return Choice((values[:, 0] < 2).astype(int), values, chances)

        return decide


RECIPE = Recipe(
    worlds.Corridor(), Opinionated(), worlds.Itself(), worlds.Drifts(), 16, worlds.MAX_STEPS
)


def chunk(first: int, last: int) -> Suite:
    return perform_suite(SuiteJob(RECIPE, 5, 0.3, first, last))


def assert_same(one: Suite, other: Suite) -> None:
    for table in ("episodes", "visits", "states"):
        for name, column in vars(getattr(one, table)).items():
            found = vars(getattr(other, table))[name]
            np.testing.assert_equal(found, column, f"{table}.{name}")
            if name != "info":
                assert found.dtype == column.dtype, f"{table}.{name}"


@pytest.fixture(scope="module")
def whole() -> Suite:
    return chunk(0, EPISODES - 1)


# ------------------------------------------------------------------------- what is recorded


def recorded() -> Suite:
    """One episode: right, right, left, left, stay, right; fates by step; default stays."""
    line = Line()
    opened = player(line, by_step([1, 1, 2, 2, 0, 1]), always(0), max_steps=6)
    recorder, episodes = Recorder(line.space), plan(1, first=9)
    played = opened.play(episodes, pattern("KKKDDK"), recorder)
    return recorder.suite(played, episodes, 0.25)


def test_visits_hold_what_happened() -> None:
    suite = recorded()
    # Cells: 0 -1-> 1 -1-> 2 -2-> 1, mutated 1, mutated 1, kept 1 -1-> 2.
    keys = state_keys(canonical(np.array([[0.0], [1.0], [2.0]])))
    rows = [suite.visits.key.tolist().index(key) for key in keys.tolist()]
    visits = suite.visits
    assert visits.episode.tolist() == [9, 9, 9]
    assert visits.first_step[rows].tolist() == [0, 1, 2]
    assert visits.count[rows].tolist() == [1, 4, 1]
    assert visits.return_before[rows].tolist() == [0.0, 1.0, 2.0]
    # The default action is 0; the policy chose 1 in cell 0, 1, 2, 0, 1 in cell 1, 2 in cell 2.
    assert visits.differed[rows].tolist() == [1, 3, 1]
    assert visits.mutation_rate.tolist() == [0.25] * 3
    assert visits.mutated.tolist() == [False] * 3, "the fate at the first visit counts"


def test_states_hold_counts_and_choices() -> None:
    suite = recorded()
    order = np.argsort(suite.states.value[:, 0])
    states = suite.states
    assert states.value[order, 0].tolist() == [0.0, 1.0, 2.0]
    assert states.visits[order].tolist() == [1, 4, 1]
    assert states.choices[order].tolist() == [[0, 1, 0], [1, 2, 1], [0, 0, 1]]
    assert states.first_episode.tolist() == [9, 9, 9]
    assert states.first_step[order].tolist() == [0, 1, 2]
    assert np.isnan(states.value_gap).all()
    assert np.isnan(states.entropy).all()


def test_tables_are_ordered(whole: Suite) -> None:
    assert (np.diff(whole.states.key.astype(object)) > 0).all()
    pairs = list(zip(whole.visits.episode.tolist(), whole.visits.key.tolist(), strict=True))
    assert pairs == sorted(set(pairs))


def test_the_smallest_episode_and_step_of_a_state_are_kept(whole: Suite) -> None:
    for row, key in enumerate(whole.states.key):
        mine = whole.visits.key == key
        first = min(zip(whole.visits.episode[mine], whole.visits.first_step[mine], strict=True))
        assert (whole.states.first_episode[row], whole.states.first_step[row]) == first
        assert whole.states.visits[row] == whole.visits.count[mine].sum()
        assert whole.states.choices[row].sum() == whole.states.visits[row]


def test_value_gap_and_entropy_by_hand() -> None:
    gaps = value_gap(np.array([[1.0, 4.0, 2.0], [-np.inf, 1.0, 3.0], [np.nan, 2.0, 2.0]]))
    assert gaps.tolist() == [3.0, 2.0, 0.0]
    assert value_gap(np.full((1, 2), -np.inf)).tolist() == [0.0]
    found = entropy(np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0], [0.25, 0.25, 0.5]]))
    assert found == pytest.approx([np.log(2), 0.0, 1.5 * np.log(2)], abs=1e-15)


def test_sums_of_value_gap_and_entropy_follow_the_policy() -> None:
    line = Line()

    def decide(seen: Any) -> Choice:
        return Choice(
            np.zeros(1, dtype=int), np.array([[1.0, 3.5, 2.0]]), np.array([[0.5, 0.5, 0.0]])
        )

    suite = play_suite(player(line, decide, always(0), max_steps=4), plan(1), 0.3)
    assert suite.states.value_gap.tolist() == [10.0]
    assert suite.states.entropy == pytest.approx([4 * np.log(2)], abs=1e-5)


# ------------------------------------------------------------------------- chunks and merging


@settings(max_examples=8)
@given(st.lists(st.integers(1, EPISODES - 1), max_size=6), st.randoms())
def test_neither_chunks_nor_the_order_of_merging_change_a_suite(
    cuts: list[int], random: Any
) -> None:
    edges = [0, *sorted(set(cuts)), EPISODES]
    parts = [chunk(first, last - 1) for first, last in pairwise(edges)]
    random.shuffle(parts)
    assert_same(merge(parts), chunk(0, EPISODES - 1))


def test_merging_merged_parts_is_merging_all(whole: Suite) -> None:
    left = merge([chunk(13, 20), chunk(0, 12)])
    assert_same(merge([merge([chunk(21, 39)]), left]), whole)


def test_overlapping_parts_are_refused() -> None:
    with pytest.raises(EvidenceError, match="parts of the suite overlap"):
        merge([chunk(0, 10), chunk(10, 12)])
    with pytest.raises(EvidenceError, match="no episodes to merge"):
        merge([])


def test_two_states_under_one_key_are_refused(whole: Suite) -> None:
    wrong = dataclasses.replace(whole.states, value=whole.states.value + 1)
    other = chunk(EPISODES, EPISODES + 10)
    with pytest.raises(EvidenceError, match="two different states share a key"):
        merge([dataclasses.replace(whole, states=wrong), other])


def test_parts_with_different_infos_are_filled_with_gaps(whole: Suite) -> None:
    extra = chunk(EPISODES, EPISODES + 1)
    bare = dataclasses.replace(extra, episodes=dataclasses.replace(extra.episodes, info={}))
    merged = merge([whole, bare]).episodes.info["at_goal"]
    assert np.isnan(merged).tolist() == [False] * EPISODES + [True] * 2


# ------------------------------------------------------------------------- spectrum


def test_a_spectrum_by_hand() -> None:
    """Episode 0 passed, 1 failed, 2 half; the first state is kept, mutated, mutated."""
    suite = chunk(0, 2)
    keys = suite.states.key[:2]
    visits = dataclasses.replace(
        suite.visits,
        **{
            name: getattr(suite.visits, name)[:5]
            for name in ("mutation_rate", "first_step", "return_before", "differed")
        },
        episode=np.array([0, 0, 1, 2, 2]),
        key=keys[[0, 1, 0, 0, 1]],
        mutated=np.array([False, True, True, True, False]),
        count=np.array([7, 1, 3, 1, 1]),
    )
    found = count_spectrum(dataclasses.replace(suite, visits=visits), np.array([1.0, 0.0, 0.5]))
    assert isinstance(found, Spectrum)
    assert found.mutated_failed[:2].tolist() == [1.5, 0.0]
    assert found.mutated_passed[:2].tolist() == [0.5, 1.0]
    assert found.kept_failed[:2].tolist() == [0.0, 0.5]
    assert found.kept_passed[:2].tolist() == [1.0, 0.5]
    assert len(found) == len(suite.states)
    assert sum(cell[2:].sum() for cell in vars(found).values()) == 0


# ------------------------------------------------------------------------- disk


def test_a_suite_survives_the_trip_to_disk(whole: Suite) -> None:
    assert_same(read_suite(suite_tables(whole)), whole)


@pytest.mark.parametrize(
    "dtype", ["?", "i1", "u1", "i4", "i8", "u8", "f2", "f4", "f8"], ids=lambda name: f"dtype-{name}"
)
@pytest.mark.parametrize("shape", [(), (3,), (2, 2)], ids=str)
def test_values_of_every_dtype_and_shape_survive(
    dtype: str, shape: tuple[int, ...], whole: Suite
) -> None:
    count = len(whole.states)
    values = np.arange(count * int(np.prod(shape)), dtype=float).reshape(count, *shape) % 7
    states = dataclasses.replace(whole.states, value=values.astype(dtype))
    suite = dataclasses.replace(whole, states=states)
    assert_same(read_suite(suite_tables(suite)), suite)


def test_a_suite_of_continuous_actions_survives(tmp_path: Path) -> None:
    line = Line(space=spaces.Box(-1, 1, (2,)))

    def steers(seen: Any) -> Any:
        return (seen.draws.uniform(2) * 2 - 1).astype(np.float32)

    zeros = np.zeros((4, 2), dtype=np.float32)
    suite = play_suite(player(line, Does(steers), lambda moment: zeros, lanes=4), plan(9), 0.4)
    assert suite.states.choices.shape == (len(suite.states), 0)
    parts = RunDirectory(tmp_path).suite
    parts.write(0, 8, suite_tables(suite))
    assert_same(read_suite(parts.read(0, 8)), suite)
    assert_same(merge([read_suite(parts.read(0, 8))]), suite)


def request(**changes: Any) -> Request:
    return Request(
        **{
            "env": worlds.Corridor(),
            "policy": worlds.Goes(),
            "episodes": 50,
            "chunk": 20,
            "default_action": "random",
            **changes,
        }
    )


def built(path: Path, registry: Registry, workers: int = 1, **changes: Any) -> Suite:
    shop = Workshop(
        resolve(request(**changes), registry), RunDirectory(path), registry, workers=workers
    )
    pipeline.open_run(shop)
    return pipeline.build_suite(shop)


def files(path: Path) -> dict[str, bytes]:
    return {
        str(file.relative_to(path)): file.read_bytes() for file in sorted(path.rglob("*.parquet"))
    }


def test_two_worker_processes_write_the_same_bytes_as_one(
    tmp_path: Path, registry: Registry
) -> None:
    assert_same(built(tmp_path / "one", registry), built(tmp_path / "two", registry, workers=2))
    one, two = files(tmp_path / "one"), files(tmp_path / "two")
    assert len(one) == 9
    assert one == two


def test_an_extended_suite_equals_one_built_at_once(tmp_path: Path, registry: Registry) -> None:
    built(tmp_path / "grown", registry, episodes=30)
    before = files(tmp_path / "grown")
    grown = built(tmp_path / "grown", registry, episodes=50)
    assert_same(grown, built(tmp_path / "direct", registry, episodes=50))
    after = files(tmp_path / "grown")
    assert {name: after[name] for name in before} == before, "stored parts are left alone"


def test_another_chunk_size_changes_the_files_and_not_the_suite(
    tmp_path: Path, registry: Registry
) -> None:
    one, two = (built(tmp_path / str(size), registry, chunk=size) for size in (7, 50))
    assert_same(one, two)


def test_a_lost_part_is_played_again_and_nothing_else(tmp_path: Path, registry: Registry) -> None:
    built(tmp_path, registry)
    before = files(tmp_path)
    (tmp_path / "suite" / "episodes" / "part-000000020-000000039.parquet").unlink()
    played: list[tuple[str, int, int]] = []
    shop = Workshop(
        resolve(request(), registry), RunDirectory(tmp_path), registry,
        progress=lambda *told: played.append(told),
    )  # fmt: skip
    pipeline.build_suite(shop)
    assert [done for stage, done, total in played] == [30, 50]
    assert files(tmp_path) == before


def test_pandas_opens_the_files(tmp_path: Path, registry: Registry) -> None:
    pandas = pytest.importorskip("pandas")
    suite = built(tmp_path, registry)
    tables = {
        name: pandas.read_parquet(tmp_path / "suite" / name)
        for name in ("episodes", "visits", "states")
    }
    assert tables["episodes"]["total_return"].tolist() == suite.episodes.total_return.tolist()
    assert set(tables["episodes"]["ended"]) <= {"terminated", "truncated", "step-cap"}
    assert tables["episodes"]["info.at_goal"].tolist() == suite.episodes.info["at_goal"].tolist()
    joined = tables["visits"].merge(
        tables["states"].drop_duplicates("key")[["key", "value"]], on="key"
    )
    assert len(joined) == len(suite.visits)
    assert tables["visits"]["mutated"].dtype == bool
    assert tables["visits"]["count"].sum() == suite.episodes.length.sum()


def test_states_without_entries_are_stored_and_read_again() -> None:
    suite = chunk(0, 3)
    bare = dataclasses.replace(suite.states, value=np.zeros((len(suite.states), 0), np.float32))
    bare_suite = dataclasses.replace(suite, states=bare)
    assert_same(read_suite(suite_tables(bare_suite)), bare_suite)

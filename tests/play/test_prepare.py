"""Components that learn something before the first mutant episode."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest
import worlds
from lines import Cell, Does, Gives, Line, LineLanes, always, by_step

from rpd_core import pipeline
from rpd_core.chance import Phase, environment_seeds, episode_keys, state_keys
from rpd_core.config.configuration import Configuration
from rpd_core.config.resolve import resolve
from rpd_core.config.settings import Request
from rpd_core.errors import StoreError
from rpd_core.execute.local import ThisProcess
from rpd_core.play import prepare
from rpd_core.play.deciders import Coin
from rpd_core.play.loop import Plan
from rpd_core.play.recipe import Recipe
from rpd_core.plugin.chain import Chain
from rpd_core.plugin.registry import Registry, installed
from rpd_core.store.directory import RunDirectory
from rpd_core.store.session import Session


@dataclasses.dataclass(frozen=True)
class Above:
    """Whether a value lies above the mean of what was seen."""

    mean: float | None = None

    def fit(self, sample: Any) -> Above:
        return dataclasses.replace(self, mean=float(np.mean(sample.values)))

    def __call__(self, values: Any, views: Any) -> Any:
        assert self.mean is not None, "used before it was fitted"
        return values > self.mean


@dataclasses.dataclass(frozen=True)
class Doubled:
    def __call__(self, values: Any, views: Any) -> Any:
        return 2 * values


WALK = by_step([1, 1, 2, 1, 0, 0])


def recipe(*links: Any) -> Recipe:
    return Recipe(Line(), Does(WALK), Chain(links), Gives(always(0)), 5, 6)


def planned(seed: int) -> Configuration:
    request = Request(worlds.Corridor(), worlds.Goes(), episodes=40, mutation_rate=0.25, seed=seed)
    return resolve(request, installed()).config


def test_only_what_can_be_fitted_is_fitted() -> None:
    assert prepare.needs_fit(recipe(Cell(), Above()))
    assert not prepare.needs_fit(recipe(Cell()))


def test_a_sample_holds_the_steps_of_the_original_policy_in_order() -> None:
    asked = recipe(Cell())
    sample = prepare.sample_steps(asked, planned(seed=3), episodes=7)
    own = environment_seeds(episode_keys(3, Phase.FIT, np.arange(7)))
    assert {seed for seed, _ in asked.environment.log} == set(own.tolist())  # type: ignore[attr-defined]
    assert sample.episodes.tolist() == np.repeat(np.arange(7), 6).tolist()
    assert sample.values[:, 0].tolist() == [0, 1, 2, 1, 2, 2] * 7
    assert sample.actions.tolist() == [1, 1, 2, 1, 0, 0] * 7
    assert sample.seed == 3
    assert (sample.planned_episodes, sample.mutation_rate) == (40, 0.25)
    assert sample.facts.description == "Line"


def test_each_link_is_fitted_on_what_the_ones_before_it_give() -> None:
    fitted = prepare.fit(recipe(Doubled(), Above()), planned(seed=0))
    assert fitted.abstraction.links[1].mean == 2 * np.mean([0, 1, 2, 1, 2, 2])
    assert fitted.abstraction(np.array([[1.0], [2.0]]), {}).tolist() == [[False], [True]]


@dataclasses.dataclass(frozen=True)
class Table:
    """Works when opened, and reads a file."""

    path: Path

    def open(self, facts: Any) -> Any:
        factor = float(self.path.read_text())
        return lambda values, views: factor * values


@dataclasses.dataclass(frozen=True)
class Wary(Above):
    """Learns from mutants, too, and remembers each sample that it was given."""

    samples: Any = dataclasses.field(default_factory=list, compare=False)
    learns_from_mutants: ClassVar[bool] = True

    def fit(self, sample: Any) -> Above:
        self.samples.append(sample)
        return super().fit(sample)


@dataclasses.dataclass(frozen=True)
class Plain(Wary):
    """Remembers its samples, and wants no mutants."""

    learns_from_mutants: ClassVar[bool] = False


def test_who_wants_mutants_gets_them_behind_the_policys_own_steps() -> None:
    wary, later = Wary(), Plain()
    fitted = prepare.fit(recipe(Doubled(), wary, later), planned(seed=3))
    own, both = wary.samples
    steps = len(own.episodes)
    assert own.mutant is None
    assert own.episodes.tolist() == np.repeat(np.arange(64), 6).tolist()
    assert both.mutant.tolist() == [False] * steps + [True] * steps
    assert both.values[:steps].tolist() == own.values.tolist()
    assert both.episodes[steps:].tolist() == np.repeat(np.arange(64, 128), 6).tolist()
    assert both.actions[steps:].tolist() == [1, 1, 2, 1, 0, 0] * 64  # also where it was mutated
    assert fitted.abstraction.links[1].mean == np.mean(both.values)
    assert [sample.mutant for sample in later.samples] == [None]
    assert len(later.samples[0].values) == steps


def test_mutants_for_fitting_are_mutated_in_the_states_of_the_first_fit() -> None:
    wary = Wary()
    prepare.fit(recipe(wary), planned(seed=3))
    own, both = wary.samples
    cells = both.values[len(own.values) :].reshape(64, 6)
    states = Above(np.mean(own.values))(cells.reshape(-1, 1), {})
    index = np.arange(64)
    plan = Plan(index, episode_keys(3, Phase.FIT, index, part=1))
    kept = Coin(plan, 0.25)(state_keys(states), np.repeat(index, 6)).reshape(64, 6)
    moves = np.where(kept, np.array([1, 1, -1, 1, 0, 0]), 0)  # mutated, it stays
    assert (np.diff(cells, axis=1) == moves[:, :-1]).all()
    assert 0 < (~kept).mean() < 1


def test_no_mutants_are_played_for_those_who_want_none() -> None:
    asked = recipe(Plain())
    prepare.fit(asked, planned(seed=3))
    assert len(asked.environment.log) == 64 * 6  # type: ignore[attr-defined]


def test_entries_keep_their_names_only_until_an_abstraction_changes_them() -> None:
    first, second = Plain(), Wary()
    named = dataclasses.replace(recipe(first, second), environment=Named())
    prepare.fit(named, planned(seed=3))
    assert [sample.facts.entry_names for sample in first.samples] == [("cell",)]
    assert [sample.facts.entry_names for sample in second.samples] == [(), ()]


@dataclasses.dataclass(frozen=True)
class Named(Line):
    def open(self, opening: Any) -> Any:
        lanes = LineLanes(self, opening.lanes)
        lanes.facts = dataclasses.replace(lanes.facts, entry_names=("cell",))
        return lanes


def test_a_link_is_opened_before_the_next_one_is_fitted_and_keeps_its_file(tmp_path: Path) -> None:
    (tmp_path / "factor").write_text("3")
    fitted = prepare.fit(recipe(Table(tmp_path / "factor"), Above()), planned(seed=0))
    stored = json.loads(json.dumps(prepare.fitted_fields(fitted)))
    assert stored == [None, {"mean": 3 * np.mean([0, 1, 2, 1, 2, 2])}]
    again = prepare.restore_fitted(Chain((Table(tmp_path / "factor"), Above())), stored)
    assert again == fitted.abstraction


def steps(numbers: range) -> list[Any]:
    one = np.zeros(1, dtype=np.int64)
    return [
        SimpleNamespace(
            lanes=one, number=one + number, position=one,
            observations=np.array([[float(number)]]),
            views={"screen": np.zeros((1, 1000)), "ram": np.zeros((1, 1))},
            choice=SimpleNamespace(actions=one), default=one,
        )
        for number in numbers
    ]  # fmt: skip


def test_first_steps_stay_however_large_and_only_wanted_views_are_kept() -> None:
    sampler = prepare._Sampler(limit=10, needs=("ram",))
    sampler(steps(range(1))[0])
    assert [(row[1], list(row[3])) for row in sampler.rows] == [(0, ["ram"])]


def test_a_sample_that_grows_too_large_is_thinned_evenly() -> None:
    sampler = prepare._Sampler(limit=10 * 8, needs=())
    for step in steps(range(40)):
        sampler(step)
    numbers = [row[1] for row in sampler.rows]
    assert 5 <= len(numbers) <= 10
    assert len(set(np.diff(numbers))) == 1


def prepared(path: Path, registry: Registry, episodes: int = 40) -> Session:
    chosen = {"abstraction": (Above(),), "episodes": episodes, "chunk": 20, "seed": 2}
    setup = resolve(Request(worlds.Corridor(), worlds.Goes(), **chosen), registry)
    session = Session(setup, RunDirectory(path), registry, ThisProcess())
    session.directory.create(setup.config)
    pipeline.prepare_run(session)
    return session


def test_what_was_fitted_is_stored_and_taken_up_again(tmp_path: Path, registry: Registry) -> None:
    first = prepared(tmp_path, registry)
    mean = first.recipe.abstraction.links[0].mean  # type: ignore[attr-defined]
    stored = first.directory.read_json("prepared.json")
    assert stored == prepare.sealed([{"mean": mean}])
    first.directory.write_json("prepared.json", prepare.sealed([{"mean": mean + 1}]))
    again = prepared(tmp_path, registry).recipe.abstraction.links[0].mean  # type: ignore[attr-defined]
    assert again == mean + 1, "the stored value is used, nothing is fitted again"
    pipeline.build_parts(first := prepared(tmp_path, registry))
    assert pipeline.stored_suite_facts(first.directory)[0].states == 2


def test_what_was_changed_since_it_was_learned_is_refused(
    tmp_path: Path, registry: Registry
) -> None:
    directory = prepared(tmp_path, registry).directory
    stored = directory.read_json("prepared.json")
    assert stored is not None
    changed = {**stored, "fitted": [{"mean": stored["fitted"][0]["mean"] + 1e-9}]}
    for content, fault in (
        (changed, "was changed since it was learned"),
        ({"digest": stored["digest"]}, "was changed since it was learned"),
        ({"fitted": stored["fitted"]}, "is of an older version"),
        ({}, "is of an older version"),
    ):
        directory.write_json("prepared.json", content)
        with pytest.raises(StoreError, match=rf"prepared\.json' {fault}"):
            prepared(tmp_path, registry, episodes=60)
    directory.write_json("prepared.json", stored)
    assert prepared(tmp_path, registry, episodes=60).recipe is not None


def test_a_digest_holds_for_whatever_json_makes_of_the_fields() -> None:
    fitted = [None, {"by_number": {10: (1.5, float("inf")), 2: ()}}]
    stored = json.loads(json.dumps(prepare.sealed(fitted)))
    assert prepare.unsealed(stored, Path("prepared.json")) == stored["fitted"]

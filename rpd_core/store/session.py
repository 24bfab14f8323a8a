"""A run opened for writing: what it plays part by part, where that is stored, who does the work."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from rpd_core.config.configuration import input_paths
from rpd_core.config.objects import is_staged
from rpd_core.config.resolve import Setup
from rpd_core.errors import StoreError, counted
from rpd_core.execute.items import input_files, moved, run_items
from rpd_core.execute.progress import Note, Progress
from rpd_core.play.chunks import PlayedSuite, SuiteChunk, perform_suite
from rpd_core.play.profile import Profiler
from rpd_core.play.recipe import Recipe, recipe_of
from rpd_core.plugin.blame import gave_instead, lacks_of_kind, require
from rpd_core.plugin.chain import Chain
from rpd_core.plugin.protocols import Engine, Entry, Executor, InputFile, States, WorkItem
from rpd_core.plugin.registry import Registry
from rpd_core.store.directory import OBJECTS, RunDirectory
from rpd_core.store.files import read_whole, write_whole
from rpd_core.store.parts import Part, Parts, Provenance
from rpd_core.store.tables import read_episodes, suite_tables
from rpd_core.untrusted.files import read_all


@dataclass(frozen=True)
class StoredItem:
    """An item of work that plays some parts, and which tables of each its value holds."""

    parts: tuple[Part, ...]
    item: WorkItem
    tables: Callable[[Any], Sequence[Mapping[str, pa.Table]]]


@dataclass
class Session:
    """A run opened for writing."""

    setup: Setup
    directory: RunDirectory
    registry: Registry
    engine: Engine
    progress: Progress = lambda stage, done, total: None
    note: Note = lambda text: None
    profiler: Profiler | None = None
    """Times the run, where somebody wants to know."""
    workers: int = 1
    """How many are asked to do the work."""
    provenance: Provenance = field(init=False)
    """What played the parts that were stored before."""

    def __post_init__(self) -> None:
        self.provenance = Provenance(lambda text: self.note(text))

    @property
    def recipe(self) -> Recipe:
        return recipe_of(self.setup)

    def stage(self, name: str) -> AbstractContextManager[None]:
        """Time what is done meanwhile, where somebody wants to know."""
        return nullcontext() if self.profiler is None else self.profiler.stage(name)

    def play(self, stage: str, work: Iterable[StoredItem], done: int, total: int) -> None:
        """Play parts and store each as it comes back; raise if one does not."""
        under_way: dict[str, StoredItem] = {}
        profiler = self.profiler
        self.progress(stage, done, total)

        def items() -> Iterator[WorkItem]:
            for one in work:
                under_way[one.item.identity] = one
                yield one.item if profiler is None else profiler.wrapped(one.item)

        def store(item: WorkItem, answer: Any) -> None:
            nonlocal done
            one = under_way.pop(item.identity)
            answer = answer if profiler is None else profiler.unwrapped(answer)
            with self.stage("storing"):
                self._store(one, answer)
            done += sum(part.size for part in one.parts)
            self.progress(stage, done, total)

        with self.stage(stage):
            run_items(self.engine, items(), store)

    def _store(self, one: StoredItem, answer: Any) -> None:
        found = one.tables(answer)
        for part, tables in zip(one.parts, found, strict=True):
            index = tables["episodes"]["index"].to_pylist()
            if index != list(range(part.first, part.last + 1)):
                raise StoreError(
                    f"{one.item.label} came back with other episodes ({len(index)} of them): the "
                    "executor's results cannot be relied on"
                )
        self.provenance.check(answer.origin)
        for part, tables in zip(one.parts, found, strict=True):
            part.parts.write(part.first, part.last, tables, answer.origin)

    def repair(self, parts: Parts) -> None:
        """Drop parts that are damaged, with a note; they are then missing."""
        for complaint in parts.drop_bad():
            self.note(f"{complaint.partition(': rpd ')[0]}; it is played again")

    def remember_origins(self, parts: Parts) -> None:
        """Note once if other versions played what is stored, and refuse other distributions."""
        for first, last in parts.covered():
            try:
                origin = parts.record(first, last).origin
            except StoreError:
                continue
            self.provenance.check(origin)

    def files(self, recipe: Recipe) -> tuple[InputFile, ...]:
        paths: dict[str, Path] = {}
        for number, (kind, component) in enumerate(recipe.components()):
            paths |= input_paths(component, f"{kind}{number}")
        return input_files(paths.values())


@contextmanager
def writing(
    setup: Setup,
    directory: RunDirectory,
    registry: Registry,
    executor: Executor,
    workers: int,
    find_rate: Callable[[Session], Setup] | None = None,
    **heard: Any,
) -> Iterator[Session]:
    """Open a run for writing: others are kept out, and no worker is left behind."""
    with directory.lock():
        setup = _move_in(setup, directory, registry)
        if not setup.config.open_rate:
            directory.create(setup.config)
        try:
            require("executor", executor, lacks_of_kind("executor", executor))
            with executor.open(workers) as engine:
                require("executor", executor, gave_instead("failed: open()", engine, Engine))
                session = Session(setup, directory, registry, engine, workers=workers, **heard)
                if setup.config.open_rate and find_rate is not None:
                    session.setup = find_rate(session)
                    directory.create(session.setup.config)
                surplus = directory.surplus(session.setup.config)
                if surplus:
                    session.note(surplus)
                yield session
        except BaseException:
            directory.forget_if_empty()  # a first try that failed leaves nothing to go on with
            raise


_WORDS = 200_000  # states whose words are remembered between parts


def play_parts(
    session: Session, stage: str, parts: Parts, whole: SuiteChunk, cut: bool = True
) -> None:
    """Play the episodes of a suite, or of a range of its parts, that are missing, part by part."""
    # With `cut`, the first episodes of a suite that holds more can be read without the others.
    total = whole.last + 1 - whole.first
    for place in (parts, *([parts.cut(whole.last + 1)] if cut else [])):
        session.repair(place)
        session.remember_origins(place)
    done = total - sum(part.size for part in _missing(session, parts, whole, cut))
    words, files = _WordsOf(session.setup.abstraction), session.files(whole.recipe)

    def to_tables(answer: PlayedSuite) -> list[dict[str, pa.Table]]:
        directory, names = session.directory, answer.names
        if directory.read_json("names.json") is None:
            directory.write_json("names.json", names)
        elif done > 0 and directory.names().relations != names.relations:
            raise StoreError(
                f"{str(directory.path)!r} was begun by a version that counted the policy's choices "
                "in another way: it can be read, but not grow; choose another --out"
            )
        states = words(answer.suite.states, answer.names.state_entries)
        return [suite_tables(answer.suite, states)]

    work = (
        StoredItem(
            (part,),
            WorkItem(
                f"{parts.configuration}/{stage}/{part.first}-{part.last}",
                perform_suite,
                replace(whole, first=part.first, last=part.last),
                f"episodes {part.first} to {part.last}",
                files,
            ),
            to_tables,
        )
        for part in _missing(session, parts, whole, cut)
    )
    session.play(stage, work, done, total)
    lacking = sum(part.size for part in _missing(session, parts, whole, cut=False))
    if lacking:
        raise StoreError(
            f"{str(session.directory.path)!r} holds {total - lacking} of {total} episodes, "
            "although all were played: somebody else changes it; run the same command again"
        )


def _missing(session: Session, parts: Parts, whole: SuiteChunk, cut: bool) -> Iterator[Part]:
    """Yield the ranges that are to be played, and where each is to be stored."""
    # What a part adds up for its states cannot be taken apart, so the beginning of a part that goes
    # on beyond the last episode is played again, beside it.
    total, chunk = whole.last + 1, session.setup.config.settings.chunk
    for gap in parts.each_gap(total, chunk, whole.first):
        yield Part(parts, *gap)
    across = parts.across(total) if cut else None
    if across is not None and (across[0], total - 1) not in parts.cut(total).covered():
        yield Part(parts.cut(total), across[0], total - 1)


class _WordsOf:
    """Puts states into words, each key once."""

    def __init__(self, chain: Chain) -> None:
        self.show = chain.show
        self.known: dict[int, str] = {}

    def __call__(self, states: States, entries: Sequence[Entry]) -> list[str]:
        if len(self.known) > _WORDS:
            self.known.clear()
        for row, key in enumerate(states.key.tolist()):
            if key not in self.known:
                self.known[key] = self.show(states.value[row], entries)
        return [self.known[key] for key in states.key.tolist()]


def _move_in(setup: Setup, directory: RunDirectory, registry: Registry) -> Setup:
    """Return a setup whose policy is stored with its run, so that others can go on with it."""
    files = [path for path in input_paths(setup.policy, "policy").values() if is_staged(path)]
    if not files:
        return setup
    directory.check(setup.config)
    places = {path: directory.path / OBJECTS / path.name for path in files}
    for path, place in places.items():
        content = read_all(path, "hand the policy over again")
        if read_whole(place, directory.path) != content:
            write_whole(place, content, directory.path)
    text = registry.text_of("policy", moved(setup.policy, places))
    # absolute, because a worker may have another working directory
    policy = moved(setup.policy, {path: one.absolute() for path, one in places.items()})
    config = dataclasses.replace(setup.config, policy=text)
    return dataclasses.replace(setup, policy=policy, config=config)


_SHARE, _MOST = 100, 16  # one episode in so many is played again, and at most so many


def say_what_differs(session: Session, parts: Parts, whole: SuiteChunk) -> None:
    """Play the first episodes of a suite again, as one item, and say which came out otherwise."""
    # By now their worker has played others, and beside them are others than before: both must not
    # matter.
    held = next((one for one in parts.covered() if one[0] <= whole.first <= one[1]), None)
    if held is None:
        return
    count = min(max((whole.last + 1 - whole.first) // _SHARE, 1), _MOST, held[1] + 1 - whole.first)
    again = replace(whole, last=whole.first + count - 1)
    stored = read_episodes(parts.read(*held, ["episodes"])["episodes"])

    def compare(item: WorkItem, answer: PlayedSuite) -> None:
        again, differing = answer.suite.episodes, []
        for row, place in enumerate(np.searchsorted(stored.index, again.index).tolist()):
            was, before = stored.total_return[place].item(), stored.length[place].item()
            now, steps = again.total_return[row].item(), again.length[row].item()
            if (was, before) != (now, steps):
                differing.append(
                    f"episode {again.index[row]}: return {was:g} in {before} steps, then {now:g} "
                    f"in {steps}"
                )
        if differing:
            session.note(
                f"{len(differing)} of {counted(count, 'episode')} came out otherwise when played "
                f"again ({differing[0]}): the environment or the policy does not repeat itself, so "
                "that this run cannot be repeated, and replays may differ"
            )

    item = WorkItem(
        f"{parts.configuration}/again/{again.first}-{again.last}",
        perform_suite,
        again,
        f"episodes {again.first} to {again.last}, played again",
        session.files(whole.recipe),
    )
    with session.stage("playing again"):
        run_items(session.engine, [item], compare)

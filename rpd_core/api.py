"""The public Python interface: a run as an object."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq

from rpd_core import pipeline
from rpd_core.analysis.ranking import Ranking, ranking_columns
from rpd_core.config.configuration import Request, RunConfig, Setup, resolve
from rpd_core.errors import ConfigError, StoreError, nearest
from rpd_core.execute.local import LocalProcesses, can_be_shipped
from rpd_core.execute.work import Executor
from rpd_core.execute.workshop import Progress, Workshop
from rpd_core.pipeline import Ranked, Results
from rpd_core.plugin.registry import Registry, installed
from rpd_core.report.results import decision_rows, summarise
from rpd_core.store.directory import RunDirectory, file_stem, write_whole


def run(
    env: Any,
    policy: Any = None,
    *,
    out: str | Path | None = None,
    workers: int = 1,
    executor: str | Executor = "local",
    progress: Progress | None = None,
    **settings: Any,
) -> Run:
    """Build a suite, rank the decisions, prune the policy; continue if `out` holds a part of it.

    `env` and `policy` are spec strings, recipes, or your own functions: a factory of Gymnasium
    environments, and a function from a batch of observations to a batch of actions. `settings`
    are the other fields of `rpd_core.config.configuration.Request`, for example `episodes=1000`.
    """
    if not isinstance(workers, int) or workers < 1:
        raise ConfigError(f"workers must be a whole number of at least 1, got {workers!r}")
    registry = installed()
    setup = resolve(make_request(env, policy, settings), registry)
    shop = Workshop(
        setup,
        RunDirectory(Path(out) if out is not None else default_directory(setup)),
        registry,
        registry.make("executor", executor) if isinstance(executor, str) else executor,
        workers if can_be_shipped(setup.recipe) else 1,
        progress or _silent,
    )
    return execute(shop)


def execute(shop: Workshop) -> Run:
    """Do a whole run and leave its summary in the directory."""
    with shop.working():
        results = pipeline.run(shop)
        summary = summarise(results)
        write_rankings(shop.directory, results)
        shop.directory.write_json("summary.json", summary)
    return Run(shop, results, summary)


def _silent(stage: str, done: int, total: int) -> None:
    """Say nothing."""


def make_request(env: Any, policy: Any, settings: Mapping[str, Any]) -> Request:
    """Turn keyword arguments into a request; unknown ones get the nearest name offered."""
    known = {field.name for field in dataclasses.fields(Request)}
    for name in settings:
        if name not in known:
            raise ConfigError(f"run() takes no {name!r}.{nearest(name, known)}")
    tidy = dict(settings)
    for name in ("abstraction", "measures"):
        if isinstance(tidy.get(name), str):
            tidy[name] = (tidy[name],)
    return Request(env, policy, **{key: _plain(value) for key, value in tidy.items()})


def _plain(value: Any) -> Any:
    """Give lists as tuples and numbers of NumPy as Python's, which JSON can hold."""
    if isinstance(value, np.generic):
        return value.item()
    return tuple(value) if isinstance(value, list) else value


def request_of(config: RunConfig) -> Request:
    """Give the request that leads to a stored configuration."""
    suite, analysis = config.suite, config.analysis
    return Request(
        env=suite.env,
        policy=suite.policy,
        abstraction=suite.abstraction,
        default_action=suite.default_action,
        condition=analysis.condition,
        measures=analysis.measures,
        mutation_rate=suite.mutation_rate,
        episodes=config.episodes,
        test_episodes=analysis.test_episodes,
        seed=suite.seed,
        unvisited=analysis.unvisited,
        lanes=suite.lanes,
        chunk=config.chunk,
        shares=analysis.shares,
        random_rankings=analysis.random_rankings,
        reference=analysis.reference,
    )


def default_directory(setup: Setup) -> Path:
    """Name a directory after environment, policy and seed, told apart by the configuration."""
    config = setup.config.suite

    def words(text: str) -> str:
        text = text.replace("\\", "/").rsplit("/", 1)[-1]
        return "".join(c if c.isalnum() or c in ".-" else "-" for c in text).strip("-.")

    name = f"{words(config.env)}_{words(config.policy)}_seed{config.seed}_{config.digest()}"
    return Path("runs") / name


def open_run(path: str | Path, registry: Registry | None = None) -> Run:
    """Open a finished run; nothing is played that is already stored."""
    directory = RunDirectory(Path(path))
    registry = registry or installed()
    setup = resolve(request_of(directory.config()), registry)
    if directory.read_json("summary.json") is None:
        raise StoreError(f"{str(path)!r} is not finished: continue it with rpd run --config")
    return execute(Workshop(setup, directory, registry, LocalProcesses()))


def write_rankings(directory: RunDirectory, results: Results) -> None:
    """Leave every ranking as a table in the run directory."""
    for name, ranking in results.analysis.rankings.items():
        path = directory.path / "rankings" / f"{file_stem(name)}.parquet"
        table_of(results, ranking).to_parquet(path)


def table_of(results: Results | Ranked, ranking: Ranking) -> RankingTable:
    """Give a ranking as a table."""
    analysis = results.analysis
    return RankingTable(ranking.name, ranking_columns(ranking, analysis.suite, analysis.spectrum))


@dataclass(frozen=True)
class RankingTable:
    """A ranking as columns: rank, key, score, episodes, visits, the four cells, the value."""

    name: str
    columns: Mapping[str, Any]

    def __len__(self) -> int:
        return len(self.columns["rank"])

    def to_arrow(self) -> pa.Table:
        """Give a pyarrow table."""
        return pa.table(dict(self.columns))

    def to_dataframe(self) -> Any:
        """Give a pandas data frame; pandas must be installed."""
        import pandas  # not a dependency; wanted only by those who have it

        return pandas.DataFrame(dict(self.columns))

    def to_csv(self, path: str | Path) -> None:
        """Write a CSV file; the value's entries become columns value_0, value_1, ..."""
        columns = dict(self.columns)
        values = columns.pop("value")
        for entry in range(len(values[0]) if values else 0):
            columns[f"value_{entry}"] = [row[entry] for row in values]
        sink = pa.BufferOutputStream()
        arrow_csv.write_csv(pa.table(columns), sink)
        write_whole(Path(path), sink.getvalue())

    def to_parquet(self, path: str | Path) -> None:
        """Write a Parquet file."""
        sink = pa.BufferOutputStream()
        pq.write_table(self.to_arrow(), sink, compression="zstd")
        write_whole(Path(path), sink.getvalue())


@dataclass(frozen=True)
class Run:
    """A finished run: its summary, rankings, curves and the stored suite."""

    shop: Workshop
    results: Results
    summary: dict[str, Any]

    @property
    def path(self) -> Path:
        """The run directory."""
        return self.shop.directory.path

    @property
    def suite(self) -> Any:
        """The stored mutant episodes."""
        return self.results.analysis.suite

    @property
    def curves(self) -> Mapping[str, Any]:
        """The pruning curve of each measure."""
        return self.results.pruning.curves

    def ranking(self, measure: str = "tarantula") -> RankingTable:
        """Rank by any installed measure; nothing is played."""
        name = str(self.shop.registry.parse("measure", measure))
        return table_of(self.results, self._rank(name))

    def _rank(self, name: str) -> Ranking:
        analysis = self.results.analysis
        if name in analysis.rankings:
            return analysis.rankings[name]
        counted = analysis.suite, analysis.spectrum, analysis.weights
        return pipeline.rank_by(self.shop.registry, name, *counted)

    def top(self, measure: str | None = None, count: int = 10) -> list[dict[str, Any]]:
        """Give the most important decisions in words."""
        if measure is None:
            return decision_rows(self.results, self.summary["top"]["measure"], count)
        name = str(self.shop.registry.parse("measure", measure))
        ranking = self._rank(name)
        analysis = dataclasses.replace(self.results.analysis, rankings={name: ranking})
        return decision_rows(Ranked(self.results.setup, analysis), name, count)

    def threshold(self, fraction: float = 0.9, name: str = "portfolio") -> dict[str, Any] | None:
        """Give the least that keeps this fraction of the return; None: never reached."""
        thresholds: dict[str, Any] = self.summary["thresholds"]
        if f"{fraction:g}" not in thresholds:
            raise ConfigError(f"no threshold of {fraction:g}: there are {', '.join(thresholds)}")
        entries: dict[str, Any] = thresholds[f"{fraction:g}"]
        if name not in entries:
            raise ConfigError(f"{name!r} was not pruned.{nearest(name, entries)}")
        found: dict[str, Any] | None = entries[name]
        return found

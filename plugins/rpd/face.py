"""Runs as people hold them in Python: what the core reads, and what applications show of it."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, ParamSpec, Unpack, overload

from rpd_core.results import run as stored
from rpd_core.results.records import Decision, RankedDecision
from rpd_core.results.run import Run as StoredRun
from rpd_report.notebook import Rows, answer_as_html, pictures_as_html, unfinished_as_html

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from rpd_core.execute.progress import Note, Progress
    from rpd_core.plugin.protocols import Traces
    from rpd_pictures.film import Film
    from rpd_pictures.stored import Pictures
    from rpd_pictures.subjects import DrawOptions
    from rpd_report.explanation import Explanation
    from rpd_work.options import TrackerOptions

P = ParamSpec("P")
FigureName = Literal[
    "curves", "scores", "decisions", "map", "timeline", "barcode", "proof", "balance"
]


class Run(StoredRun):
    """A stored run and one of its analyses, with its page, pictures and figures."""

    def _repr_html_(self) -> str:
        if self.name is None:
            return unfinished_as_html(self.path, *self.progress)
        return answer_as_html(self.summary, self.path, pictures_as_html(self))

    @functools.cached_property
    def traces(self) -> Traces | None:
        """Some fresh episodes of the smallest and of the whole policy, step by step.

        None: no smallest policy is confirmed, or the run is older than traces.
        """
        from rpd_pictures.traces import read_traces  # few ask

        return read_traces(self)

    @property
    def decisions(self) -> Rows[Decision]:
        """The decisions of the smallest policy of the first target, by loss."""
        return Rows(super().decisions)

    def top(self, count: int = 10) -> Rows[Decision]:
        """Return the decisions of the smallest policy that are worth most."""
        return Rows(super().top(count))

    def effects(self, count: int = 10, measure: object = None) -> Rows[RankedDecision]:
        """Return the first of the list of the mutated policy, by a measure or by its own."""
        return Rows(super().effects(count, measure))

    @overload
    def draw(
        self,
        what: FigureName,
        out: str | os.PathLike[str] | None = None,
        *,
        measure: str | Sequence[str] = ...,
        count: int = ...,
        pair: tuple[str, str] | None = ...,
    ) -> Figure: ...

    @overload
    def draw(
        self,
        what: Literal["film", "trace", "path"],
        out: str | os.PathLike[str] | None = None,
        *,
        episode: str | None = ...,
        decision: str | None = ...,
        keep: float | None = ...,
        find: Literal["failing", "passing"] | None = ...,
        against: str = ...,
        frames: int = ...,
        trust_policy: bool = ...,
    ) -> Film: ...

    @overload
    def draw(
        self,
        what: Literal["pictures"],
        *,
        workers: int = ...,
        executor: object = ...,
        trust_policy: bool = ...,
        progress: Progress | bool = ...,
        note: Note = ...,
    ) -> Pictures: ...

    def draw(
        self,
        what: str,
        out: str | os.PathLike[str] | None = None,
        **options: Unpack[DrawOptions],
    ) -> Figure | Film | Pictures:
        """Draw a figure (`curves`, `scores`, `decisions`, `map`, `balance`), a `film`
        or a `trace`, or take the `pictures` of the first decisions.

        A figure is returned, and written where `out` names a file. A film and a trace are always
        written, pictures are stored with the run; for these the policy and the environment must be
        there. The options are those of `rpd draw`.
        """
        from rpd_pictures.drawing import draw  # matplotlib takes a while to import

        return draw(self, what, out, **options)

    def explain(self, state: str | int) -> Explanation:
        """Return everything known about a decision: by its place by loss, its key or words."""
        from rpd_report.explanation import explain  # few ask

        return explain(self, state)

    @overload
    def log_to(
        self,
        tracker: Literal["tensorboard"],
        *,
        step: int = ...,
        log_dir: str | os.PathLike[str] = ...,
    ) -> None: ...

    @overload
    def log_to(
        self,
        tracker: Literal["wandb"],
        *,
        step: int = ...,
        project: str = ...,
        entity: str = ...,
        name: str = ...,
        group: str = ...,
        notes: str = ...,
        tags: Sequence[str] = ...,
        mode: str = ...,
        dir: str = ...,
    ) -> None: ...

    @overload
    def log_to(
        self,
        tracker: Literal["mlflow"],
        *,
        step: int = ...,
        run_id: str = ...,
        experiment_id: str = ...,
        run_name: str = ...,
        description: str = ...,
        nested: bool = ...,
        tags: Mapping[str, str] = ...,
    ) -> None: ...

    def log_to(self, tracker: str, *, step: int = 0, **options: Unpack[TrackerOptions]) -> None:
        """Send the figures and the decisions of the run to a tracker that is installed.

        `tensorboard` writes into `log_dir`, by default `tensorboard` in the run's own directory.
        `wandb` and `mlflow` log to the run of theirs that is active, or begin one with the options.
        """
        from rpd_work.trackers import log_to  # few ask

        log_to(self, tracker, step=step, **options)

    def report(self, path: str | Path | None = None) -> Path:
        """Write the page of the run, into its directory or elsewhere, and return where it is."""
        return report(self, path)


def report(run: StoredRun | str | os.PathLike[str], path: str | Path | None = None) -> Path:
    """Write the page of a run, into its directory or elsewhere, and return where it is."""
    from rpd_report.page import write_page  # it takes a while to import

    opened = run if isinstance(run, StoredRun) else stored.open_run(run)
    return write_page(opened, None if path is None else Path(path))


def shown(function: Callable[P, StoredRun]) -> Callable[P, Run]:
    """Return a function of the core with what it returns as people hold it."""

    @functools.wraps(function)
    def wrapped(*args: P.args, **keywords: P.kwargs) -> Run:
        found = function(*args, **keywords)
        return Run(found.path, found.name, found.setup)

    return wrapped


open_run = shown(stored.open_run)

"""Runs as people hold them in Python: what the core reads, and what applications show of it."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec

from rpd_core import api
from rpd_core.results.run import Run as StoredRun
from rpd_report.notebook import TopDecisions, answer_as_html, unfinished_as_html

if TYPE_CHECKING:
    from rpd_pictures.figures.catalogue import Plots
    from rpd_pictures.film import Rendered
    from rpd_report.explanation import Explanation

P = ParamSpec("P")


class Run(StoredRun):
    """A stored run and one of its analyses, with its page, pictures and figures."""

    def _repr_html_(self) -> str:
        if self.name is None:
            return unfinished_as_html(self.path, *self.progress)
        return answer_as_html(self.summary, self.path)

    def top(self, count: int = 10, measure: Any = None) -> TopDecisions:
        """Return the most important decisions in words, by a measure or as the list shown."""
        return TopDecisions(super().top(count, measure))

    @property
    def plot(self) -> Plots:
        """Figures: `run.plot.curves()` returns a matplotlib figure."""
        from rpd_pictures.figures.catalogue import Plots  # matplotlib takes a while to import

        return Plots(self)

    def explain(self, state: str | int) -> Explanation:
        """Return everything known about one decision: by rank, key or a part of its words."""
        from rpd_report.explanation import explain  # few ask

        return explain(self, state)

    def report(self, path: str | Path | None = None) -> Path:
        """Write the page of the run, into its directory or elsewhere, and return where it is."""
        return report(self, path)

    def render(
        self,
        episode: str | None = None,
        out: str | os.PathLike[str] | None = None,
        trust_policy: bool = False,
        **more: Any,
    ) -> Rendered:
        """Draw an episode, or with `decision` a decision, as a film; the policy and the environment
        must be there. `keep`, `find`, `against`, `trace` and `frames` are those of `rpd render`."""
        from rpd_pictures.film import render_run  # it plays and draws

        return render_run(self, episode, out, trust_policy, **more)


def report(run: StoredRun | str | os.PathLike[str], path: str | Path | None = None) -> Path:
    """Write the page of a run, into its directory or elsewhere, and return where it is."""
    from rpd_report.page import write_page  # it takes a while to import

    opened = run if isinstance(run, StoredRun) else api.open_run(run)
    return write_page(opened, None if path is None else Path(path))


def _shown(function: Callable[P, StoredRun]) -> Callable[P, Run]:
    """Return a function of the core with what it returns as people hold it."""

    @functools.wraps(function)
    def wrapped(*args: P.args, **keywords: P.kwargs) -> Run:
        found = function(*args, **keywords)
        return Run(found.path, found.name, found.setup)

    return wrapped


run = _shown(api.run)
open_run = _shown(api.open_run)
build_suite = _shown(api.build_suite)
merge_runs = _shown(api.merge_runs)

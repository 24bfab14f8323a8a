"""`rpd rank`: a new question to stored episodes; plays, locks and writes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rpd_core.cli import options, shared
from rpd_core.errors import ConfigError


@shared.reporting
def rank_command(
    run: options.RunPath,
    measure: options.Measure = None,
    condition: options.Condition = None,
    analysis: options.AnalysisName = None,
    top: Annotated[int, typer.Option("--top", help="Decisions to show.")] = 10,
    export: Annotated[
        Path | None, typer.Option("--export", help="Write the whole ranking: .csv or .parquet.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Rank the decisions of a stored suite by a measure; plays nothing."""
    from rpd_core.analysis.ranking import ranking_columns
    from rpd_core.config.resolve import choose
    from rpd_core.plugin.registry import installed
    from rpd_core.report.summary import decisions_of, ties_of
    from rpd_core.report.tables import RankingTable
    from rpd_core.report.text import print_decisions
    from rpd_core.store.codec import to_plain

    if top < 1:
        raise ConfigError(f"top must be at least 1, got {top}")
    if export is not None:
        check_export(export)
    measures = [choose(installed(), "measure", one) for one in measure or ["tarantula"]]
    found = analysed(run, condition, analysis)
    rankings = {one.text: found.rank_by(one.text, one.recipe) for one in measures}
    if export is not None:
        first = next(iter(rankings.values()))
        write_table(RankingTable(first.name, ranking_columns(first, found.counted)), export)
    rows = {name: decisions_of(found, ranking, top) for name, ranking in rankings.items()}
    if as_json:
        shared.print_json({"condition": found.condition_text, "rankings": to_plain(rows)})
        return
    for name, ranking in rankings.items():
        ties = ties_of(ranking)
        print_decisions(shared.answers(), name, found.condition_text, rows[name], ties)


def analysed(run: Path, condition: str | None, analysis: str | None):  # type: ignore[no-untyped-def]
    """Analyse the stored suite; first show on how much of it the answer stands."""
    from rpd_core.api import open_run

    opened = open_run(run, analysis)
    done, asked = opened.progress
    if done < asked:
        shared.show_note(f"this stands on {done} of {asked} episodes: the suite is not complete")
    if condition is not None:
        return opened.analysed(condition, typed=True)
    if opened.name is not None:
        return opened.analysis
    raise ConfigError(f"{str(run)!r} has no finished analysis: give --condition")


def check_export(path: Path) -> None:
    """Refuse a file name whose format is not known, or whose folder is not there."""
    if path.suffix not in (".csv", ".parquet"):
        raise ConfigError(f"cannot export to {str(path)!r}: the name must end in .csv or .parquet")
    if not path.parent.is_dir():
        raise ConfigError(f"cannot export to {str(path)!r}: there is no folder {path.parent}")


def write_table(table, path: Path) -> None:  # type: ignore[no-untyped-def]
    """Write a ranking in the format that the file name asks for."""
    {".csv": table.to_csv, ".parquet": table.to_parquet}[path.suffix](path)
    shared.errors().print(f"rpd: wrote {len(table)} states to {path}", markup=False)

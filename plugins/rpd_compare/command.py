"""`rpd compare`: two runs side by side; plays, locks and writes nothing in them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rpd_core.cli import options, shared
from rpd_core.errors import ConfigError, counted

if TYPE_CHECKING:
    from rpd_compare.records import Comparison

_TOO_LITTLE = 3
"""Exit code where the policies agree less than they are to."""
_FIRST = 0.1
"""Share of the states that `--fail-under` looks at."""


def compare_command(
    a: Annotated[Path, typer.Argument(metavar="RUN_A", help="Run whose rankings are used.")],
    b: Annotated[Path, typer.Argument(metavar="RUN_B", help="Run to compare it with.")],
    measure: Annotated[
        list[str] | None,
        typer.Option("--measure", help="Rank states by this; default: A's list, and tarantula."),
    ] = None,
    analysis_a: Annotated[
        str | None, typer.Option("--analysis-a", help="Analysis of RUN_A; default: the latest.")
    ] = None,
    analysis_b: Annotated[
        str | None, typer.Option("--analysis-b", help="Analysis of RUN_B; default: the latest.")
    ] = None,
    fail_under: Annotated[
        float | None,
        typer.Option(
            "--fail-under",
            help="Exit with 3 unless the agreement in the first 10 % of states surely is this.",
        ),
    ] = None,
    page: Annotated[Path | None, typer.Option("--page", help="Write a page of HTML, too.")] = None,
    as_json: options.Json = False,
) -> None:
    """Compare the policies of two runs: agreement, effects gained and lost; plays nothing."""
    if fail_under is not None and not 0 <= fail_under <= 1:
        raise ConfigError(f"--fail-under must lie in [0, 1], got {fail_under:g}")
    from rpd_compare.compare import compare
    from rpd_compare.text import print_comparison
    from rpd_core.results.run import as_run

    runs = as_run(a, analysis_a), as_run(b, analysis_b)
    found = compare(*runs, measures=tuple(measure or ()))
    if page is not None:
        from rpd_compare.page import write_page  # imports what draws
        from rpd_compare.timelines import draw_both

        write_page(page, found, draw_both(*runs))
    if as_json:
        shared.print_json(found)
    else:
        print_comparison(shared.answers(), found)
        if page is not None:
            shared.answers().print(f"The page is {page}", markup=False, soft_wrap=True)
    if fail_under is not None:
        _fail_under(fail_under, found)


def _fail_under(share: float, found: Comparison) -> None:
    """Exit with 3 where the lower end of the agreement's interval lies below a share."""
    first = found.agreement_in_first(_FIRST)
    if first.low < share:
        shared.errors().print(
            f"rpd: the policies agree in {first.agreement:.1%} of the first 10% of states, at "
            f"least in {first.low:.1%} (95% interval), which is below {share:.1%}"
            f"{_too_few(share, first.states)}",
            markup=False,
        )
        raise typer.Exit(_TOO_LITTLE)


def _too_few(share: float, states: int) -> str:
    """Return that so many states cannot show a share, even if all agree; empty: they can."""
    from rpd_compare.agreement import bound_if_all_agree, states_to_show

    most = bound_if_all_agree(states)
    if most >= share:
        return ""
    needed = states_to_show(share)
    told = f"; {counted(states, 'state')} cannot show more than {most:.1%}, even if all agree"
    if needed is None:
        return f"{told}, and no number of them {share:.1%}: ask for less"
    common = round((needed - 1) / _FIRST) + 1
    return (
        f"{told}: compare runs with {common} states or more in common (a finer --abstraction, more "
        "--episodes), ask for less, or check decisions with rpd_policy, the fixture of pytest"
    )

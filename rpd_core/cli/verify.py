"""`rpd verify`: is a stored run what it should be?"""

from __future__ import annotations

import typer

from rpd_core.cli import options, shared
from rpd_core.errors import counted

FAULTS = 3
"""Exit code where something is wrong."""


def verify_command(run: options.RunPath = None, as_json: options.Json = False) -> None:
    """Check every file of a run; exit code 3 if one is not what it should be."""
    from rpd_core.results.verification import verify
    from rpd_core.store.codec import to_plain
    from rpd_core.store.directory import RunDirectory

    run = shared.chosen_run(run)
    verdict = verify(RunDirectory(run))
    if as_json:
        shared.print_json(to_plain(verdict))
    else:
        console = shared.answers()
        for fault in verdict.faults:
            console.print(shared.tidied(fault), markup=False, soft_wrap=True)
        state = counted(len(verdict.faults), "fault") if verdict.faults else "ok"
        analyses = counted(verdict.analyses, "analysis", "analyses")
        console.print(
            f"{state}: {counted(verdict.parts, 'part')} and {analyses} in {run}",
            markup=False,
            soft_wrap=True,
        )
    if verdict.faults:
        raise typer.Exit(FAULTS)

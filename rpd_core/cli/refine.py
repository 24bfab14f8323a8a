"""`rpd refine`: make the confirmed pruned policy of a stored analysis smaller."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from rpd_core.cli import options, shared
from rpd_core.cli.prune import asked_again
from rpd_core.cli.show import show_answer
from rpd_core.cli.suite import stored_config
from rpd_core.cli.work import Work, plays
from rpd_core.errors import ConfigError, counted, shell_word

if TYPE_CHECKING:
    from rpd_core.results.run import Run


@options.with_finish
@plays
def refine_command(
    *,
    run: options.RunPath = None,
    rounds: Annotated[int, options.whole_option("--rounds", "Rounds at most.")] = 3,
    refine_episodes: Annotated[
        int | None,
        options.whole_option("--refine-episodes", "Mutants in each; default: half the suite's."),
    ] = None,
    work: Work,
    analysis: options.NewAnalysisName = None,
    as_json: options.Json = False,
    **finish: Any,
) -> None:
    """Refine the pruned policy: mutants around it tell which states it can do without."""
    from rpd_core.store.directory import RunDirectory

    if rounds < 1:
        raise ConfigError(f"rounds must be at least 1, got {rounds}")
    run = shared.chosen_run(run)
    stored_config(run)
    if RunDirectory(run).latest() is None:
        raise ConfigError(
            f"{str(run)!r} has no finished analysis to refine: run rpd prune {shell_word(run)}"
        )
    typed = options.given({"rounds": rounds, "refine_episodes": refine_episodes})
    asked = {"analysis": analysis, "finish": options.taken_finish(finish)}
    finished, made = asked_again(run, typed, work, asked)
    show_answer(finished, as_json, made=tuple(made.values()))
    if not any(one.shrunk for one in finished.summary.rounds):
        shared.show_note(_nothing_smaller(finished))


def _nothing_smaller(finished: Run) -> str:
    """Return why refining left the policy as it was."""
    rounds = finished.summary.rounds
    if rounds:
        return f"refining found nothing smaller in {counted(len(rounds), 'round')}"
    policy = finished.summary.policy
    if policy is None or not policy.met:
        return "nothing was refined: there is no confirmed policy to begin from"
    return "nothing was refined: no policy of the sweep has enough to spare to begin from"

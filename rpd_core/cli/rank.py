"""`rpd rank`: a new question to stored episodes; plays, locks and writes nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rpd_core.cli import options, shared
from rpd_core.cli.options import number_option, whole_option
from rpd_core.cli.work import check_typed_early
from rpd_core.errors import ConfigError, EvidenceError, StoreError, counted, shell_word

if TYPE_CHECKING:
    from rpd_core.analysis.analysis import Analysis
    from rpd_core.analysis.decisions import Rules
    from rpd_core.analysis.ranking import Ranking
    from rpd_core.analysis.records import Stability
    from rpd_core.analysis.suite import Reach
    from rpd_core.config.resolve import Selection
    from rpd_core.plugin.protocols import BoolArray, Measure
    from rpd_core.results.records import ListFacts, RankedDecision
    from rpd_core.results.run import Run


def rank_command(
    run: options.RunPath = None,
    measure: options.Measure = None,
    condition: options.Condition = None,
    analysis: options.AnalysisName = None,
    top: Annotated[int, whole_option("--top", "Decisions to show.", least=1)] = 10,
    everything: Annotated[
        bool, typer.Option("--all", help="List states without enough episodes, too.")
    ] = False,
    reached: Annotated[
        bool, typer.Option("--reached", help="List only what the unmutated policy reaches.")
    ] = False,
    evidence: Annotated[
        int | None, whole_option("--evidence", "Episodes in each arm that a state needs.")
    ] = None,
    margin: Annotated[
        float | None, number_option("--margin", "Effect below which a decision is harmless.")
    ] = None,
    export: Annotated[
        Path | None, typer.Option("--export", help="Write the whole ranking: .csv or .parquet.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """List effects in the mutated policy, as in the paper, by any measure; plays nothing."""
    check_typed_early(options.given({"measures": measure, "condition": condition}))
    from rpd_core.cli.text import print_question, say
    from rpd_core.config.resolve import choose
    from rpd_core.plugin.registry import installed
    from rpd_core.results.sentences import few_digits, mutated_words
    from rpd_core.store.codec import to_plain

    if export is not None:
        _check_export(export)
    opened = shared.opened_run(shared.chosen_run(run), analysis)
    measures = [choose(installed(), "measure", one) for one in measure or []]
    measures = measures or [_own_measure(opened)]
    rules = _rules_for(opened, evidence, margin)
    found = analysed(opened, condition)
    rankings = [found.rank_by(one.text, one.recipe) for one in measures]
    if export is not None:
        from rpd_core.results.tables import ranking_table

        write_table(ranking_table(rankings[0], found.counted), export)
    reach = _reach_in(opened, reached)
    lists = _made_lists(opened, found, rankings, rules, _Rows(top, everything, reached), reach)
    stability: dict[str, Stability | None] = {}
    if not everything:  # states without evidence have no place that could come back
        only = reach.share_of_episodes(found.counted.states.key) > 0 if reached else None
        recipes = {one.text: one.recipe for one in measures}
        stability = {name: _stability_of(found, recipes[name], rules, only) for name in lists}
    if as_json:
        rows = {name: to_plain(one.rows) for name, one in lists.items()}
        told = {"condition": found.condition_text, "rankings": rows}
        shared.print_json({**told, "stability": to_plain(stability)})
        return
    question = opened.directory.configuration().suite_json()
    say(shared.answers(), mutated_words(question["settings"]["mutation_rate"]), style="bold")
    passed = f"passed means {few_digits(found.condition_text)}"
    print_question(shared.answers(), question, passed)
    for advice in _advice_on_condition(opened, found):
        say(shared.answers(), f"Advice: {advice}")
    for name, one in lists.items():
        _show_list(name, one, found.condition_text)
        if one.rows and name in stability:
            _show_stability(stability[name], one)


@dataclass(frozen=True)
class _Rows:
    """Which rows of a list are shown."""

    top: int
    everything: bool
    only_reached: bool


@dataclass(frozen=True)
class _List:
    """The list by one measure."""

    facts: ListFacts
    rows: tuple[RankedDecision, ...]
    """Those that are shown."""
    unreached: int
    """Decisions left out because the unmutated policy never reaches them."""


def _own_measure(opened: Run) -> Selection:
    """Return the measure that the list of the analysis is sorted by."""
    from rpd_core.config.resolve import Selection
    from rpd_core.config.trust import refuse_code
    from rpd_core.plugin.registry import installed

    text, named_by = opened.setting("list_by"), f"analysis {opened.name!r} of {str(opened.path)!r}"
    remedy = "name a measure yourself, with --measure"
    return Selection(refuse_code("measure", text, installed(), named_by, remedy), text)


def _reach_in(opened: Run, needed: bool) -> Reach:
    """Return what the unmutated policy reaches; refuse where that is asked for and not known."""
    from rpd_core.analysis.suite import stored_reach

    reach = stored_reach(opened.directory)
    if not reach.total_episodes:
        unknown = (
            f"{str(opened.path)!r} holds no unmutated episodes, so that it is not known what the "
            f"policy reaches: rpd prune {shell_word(opened.path)} plays them"
        )
        if needed:
            raise StoreError(f"{unknown}; or leave --reached out")
        shared.show_note(unknown)
    return reach


def _advice_on_condition(opened: Run, found: Analysis) -> list[str]:
    """Return advice where the unmutated policy fails the condition about as often as mutants."""
    from rpd_core.analysis.analysis import weigh
    from rpd_core.analysis.suite import StoredEpisodes
    from rpd_core.results.sentences import on_condition

    parts = opened.directory.unmutated()
    if not parts.covered():
        return []
    try:
        whole = float(weigh(found.condition, StoredEpisodes(parts).episodes()).mean())
    except EvidenceError:  # it asks for what only mutants left behind
        return []
    return on_condition(found.condition_text, whole, float(found.weights.mean()))


def _rules_for(opened: Run, evidence: int | None, margin: float | None) -> Rules:
    """Return how states are judged: as asked, else as in the analysis."""
    from rpd_core.analysis.decisions import Rules
    from rpd_core.config.settings import check_value

    limits = {"evidence": evidence, "margin": margin}
    at_least, width = (
        check_value(name, value if value is not None else opened.setting(name))
        for name, value in limits.items()
    )
    return Rules(at_least, width, opened.setting("confidence"))


def _made_lists(
    opened: Run,
    found: Analysis,
    rankings: list[Ranking],
    rules: Rules,
    shown: _Rows,
    reach: Reach,
) -> dict[str, _List]:
    """Return the list by each ranking, and what it holds."""
    from rpd_core.analysis.decisions import decide
    from rpd_core.results.decisions import list_facts, ranked_rows

    names, stored = opened.directory.names(), opened.kept() if opened.name else None
    kept = None if stored is None else stored.array
    lists = {}
    for ranking in rankings:
        judged = decide(found.counted, ranking, reach, rules)
        whole = judged.listed(shown.everything, shown.only_reached)
        unreached = len(judged.listed(shown.everything)) - len(whole)
        facts = list_facts(judged, rules.evidence, rules.margin, names.note)
        rows = ranked_rows(judged, whole[: shown.top], found.stored, names, kept)
        lists[ranking.name] = _List(facts, rows, unreached)
    return lists


def _stability_of(
    found: Analysis, measure: Measure, rules: Rules, only: BoolArray | None
) -> Stability | None:
    """Return how much of a list, or of some states of it, random halves of the suite share."""
    from rpd_core.analysis.recurrence import Recurrence

    return Recurrence(found, measure, rules.evidence, only=only, streamed=True).stability()


def _show_stability(stability: Stability | None, listed: _List) -> None:
    """Print whether a list is stable."""
    from rpd_core.cli.text import say
    from rpd_core.results.sentences import stability_words

    facts = replace(listed.facts, listed=listed.facts.listed - listed.unreached)
    say(shared.answers(), stability_words(stability, facts))


def _show_list(name: str, listed: _List, condition: str) -> None:
    """Print the list by one measure, or why there is none."""
    from rpd_core.cli.listing import legend, print_list
    from rpd_core.cli.text import say
    from rpd_core.results.sentences import list_notes

    console = shared.answers()
    console.print()
    notes = list_notes(listed.facts)
    if listed.rows:
        print_list(console, f"Decisions by {name}", listed.rows)
        notes = [f"{legend(listed.rows)}.", *notes]
    else:
        say(console, f"Nothing to list by {name} under {condition}: try --all or less --evidence")
    if listed.unreached:
        never = "that the unmutated policy never reaches"
        notes.append(f"Left out: {counted(listed.unreached, 'decision')} {never}.")
    say(console, " ".join(notes))


def analysed(opened: Run, condition: str | None) -> Analysis:
    """Analyse the stored suite; first show on how much of it the answer stands."""
    if condition is not None:
        from rpd_core.results.run import incomplete

        if told := incomplete(opened):
            shared.show_note(told)
        return opened.analysed(condition, typed=True)
    if opened.standing and opened.name is not None:
        shared.show_note(opened.standing)
    if opened.name is not None:
        return opened.analysis
    raise ConfigError(f"{str(opened.path)!r} has no finished analysis: give --condition")


def _check_export(path: Path) -> None:
    """Refuse a file name whose format is not known, or whose folder is not there."""
    if path.suffix not in (".csv", ".parquet"):
        raise ConfigError(f"cannot export to {str(path)!r}: the name must end in .csv or .parquet")
    if not path.parent.is_dir():
        raise ConfigError(f"cannot export to {str(path)!r}: there is no folder {path.parent}")


def write_table(table, path: Path) -> None:  # type: ignore[no-untyped-def]
    """Write a ranking in the format that the file name asks for."""
    {".csv": table.to_csv, ".parquet": table.to_parquet}[path.suffix](path)
    shared.errors().print(f"rpd: wrote {counted(len(table), 'state')} to {path}", markup=False)

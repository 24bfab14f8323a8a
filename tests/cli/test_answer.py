"""The answer in sentences, word by word, and on a screen."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from answers import answer, configured, decision, failed, front_point, policy
from rich.console import Console

from rpd_core.cli.screen import SHOWN, loss_bar, print_answer, print_decisions
from rpd_core.results.records import Baseline, Baselines, PassRates, Summary, Ties
from rpd_core.results.sentences import (
    advice_on,
    baseline_words,
    front_sentences,
    headline,
    mutated_words,
    other_targets,
    recurrence_words,
    suite_words,
    sureness_words,
    tried_in_vain,
    what_would_help,
)
from rpd_core.results.words import alike

WORK = (
    "It decides 28% of the steps and overrides the default action at 26% (whole policy 79%). 88% "
    "of its episodes pass return>=200 (whole policy 100%); the worst tenth return 30.9."
)


def test_the_headline_has_every_figure_of_one_policy() -> None:
    assert headline(answer(policy())) == (
        "3 of 40 states (7.5%) are enough: deciding only there, the policy keeps 90% of the return "
        f"(at least 88%, 95% sure). {WORK}"
    )


def test_where_the_policy_decides_elsewhere_the_headline_says_so() -> None:
    told = headline(configured(answer(policy(kept=1, states=0.025)), unvisited="policy"))
    assert told.startswith("1 of 40 states (2.5%) and all that the suite never saw are enough: ")


def test_where_states_are_rules_nothing_is_unseen() -> None:
    told = headline(configured(answer(policy()), "rules", unvisited="policy"))
    assert told.startswith("3 of 40 rules (7.5%) are enough: ")


@pytest.mark.parametrize("abstraction", ["rules", "rules:target=0.9", "minigrid-rules"])
def test_states_that_are_rules_are_called_so(abstraction: str) -> None:
    told = headline(configured(answer(policy(rules_alone=0.29)), abstraction))
    assert told == (
        "3 of 40 rules (7.5%) are enough: deciding only there, the policy keeps 90% of the return "
        f"(at least 88%, 95% sure; as rules alone, without the network, 29%). {WORK}"
    )


def test_rules_that_play_alone_are_the_headline_where_they_are_as_sure_as_the_policy() -> None:
    same = policy(rules_alone=0.9, rules_alone_bound=policy().share_bound)
    assert "even without the network" in headline(configured(answer(same), "rules"))
    alone = policy(rules_alone=0.93, rules_alone_bound=0.9)
    assert headline(configured(answer(alone), "rules")) == (
        "3 of 40 rules (7.5%) are enough, even without the network: with one fixed action each "
        "they keep 93% of the return (at least 90%, 95% sure), with the policy deciding there 90% "
        f"(at least 88%, 95% sure). {WORK}"
    )


def test_rules_that_meet_the_target_by_luck_alone_stay_an_aside() -> None:
    lucky = policy(rules_alone=0.93, rules_alone_bound=0.883)
    assert "; as rules alone, without the network, 93%). " in headline(
        configured(answer(lucky), "rules")
    )


def test_a_default_action_that_does_alone_is_the_finding() -> None:
    told = headline(answer(policy(kept=0, steps=0.0, overrides=0.0)))
    assert told.startswith(
        "The default action alone keeps 90% of the return (at least 88%, 95% sure): no decision of "
        "the policy is needed. 88% of its episodes pass return>=200"
    )


def test_a_policy_that_decides_everywhere_spares_nothing() -> None:
    assert "That spares nothing: it decides at all steps and overrides" in headline(
        answer(policy(steps=0.999))
    )


def test_a_quick_look_is_called_one() -> None:
    told = headline(configured(answer(None), quick=True))
    assert told.startswith("A quick look: nothing proven yet: in the sweep, no pruned policy kept")


def test_nothing_proven_says_what_came_nearest_and_what_would_help() -> None:
    missed = policy(met=False, outcome="missed", tries=3, failed=(failed(5), failed(7)))
    assert headline(answer(missed)) == (
        "Nothing proven yet: none of 3 pruned policies was confirmed to keep 90% of the return on "
        "fresh episodes. The nearest decides in 3 of 40 states, 28% of the steps, and kept 90% (at "
        "least 88%, 95% sure)."
    )
    assert headline(answer(replace(missed, tries=1))).startswith(
        "Nothing proven yet: the one pruned policy was not confirmed to keep 90% of the return"
    )
    assert tried_in_vain(missed) == (
        "Also tried without success: 5 decisions (kept 80% of the return); 7 decisions (kept 80% "
        "of the return)."
    )
    assert what_would_help(answer(missed)) == (
        "What would help: more --episodes (now 5000), a coarser --abstraction (now round:1), "
        "another --default-action (now repeat) or --unvisited policy."
    )


def test_a_ranking_that_takes_fewer_steps_than_the_answer_is_remarked_on() -> None:
    gap = Baseline(9, 0.2, 0.12, 0.1, 0.91, 60)
    found = replace(policy().baselines, default_gap=gap)
    assert baseline_words(answer(policy(baselines=found))).endswith(
        " Deciding where the policy prefers its action most (12%) takes fewer steps than the "
        "answer (28%), by estimates of the sweep that no fresh episodes confirmed."
    )
    alike_many = replace(found, default_gap=replace(gap, steps=0.275))
    assert "fewer steps" not in baseline_words(answer(policy(baselines=alike_many)))


def test_baselines_stand_beside_and_a_simpler_explanation_is_called_one() -> None:
    assert baseline_words(answer(policy())) == (
        "Also enough: 30 random states, 79% of the steps (overrides 61%); no number of states "
        "where the default differs most often."
    )
    gap, tree = Baseline(4, 0.1, 0.3, 0.19, 0.91, 50), Baseline(2, None, None, None, 0.99, 50)
    others = Baselines(None, gap, gap, tree)
    told = baseline_words(answer(policy(baselines=others)))
    assert told.endswith(
        "; 4 states where the policy prefers its action most, 30% of the steps (overrides 19%); a "
        "decision tree of 2 leaves that plays alone (keeps 99%), the simpler explanation."
    )
    larger = replace(others, imitation=replace(tree, decisions=3))
    assert baseline_words(answer(policy(baselines=larger))).endswith("plays alone (keeps 99%).")


def test_one_state_that_does_as_well_is_told_in_the_singular() -> None:
    one = Baselines(None, Baseline(1, 0.25, 0.14, 0.1, 1.0, 100), None, None)
    told = baseline_words(answer(policy(baselines=one)))
    assert "; 1 state where the default differs most often, 14% of the steps" in told


def test_on_a_screen_what_else_is_enough_takes_two_lines_at_most() -> None:
    found = Baselines(
        Baseline(1090, 0.7, 0.93, 0.7, 0.9, 50), Baseline(778, 0.5, 0.71, 0.6, 0.9, 50),
        Baseline(545, 0.3, 0.18, 0.16, 0.9, 50), Baseline(2, None, None, None, 1.0, 50),
    )  # fmt: skip
    told = baseline_words(answer(policy(baselines=found)), full=False)
    assert told == (
        "Also enough: 1090 random states, 93% of the steps; 778 where the default differs most "
        "often, 71%; 545 where the policy prefers its action most, 18% (unconfirmed); one 2-leaf "
        "tree alone (simpler)."
    )
    assert len(told) <= 200


def test_on_a_screen_the_portfolio_takes_a_line() -> None:
    told = suite_words(answer(policy()), full=False)
    assert told == (
        "Ranking alone, as in the paper: 10 states, 41% of the steps, or 32, 23% (5000 mutant "
        "episodes)."
    )
    assert len(told) <= 100


def test_on_a_screen_how_sure_it_is_takes_a_line() -> None:
    found = policy()
    assert found.minimising is not None
    rough = replace(found, minimising=replace(found.minimising, settled=False, paired=False))
    told = sureness_words(answer(rough, (decision(1), decision(2, needed=False))), full=False)
    assert told == (
        "Confirmed on 1600 fresh episodes. 1 of 2 decisions is shown to be needed. A smaller "
        "policy may do."
    )
    assert len(told) <= 100


def test_where_to_look_never_wraps() -> None:
    stream, path = io.StringIO(), Path(f"runs/{'long' * 10}")
    print_answer(Console(file=stream, width=100), answer(policy()), path, [])
    assert stream.getvalue().splitlines()[-3:] == [
        "More:", f"rpd show {path} --full", f"rpd rank {path}",
    ]  # fmt: skip


def test_how_many_may_be_falsely_needed_is_what_was_asked_for() -> None:
    asked = configured(answer(policy(), (decision(1),)), confidence=0.8)
    assert "(at most 20% of these falsely)" in sureness_words(asked)


def test_a_policy_of_the_front_is_told_with_what_fresh_episodes_said_of_it() -> None:
    found = answer(policy(failed=(failed(5),), front=(front_point(9), front_point(5))))
    assert front_sentences(found, front_point(3)).endswith(
        " It is the confirmed answer: it kept 90% in 1600 fresh episodes."
    )
    assert front_sentences(found, front_point(5)).endswith(
        " It is not confirmed (missed): it kept 80% in 400 fresh episodes."
    )
    assert front_sentences(found, front_point(9)).endswith(
        " This is an estimate without fresh episodes; the policy that they confirmed has 3 "
        "decisions."
    )


def test_the_two_minima_of_the_portfolio_are_two_policies() -> None:
    assert suite_words(answer(policy())) == (
        "By ranking alone, as in the paper (5000 mutant episodes at rate 0.4, 60% passed "
        "return>=200), the sweep takes 10 states (25%, 41% of the steps) for the fewest states, "
        "23% of the steps (32 states) for the fewest steps."
    )


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, "Confirmed on 1600 fresh episodes, at the first try. "),
        ({"tries": 2}, "Confirmed on 1600 fresh episodes, after 2 tries. "),
    ],
)
def test_how_sure_it_is_counts_episodes_tries_and_twins(changes: dict[str, int], told: str) -> None:
    rows = (decision(1), decision(2, loss=1.0, needed=False))
    assert sureness_words(answer(policy(**changes), rows)) == (
        f"{told}1 of 2 decisions is shown to be needed (at most 5% of these falsely), by 200 twins "
        "on episodes that chose nothing. Without any one of them it is estimated to miss the "
        "target."
    )


def test_twins_without_pairs_and_an_end_that_is_open_are_told() -> None:
    found = policy()
    assert found.minimising is not None
    rough = replace(found, minimising=replace(found.minimising, settled=False, paired=False))
    assert sureness_words(answer(rough, (decision(1),))).endswith(
        ", begun afresh, as the same draws again added noise. A smaller policy may do."
    )


def test_episodes_that_are_all_the_same_are_told_in_the_singular() -> None:
    assert "All of them are the same: it holds for this one beginning." in sureness_words(
        answer(policy(distinct=1))
    )
    assert "Only 2 of them differ: it holds for these beginnings." in sureness_words(
        answer(policy(distinct=2))
    )


@pytest.mark.parametrize(
    ("whole", "mutated", "told"),
    [
        (1.0, 0.6, []),
        (0.46, 0.5, ["46% of its episodes, its mutants in 50%"]),
        (0.7, 0.3, ["70% of its episodes only"]),
    ],
)  # fmt: skip
def test_a_condition_in_the_noise_brings_advice(
    whole: float, mutated: float, told: list[str]
) -> None:
    rates = PassRates(0.5, 0.0, mutated)  # of other episodes than those that the headline is about
    found = advice_on(answer(policy(pass_rate_whole=whole), pass_rates=rates))
    assert len(found) == len(told)
    for advice, part in zip(found, told, strict=True):
        assert advice.startswith(
            f"the whole policy passes return>=200 in {part}: pass rates and rpd rank tell"
        )


def test_each_further_target_has_a_line() -> None:
    found = answer(policy())
    both = replace(found, policies={"0.9": policy(), "0.5": policy(kept=1, steps=0.1), "0.2": None})
    assert other_targets(both) == (
        "For 50% of the return: 1 state, 10% of the steps, keep 90%. For 20% of the return: "
        "nothing is proven."
    )
    assert other_targets(replace(found, policies={"0.9": policy()})) == ""


def test_losses_are_drawn_on_one_scale() -> None:
    rows = (decision(1, loss=50.0), decision(2, loss=40.0, needed=False), decision(3, loss=20.0))
    console = Console(width=100, record=True, file=io.StringIO())
    print_decisions(console, "state", rows, 1)
    bars = [line.count("█") + line.count("#") for line in console.export_text().splitlines()[1:4]]
    assert bars[0] > bars[1] > bars[2] > 0


def test_episodes_that_are_the_same_again_are_counted_once() -> None:
    told = sureness_words(answer(policy(distinct=30), (decision(1),)))
    assert "Confirmed on 1600 fresh episodes, at the first try. Only 30 of them differ: " in told


def test_how_much_of_the_first_ten_comes_back_is_told() -> None:
    found = policy()
    assert found.minimising is not None
    halves = replace(found, minimising=replace(found.minimising, recurring=0.9))
    assert recurrence_words(halves) == (
        "Two halves of the episodes have 90% of the first ten decisions in common."
    )
    assert recurrence_words(found) == ""


def test_the_list_of_the_paper_is_about_a_mutated_policy() -> None:
    assert mutated_words(0.4).startswith(
        "Effects in a policy that acts by default in 40% of its states, at random: how often"
    )


# ------------------------------------------------------------------------------- the screen


def printed(summary: Summary, width: int = 100, full: bool = False) -> list[str]:
    stream = io.StringIO()
    print_answer(Console(file=stream, width=width), summary, Path("runs/one"), [], full)
    return [line.rstrip() for line in stream.getvalue().splitlines()]


MANY = (
    *(decision(rank, loss=80.0 - 10 * rank) for rank in range(1, 8)),
    decision(8, loss=1.0, needed=False),
    decision(9, loss=0.0, needed=False),
)


@pytest.mark.parametrize("width", [100, 80])
def test_the_answer_comes_first_and_fits_a_screen(width: int) -> None:
    lines = printed(answer(policy(), MANY), width)
    assert len(lines) <= 29, "the next prompt takes a line"
    assert max(map(len, lines)) <= width
    assert " ".join(lines).startswith(headline(answer(policy()))[:60])
    rows = [line for line in lines if " -> " in line]
    assert len(rows) == SHOWN
    assert rows[0].split()[:7] == ["1", "place", "1", "go", "stay", "(90%)", "180"]
    assert "180 -> 110 ██████████" in rows[0]
    assert "2 more, none of them shown to be needed" in lines
    assert lines[-1] == "More: rpd show runs/one --full, rpd rank runs/one"


def test_the_full_answer_has_every_decision_and_the_way_to_them() -> None:
    found = replace(policy(), failed=(failed(2),), tries=2)
    told = "\n".join(printed(answer(found, MANY, ties={"ochiai": Ties(1, 2)}), full=True))
    assert told.count(" -> ") == len(MANY)
    assert "▎ not shown to be needed" in told
    rows = [line.split() for line in told.splitlines()]
    assert [
        "1",
        "70",
        "(65",
        "to",
        "75)",
        "110",
        "(100",
        "to",
        "120)",
        "10%",
        "10%",
        "50%",
        "25%",
        "100",
    ] in rows
    assert ["9", "22%", "40%", "30%", "182", "91%", "100"] in rows
    assert (
        "Tried without success: 2 decisions by ochiai (kept 80% of the return in 400 episodes: "
        "missed)." in " ".join(told.split())
    )
    assert "Minimising began with ochiai and took 9000 of 10000 steps" in told
    assert "ochiai: 1 group of states with equal scores (largest: 2)" in told
    assert "wong2" not in told
    assert "10 (25%), steps 41%  32 (80%), steps 23%" in told


def test_what_minimising_began_with_is_told_once_each_and_in_words() -> None:
    found = policy()
    assert found.minimising is not None
    twice = replace(found.minimising, starts=("default-gap", "default-gap", "as learned"))
    told = " ".join(printed(answer(replace(found, minimising=twice)), full=True))
    assert "Minimising began with default-gap and the states as learned and took" in told


def test_where_nothing_is_proven_there_is_no_list() -> None:
    told = "\n".join(printed(answer(policy(met=False, outcome="undecided"), MANY[:0])))
    assert told.startswith("Nothing proven yet: the one pruned policy")
    assert "What would help: more --episodes" in told
    assert "default      return" not in told
    assert "shown to be needed" not in told


def test_a_loss_that_a_limit_of_steps_cuts_short_is_at_least_that() -> None:
    (row,) = [
        line for line in printed(answer(policy(), (decision(1, at_least=True),))) if " -> " in line
    ]
    assert "180 -> 130 or less ████" in row


@pytest.mark.parametrize(
    ("loss", "plain", "drawn"),
    [
        (8.0, False, "████"),
        (5.0, False, "██▌"),
        (0.1, False, ""),
        (-3.0, False, ""),
        (5.0, True, "##"),
    ],
)
def test_a_loss_is_drawn_to_scale(loss: float, plain: bool, drawn: str) -> None:
    assert loss_bar(loss, 8.0, 4, plain) == drawn


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ((181.2, 35.17), ("181", "35")),
        ((12.34, 1.0), ("12.3", "1.0")),
        ((0.897, 0.5), ("0.90", "0.50")),
        ((-110.4, -200.0), ("-110", "-200")),
    ],
)
def test_returns_in_a_row_have_equally_many_digits(
    values: tuple[float, float], told: tuple[str, str]
) -> None:
    assert alike(*values) == told

"""Slips of the keyboard: each gets one line of ours that says what to type."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from rpd_core.cli.app import start
from rpd_core.config.settings import check_value
from rpd_core.errors import ConfigError, EvidenceError
from rpd_core.plugin.registry import installed
from rpd_core.pruning.references import advice_for, refuse_weak_policy

Typed = Callable[..., str]


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Typed:
    """Type words at the real door, in this process, and return the one line of refusal."""

    def typed(*words: str) -> str:
        monkeypatch.setattr(sys, "argv", ["rpd", *words])
        code = start()
        told = capsys.readouterr()
        assert (code, told.out) == (2, "")
        assert told.err.count("\n") == 1
        return told.err.strip()

    return typed


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["run", "cartpole"], "rpd run --env cartpole"),
        (["run", "cartpool"], "rpd run --env cartpole"),
        (["run", "CartPole-v1"], "rpd run --env gym:CartPole-v1"),
        (["run", "--env", "cartpole", "dqn.zip"], "rpd run --policy sb3:dqn.zip"),
        (["suite", "runs/old", "cartpole"], "rpd suite --env cartpole"),
    ],
    ids=" ".join,
)
def test_a_word_without_its_option_comes_with_it(
    refused: Typed, words: list[str], meant: str
) -> None:
    assert refused(*words).endswith(f" by itself. Did you mean {meant}?")


def test_a_word_that_nothing_takes_is_named(refused: Typed) -> None:
    told = "rpd: rpd list-plugins does not take 'cartpole' by itself. Try --help."
    assert refused("list-plugins", "cartpole") == told
    assert (
        refused("show", "a", "b", "c") == "rpd: rpd show does not take 'b' by itself. Try --help."
    )


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["run", "--episodes", "many"], "--episodes must be a whole number, got 'many'"),
        (["run", "--episodes", "1.5"], "--episodes must be a whole number, got '1.5'"),
        (["run", "--episodes", "1e400"], "--episodes must be a whole number, got '1e400'"),
        (["run", "--seed", "0x10"], "--seed must be a whole number, got '0x10'"),
        (["run", "--workers", "two"], "--workers must be a whole number, got 'two'"),
        (["run", "--margin", "5%"], "--margin must be a number, got '5%'"),
        (["run", "--stall-timeout", "1m"], "--stall-timeout must be a number, got '1m'"),
        (["run", "--minimise-steps", "x"], "--minimise-steps must be a whole number, got 'x'"),
        (["run", "--target", "90"], "target must lie in (0, 1), got 90. Did you mean 0.9?"),
        (["run", "--target", "most"], "'most' are not numbers parted by commas: try 0.9,0.5"),
        (["run", "--target", "0.5,0.9"], "target must be shares in falling order, got [0.5, 0.9]"),
        (["run", "--confidence", "1"], "confidence must lie in (0, 1), got 1. For example 0.95."),
        (["run", "--margin", "0"], "margin must lie in (0, 1), got 0. For example 0.05."),
        (["rank", "r", "--top", "ten"], "--top must be a whole number, got 'ten'"),
        (["rank", "r", "--evidence", "ten"], "--evidence must be a whole number, got 'ten'"),
        (["prune", "r", "--fraction", "most"], "--fraction must be a number, got 'most'"),
        (["show", "r", "--keep", "x"], "--keep must be a whole number, got 'x'"),
        (["validate", "r", "--states", "x"], "--states must be a whole number, got 'x'"),
        (
            ["describe", "policy", "p", "--episodes", "x"],
            "--episodes must be a whole number, got 'x'",
        ),
    ],
    ids=" ".join,
)
def test_what_is_no_number_is_refused_with_its_option(
    refused: Typed, words: list[str], told: str
) -> None:
    assert refused(*words) == f"rpd: {told}"


@pytest.mark.parametrize(
    ("rate", "told"),
    [
        (1.5, r"must lie in \(0, 1\), got 1\.5\. For example 0\.2\.$"),
        (20, r"must lie in \(0, 1\), got 20\. Did you mean 0\.2\?$"),
        (0, r"must lie in \(0, 1\), got 0\. For example 0\.2\.$"),
    ],
)
def test_a_rate_out_of_range_gets_a_hint_that_makes_sense(rate: float, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        check_value("mutation_rate", rate)


@pytest.mark.parametrize(
    ("value", "hint"), [(2, r"For example 0\.95\.$"), (80, r"Did you mean 0\.8\?$")]
)
def test_a_confidence_out_of_range_is_not_made_one_of_two_percent(value: float, hint: str) -> None:
    with pytest.raises(ConfigError, match=hint):
        check_value("confidence", value)


def test_what_an_abstraction_is_described_by_leads_to_its_name(refused: Typed) -> None:
    told = refused("run", "--env", "cartpole", "--abstraction", "tree")
    assert told == "rpd: no abstraction is called 'tree'. Did you mean 'rules'?"


def test_an_unknown_option_is_a_sentence(refused: Typed) -> None:
    assert refused("list-plugins", "--rounds", "3") == "rpd: No such option: --rounds. Try --help."


def test_a_whole_number_may_be_written_with_an_exponent(cli) -> None:
    told = cli("suite", "--env", "cartpole", "--episodes", "3e1", "--workers", "1", "--json")
    assert told.exit_code == 0, told.output
    assert '"episodes": 30,' in told.stdout
    made = installed().make("environment", "gym:CartPole-v1,max_steps=1e2")
    assert (made.max_steps, type(made.max_steps)) == (100, int)


def test_a_policy_that_earns_nothing_is_pointed_to_sampling_where_it_can_sample() -> None:
    import numpy as np

    sure, drawn = (
        installed().make("policy", f"minigrid:deterministic={value}") for value in ("true", "false")
    )
    with pytest.raises(EvidenceError, match=r"try deterministic=false in its spec$"):
        refuse_weak_policy(np.zeros(20), 0.0, "given", advice=advice_for(sure))
    with pytest.raises(EvidenceError, match=r"check that the policy fits the environment$"):
        refuse_weak_policy(np.zeros(20), 0.0, "given", advice=advice_for(drawn))
    assert advice_for(lambda seen: seen) == ""

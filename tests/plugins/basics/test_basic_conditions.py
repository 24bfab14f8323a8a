"""When an episode counts as passed."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rpd_core.analysis.analysis import (
    condition_words,
    fit_condition,
    refuse_one_sided,
    restore_condition,
    weigh,
)
from rpd_core.config.configuration import stored_fields
from rpd_core.errors import ComponentError, EvidenceError, SpecError
from rpd_core.plugin.protocols import Episodes
from rpd_core.plugin.protocols.suite import ENDINGS
from rpd_core.plugin.registry import Registry, installed


def episodes(returns: Any, **columns: Any) -> Episodes:
    count = len(returns)
    given_columns = {
        "index": np.arange(count),
        "seed": np.arange(count),
        "total_return": np.array(returns, dtype=np.float64),
        "length": np.full(count, 5),
        "ended": np.zeros(count, dtype=np.int64),
        "policy_steps": np.full(count, 3),
        "overrides": np.full(count, 2),
    }
    return Episodes(**{**given_columns, **columns})


def passed(spec: str, some: Episodes) -> list[float]:
    return weigh(installed().make("condition", spec), some).tolist()


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("return>=2", [0, 1, 1]),
        ("return>2", [0, 0, 1]),
        ("return<=2", [1, 1, 0]),
        ("return<2", [1, 0, 0]),
        ("return>=-5.5", [1, 1, 1]),
        ("return>=2.0000001", [0, 0, 1]),
    ],
)
def test_returns_are_compared(spec: str, expected: list[float]) -> None:
    assert passed(spec, episodes([1.0, 2.0, 3.0])) == expected


def test_a_soft_return_passes_in_part_between_its_bounds() -> None:
    some = episodes([-1.0, 50.0, 87.5, 125.0, 200.0, 500.0])
    assert passed("soft-return:low=50,high=200", some) == [0, 0, 0.25, 0.5, 1, 1]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("soft-return:low=200,high=50", "low must lie below high, got low=200, high=50"),
        ("soft-return:low=1,high=1", "low must lie below high, got low=1, high=1"),
        ("soft-return:low=0,high=inf", "high must be a finite number, got inf"),
    ],
)
def test_bounds_of_a_soft_return_are_finite_and_in_order(spec: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        installed().make("condition", spec)


def test_lengths_are_compared() -> None:
    some = episodes([0, 0, 0], length=np.array([9, 10, 11]))
    assert passed("length>=10", some) == [0, 1, 1]
    assert passed("length<10", some) == [1, 0, 0]


def test_the_ending_is_compared() -> None:
    some = episodes([0, 0, 0], ended=np.array([0, 1, 2]))
    assert ENDINGS == ("terminated", "truncated", "step-cap")
    assert passed("ended:terminated", some) == [1, 0, 0]
    assert passed("ended:truncated", some) == [0, 1, 0]
    assert passed("ended:step-cap", some) == [0, 0, 1]
    assert passed("ended:not-terminated", some) == [0, 1, 1]


def test_a_key_of_the_final_info_is_compared() -> None:
    some = episodes([0] * 4, info={"is_success": np.array([1.0, 0.0, np.nan, 2.0])})
    assert passed("info:is_success", some) == [1, 0, 0, 1]
    assert passed("info:is_success,at_least=1.5", some) == [0, 0, 0, 1]
    assert passed("info:is_success,at_least=-3", some) == [1, 1, 0, 1], "without it, failed"


def test_an_unknown_key_of_info_names_the_stored_ones() -> None:
    some = episodes([0], info={"is_success": np.array([1.0])})
    with pytest.raises(EvidenceError, match=r"has 'success'; stored are: is_success. Did you mean"):
        passed("info:success", some)
    with pytest.raises(EvidenceError, match="stored are: none"):
        passed("info:success", episodes([0]))


# ------------------------------------------------------------------------- auto


def cut(returns: list[float]) -> str:
    fitted = fit_condition(installed().make("condition", "auto"), episodes(returns))
    return condition_words(fitted, "auto")


@pytest.mark.parametrize(
    ("returns", "expected"),
    [
        ([1, 2, 3, 4], "return>=3"),
        ([200] * 90 + [10] * 10, "return>=200"),  # the median, 200, as a strict cut fails all
        ([0] * 90 + [1] * 10, "return>=1"),  # the median, 0, passes all
        ([0] * 60 + [1] * 10 + [2] * 30, "return>=1"),
        ([-200] * 5 + [-150.5] * 5, "return>=-150.5"),
        ([0] * 3 + [1] * 4 + [2] * 3, "return>=1"),  # 70 % and 30 %: the smaller cut
        ([0] * 2 + [1] * 6 + [2] * 2, "return>=1"),  # 80 % and 20 %: the same
        ([0] * 1 + [1] * 8 + [2] * 1, "return>=1"),
        ([0.1, 0.30000000000000004], "return>=0.30000000000000004"),
    ],
)
def test_auto_takes_the_observed_return_that_splits_best(
    returns: list[float], expected: str
) -> None:
    assert cut(returns) == expected


@given(st.lists(st.sampled_from([-3.5, 0.0, 1.0, 1.1, 7.0]), min_size=2, max_size=40))
def test_auto_is_never_one_sided_and_never_beaten(returns: list[float]) -> None:
    assume(len(set(returns)) > 1)
    some = episodes(returns)
    chosen = np.array(passed(cut(returns), some))
    assert 0 < chosen.sum() < len(returns)
    distances = [
        abs(2 * sum(one >= bound for one in returns) - len(returns))
        for bound in sorted(set(returns))[1:]
    ]
    assert abs(2 * chosen.sum() - len(returns)) == min(distances)
    assert passed("auto", some) == chosen.tolist()


def test_auto_refuses_returns_that_are_all_the_same() -> None:
    with pytest.raises(EvidenceError, match="all 3 episodes have the return 7; no cut can split"):
        cut([7, 7, 7])


def test_what_auto_has_learned_survives_being_stored(registry: Registry) -> None:
    plain = registry.make("condition", "auto")
    assert condition_words(plain, "auto") == "auto"
    fitted = fit_condition(plain, episodes([0.1, 0.30000000000000004]))
    stored = json.loads(json.dumps(stored_fields(fitted)))
    assert stored == {"cut": 0.30000000000000004}
    again = restore_condition(plain, stored)
    assert again == fitted
    assert weigh(again, episodes([0.1, 0.2, 0.3, 0.30000000000000004])).tolist() == [0, 0, 0, 1]


def test_other_conditions_learn_nothing_and_are_called_as_asked(registry: Registry) -> None:
    condition = registry.make("condition", "return>=3")
    assert fit_condition(condition, episodes([1])) is condition
    assert condition_words(condition, "return>=3") == "return>=3"


def test_a_condition_that_fits_into_something_else_is_refused() -> None:
    class Forgetful:
        def fit(self, some: Episodes) -> int:
            return 3

        def __call__(self, some: Episodes) -> Any:
            return np.ones(len(some))

    with pytest.raises(ComponentError, match=r"fit\(\) of condition Forgetful returned a int"):
        fit_condition(Forgetful(), episodes([1, 2]))


# ------------------------------------------------------------------------- checks


@pytest.mark.parametrize(("bound", "fate"), [(0, "passed"), (99, "failed")])
def test_a_one_sided_suite_is_refused_with_the_numbers(bound: int, fate: str) -> None:
    some = episodes([3.0, 4.5, 12.25])
    weights = np.array(passed(f"return>={bound}", some))
    with pytest.raises(EvidenceError) as caught:
        refuse_one_sided(weights, some, f"return>={bound}")
    assert str(caught.value) == (
        f"all 3 episodes {fate} return>={bound} (their returns lie between 3 and 12.25); no "
        "measure can rank them: try --condition auto or another --mutation-rate"
    )


def test_a_two_sided_suite_is_not_refused() -> None:
    some = episodes([1.0, 2.0])
    refuse_one_sided(np.array([0.0, 1.0]), some, "x")
    refuse_one_sided(np.array([0.5, 0.5]), some, "x")


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([0.5, 1.5], r"gave weights outside \[0, 1\]"),
        ([-0.1, 1.0], r"gave weights outside \[0, 1\]"),
        ([np.nan, 1.0], r"gave weights outside \[0, 1\]"),
        ([1.0], r"gave weights of shape \(1,\) for 2 episodes"),
    ],
)
def test_weights_of_a_strangers_condition_are_checked(weights: list[float], message: str) -> None:
    with pytest.raises(ComponentError, match=message):
        weigh(lambda some: np.array(weights), episodes([1, 2]))

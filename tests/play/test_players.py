"""Policies that answer differently to the same question are found before they play."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from worlds import Corridor, Goes

import rpd
from rpd_core.errors import ComponentError, ConfigError, FitError, RpdError


def test_a_policy_that_counts_its_calls_is_refused(tmp_path: Path) -> None:
    calls = itertools.count()

    def moody(observations: np.ndarray) -> np.ndarray:
        return np.full(len(observations), next(calls) % 2)

    with pytest.raises(FitError, match="other actions when it was asked the same twice"):
        rpd.run(Corridor(), moody, out=tmp_path / "run", episodes=50)
    assert not (tmp_path / "run" / "suite").exists()


def test_a_policy_that_gives_no_numbers_is_refused_for_that(tmp_path: Path) -> None:
    with pytest.raises(RpdError) as caught:
        rpd.run(Corridor(), lambda seen: np.full(len(seen), np.nan), out=tmp_path / "run")
    assert "the policy" in str(caught.value)
    assert "actions of type float64 where whole numbers are needed" in str(caught.value)


@pytest.mark.parametrize("what", ["abstraction", "default_action"])
def test_a_function_that_does_not_fit_is_named_with_its_place(tmp_path: Path, what: str) -> None:
    def unfit(given: object) -> None:
        raise LookupError("nothing here")

    asked = {what: unfit, "out": tmp_path / "run", "episodes": 50}
    words = rf"the {what.replace('_', ' ')} function raised LookupError: nothing here \(test_play"
    with pytest.raises(ComponentError, match=words):
        rpd.run(Corridor(), Goes(), **asked)


def test_a_reference_whose_squares_are_no_numbers_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="reference must be a number between -1e"):
        rpd.run(Corridor(), Goes(), out=tmp_path / "run", reference=-1.7e308)
    assert not (tmp_path / "run").exists()

"""Policies that answer differently to the same question are found before they play."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from worlds import Corridor

import rpd
from rpd_core.errors import FitError


def test_a_policy_that_counts_its_calls_is_refused(tmp_path: Path) -> None:
    calls = itertools.count()

    def moody(observations: np.ndarray) -> np.ndarray:
        return np.full(len(observations), next(calls) % 2)

    with pytest.raises(FitError, match="other actions when it was asked the same twice"):
        rpd.run(Corridor(), moody, out=tmp_path / "run", episodes=50)
    assert not (tmp_path / "run" / "suite").exists()

"""The baseline that asks the policy how much it minds the default action."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import worlds
from stores import corridor, finish

from rpd_core.errors import NotOfferedError


def test_it_is_ranked_and_pruned_in_every_run_but_gives_no_headline(tmp_path: Path) -> None:
    run = finish(tmp_path, corridor(policy=worlds.Minds()))
    ranked = run.ranking("default-gap").columns
    states = run.analysis.counted.states
    cells = states.value[np.searchsorted(states.key, ranked["key"]), 0]
    assert ranked["score"].tolist() == cells.tolist() == sorted(cells.tolist(), reverse=True)
    assert "default-gap" in run.curves
    assert run.summary.policy is None or run.summary.policy.measure != "default-gap"
    named = finish(tmp_path, corridor(policy=worlds.Minds(), headline="default-gap"))
    assert named.summary.policy is not None
    assert named.summary.policy.measure == "default-gap"


def test_it_is_left_out_where_the_policy_offers_nothing(tmp_path: Path) -> None:
    notes: list[str] = []
    run = finish(tmp_path, corridor(), note=notes.append)
    assert "default-gap" in run.asked.settings.measures
    assert "default-gap" not in run.curves
    assert "default-gap" not in run.summary.thresholds["0.9"]
    assert ["default-gap" in note and note.endswith("it is left out") for note in notes] == [True]
    with pytest.raises(NotOfferedError, match=r"'default-gap' needs action values, .* use another"):
        run.ranking("default-gap")
    with pytest.raises(NotOfferedError, match="'default-gap' needs action values"):
        finish(tmp_path, corridor(headline="default-gap"))

"""What is lost without the top states, and the fidelity score."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from test_choice import ranking, session

from rpd_core.pruning.evaluation import Evaluations
from rpd_core.pruning.references import measure_references
from rpd_core.pruning.sweep import fidelity_scores, measure_deletion


def test_the_policy_without_its_top_states_stops_at_the_first_of_them(tmp_path: Path) -> None:
    """On the line without cells 4, then 4 and 1, the walk ends there: it earns 4, then 1."""
    evaluations = Evaluations(session(tmp_path, shares=(0.0, 1 / 6, 2 / 6, 1.0)))
    references = measure_references(evaluations.session, evaluations)
    order = ranking("tarantula", [4, 1, 0, 2, 3, 5])
    found = measure_deletion(evaluations, [order], references)["tarantula"]
    assert found.deleted == (0, 1, 2, 6)
    assert found.returns == (6.0, 4.0, 1.0, 0.0)
    assert found.steps == pytest.approx((0, 2 / 6, 5 / 6, 1))
    # At 20 % of the steps 0.6 of the way to a loss of 2 is lost, of 6 that can be.
    assert found.fidelity["0.2"] == pytest.approx(np.log(1.2 / 6) - np.log(0.2))


def test_fidelity_is_larger_where_more_is_lost_and_unknown_where_nothing_is() -> None:
    steps = [0.0, 0.2, 0.6, 1.0]
    sharp = fidelity_scores(steps, [10, 2, 1, 0], 10, 0)
    blunt = fidelity_scores(steps, [10, 9, 4, 0], 10, 0)
    assert sharp["0.2"] == pytest.approx(np.log(0.8 / 0.2))
    assert blunt["0.2"] == pytest.approx(np.log(0.1 / 0.2))
    assert fidelity_scores(steps, [10, 11, 12, 13], 10, 0)["0.1"] is None
    assert fidelity_scores([0, 0.25], [10, 5], 10, 0)["0.3"] is None, "it never acts so often"
    below = fidelity_scores(steps, [10, -10, -10, -10], 10, 0)
    assert below["0.2"] == pytest.approx(np.log(1 / 0.2)), "no more can be lost than is lost"

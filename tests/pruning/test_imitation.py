"""Decision trees in place of the policy: the smallest that meets a target."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from stores import contents, corridor, session_at

from rpd_core.config.settings import Request
from rpd_core.errors import StoreError
from rpd_core.pruning import imitation
from rpd_core.pruning.evaluation import Evaluations
from rpd_core.pruning.imitation import Imitation, measure_imitation


def test_one_leaf_goes_through_the_corridor_as_the_policy_does(tmp_path: Path) -> None:
    evaluations = Evaluations(session_at(tmp_path, corridor()))
    found = measure_imitation(evaluations, {0.9: 3.15, 1.5: 5.25})
    assert found[0.9] == Imitation(leaves=1, return_mean=3.5, episodes=5)
    assert found[1.5] == Imitation(None, reason="none up to 1 leaf"), "it learned to go, no more"


def test_four_leaves_keep_the_pole_up(tmp_path: Path) -> None:
    session = session_at(tmp_path, Request("cartpole", test_episodes=50))
    found = measure_imitation(Evaluations(session), {0.9: 180.0})[0.9]
    assert found.leaves == 4
    assert found.return_mean == 200.0
    assert found.episodes == 50


def test_large_observations_are_not_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imitation, "_WIDEST", 0)
    evaluations = Evaluations(session_at(tmp_path, corridor()))
    found = measure_imitation(evaluations, {0.9: 3.15})[0.9]
    assert found == Imitation(None, reason="not tried: an observation has 1 number")
    assert not evaluations.folders


def test_what_was_broken_off_goes_on_to_the_same_bytes(tmp_path: Path) -> None:
    asked, targets = Request("cartpole", test_episodes=20), {0.9: 180.0}
    whole = Evaluations(session_at(tmp_path / "whole", asked))
    answer = measure_imitation(whole, targets)
    shutil.copytree(tmp_path / "whole", tmp_path / "again")
    for record in (tmp_path / "again").glob("pruning/imitate-1-*/*.json"):
        record.unlink()
    (tmp_path / "again" / "imitation.json").unlink()
    again = Evaluations(session_at(tmp_path / "again", asked))
    assert measure_imitation(again, targets) == answer
    assert contents(tmp_path / "again", "*") == contents(tmp_path / "whole", "*")


def test_a_tree_that_was_tampered_with_is_refused(tmp_path: Path) -> None:
    session = session_at(tmp_path, corridor())
    measure_imitation(Evaluations(session), {0.9: 3.15})
    trees = (session.directory.read_json("imitation.json") or {})["trees"]
    trees[0]["turns"] = [0]
    session.directory.write_json("imitation.json", {"trees": trees})
    with pytest.raises(StoreError, match="what was learned is not a tree: delete it"):
        measure_imitation(Evaluations(session), {0.9: 3.15})


def test_long_episodes_are_thinned_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imitation, "_STEPS", 10)
    steps = imitation._Steps()
    for number in range(9):
        steps.add(np.full(3, number), np.full((3, 1), number), np.full(3, number))
    assert [part.tolist() for part in steps.actions if len(part)] == [[0] * 3, [4] * 3, [8] * 3]

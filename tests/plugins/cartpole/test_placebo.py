"""Nothing in, nothing out: the weak policy as its own default action."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import rpd
from rpd_core.pruning.stored_sweep import stored_table


@pytest.fixture(scope="module")
def placebo(tmp_path_factory: pytest.TempPathFactory) -> rpd.Run:
    return rpd.run(
        "cartpole",
        "cartpole:weak",
        default_action="policy:cartpole:weak",
        condition="auto",
        episodes=600,
        chunk=300,
        lanes=300,
        test_episodes=20,
        shares=[0, 0.05, 0.2, 0.5, 1],
        sweep="full",
        random_rankings=4,
        unmutated_episodes=50,
        confirm_episodes=50,
        out=Path(tmp_path_factory.mktemp("runs")) / "placebo",
    )


def test_every_pruned_return_equals_the_originals_exactly(placebo: rpd.Run) -> None:
    played = {
        name: stored_table(placebo.directory, folder).to_pandas()
        for name, folder in placebo.asked.evaluations.items()
        if name in ("original", "default-everywhere", *placebo.asked.sweep)
    }
    original = played["original"]["total_return"].to_numpy()
    assert len(np.unique(original)) > 5, "the weak policy's returns vary"
    assert len([name for name in played if name.startswith("random:")]) == 4
    assert {"tarantula", "default-everywhere"} <= set(played)
    for name, episodes in played.items():
        expected = original[episodes["test_episode"].to_numpy()]
        np.testing.assert_array_equal(episodes["total_return"].to_numpy(), expected, name)


def test_no_measure_beats_random_ranking(placebo: rpd.Run) -> None:
    for fraction in placebo.asked.settings.target:
        entries = placebo.summary.thresholds[f"{fraction:g}"]
        for name, entry in entries.items():
            assert entry is not None, name
            for point in (entry.fewest_states, entry.fewest_steps):
                assert (point.states, point.kept, point.steps) == (0, 0, 0), name
        policy = placebo.policy(fraction)
        assert policy is not None
        assert (policy.met, policy.kept, policy.share) == (True, 0, 1.0)


def test_the_mutant_episodes_are_the_original_ones(placebo: rpd.Run) -> None:
    """Coins were flipped, and made no difference to any action."""
    suite = placebo.suite
    assert suite.visits.mutated.any()
    assert not suite.visits.mutated.all()
    assert suite.visits.differed.sum() == 0


def test_the_risk_when_mutated_is_the_risk_when_kept(placebo: rpd.Run) -> None:
    """Per state the difference is noise: its z-scores have mean 0 and standard deviation 1."""
    spectrum = placebo.analysis.counted.spectrum
    mf, mp, kf, kp = (np.asarray(cell) for cell in vars(spectrum).values())
    enough = (mf + mp >= 50) & (kf + kp >= 50)
    assert enough.sum() >= 20
    mf, mp, kf, kp = mf[enough], mp[enough], kf[enough], kp[enough]
    pooled = (mf + kf) / (mf + mp + kf + kp)
    spread = np.sqrt(pooled * (1 - pooled) * (1 / (mf + mp) + 1 / (kf + kp)))
    z = (mf / (mf + mp) - kf / (kf + kp))[spread > 0] / spread[spread > 0]
    assert abs(z.mean()) < 5 / np.sqrt(len(z))
    assert 0.6 < z.std() < 1.4


def test_the_cut_of_auto_was_resolved_once_and_stored(placebo: rpd.Run) -> None:
    stored = placebo.directory.read_json("conditions.json")
    assert stored is not None
    cut = stored["auto"]["learned"]["cut"]
    assert placebo.summary.condition == f"return>={cut:g}"
    assert placebo.summary.condition_asked == "auto"
    assert 0.4 < placebo.summary.pass_rates.suite < 0.6

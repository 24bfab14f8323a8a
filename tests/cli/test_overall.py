"""How far a whole run is, whatever its stages do."""

from __future__ import annotations

import pytest

from rpd_core.execute.progress import Pace

PLAN = [
    ("suite", 100), ("pruning", 200), ("minimising", 300), ("confirmation", 40), ("losses", 60),
    ("minimising", 100), ("confirmation", 40), ("losses", 60),
]  # fmt: skip


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def pace(clock: Clock) -> Pace:
    made = Pace(clock)
    made.plan = PLAN
    return made


def test_without_a_plan_nothing_is_known_of_all() -> None:
    pace = Pace()
    pace.tell("suite", 5, 10)
    assert (pace.share(), pace.left_of_all()) == (None, None)


def test_all_is_what_is_done_of_what_is_expected(pace: Pace, clock: Clock) -> None:
    pace.tell("suite", 0, 100)
    assert (pace.share(), pace.left_of_all()) == (0.0, None)
    clock.now = 25.0
    pace.tell("suite", 50, 100)
    assert pace.share() == 50 / 900
    assert pace.left_of_all() == 0.5 * 850


def test_how_long_all_takes_is_told_from_a_twentieth_on_and_never_as_nothing(
    pace: Pace, clock: Clock
) -> None:
    pace.expected = 1.0
    pace.tell("suite", 0, 100)
    assert pace.left_of_all() is None, "nothing was played"
    clock.now = 10.0
    pace.tell("suite", 40, 100)
    assert pace.left_of_all() is None
    clock.now = 11.0
    pace.tell("suite", 50, 100)
    assert pace.left_of_all() == 0.22 * 850
    for name, total in PLAN:
        pace.tell(name, 0, total)
        pace.tell(name, total, total)
    assert pace.left_of_all() is None, "pictures and the page are still made"


def test_a_stage_that_begins_anew_goes_on_in_all(pace: Pace) -> None:
    pace.tell("suite", 100, 100)
    pace.tell("pruning", 200, 200)
    for _ in range(3):  # three looks of 50 episodes each
        pace.tell("minimising", 0, 50)
        stage = pace.tell("minimising", 50, 50)
    assert stage.counted == "150 episodes"
    assert pace.share() == 450 / 900
    pace.tell("confirmation", 0, 40)
    assert pace.share() == 450 / (450 + 40 + 60 + 200), "it took less than it might have"


def test_all_never_runs_backwards(pace: Pace) -> None:
    shares = []
    for name, total in [*PLAN[:4], ("minimising", 500), ("confirmation", 90), *PLAN[4:]]:
        for done in (0, total // 2, total):
            pace.tell(name, done, total)
            shares.append(pace.share())
    assert shares == sorted(shares)  # type: ignore[type-var]
    assert shares[-1] == 0.99, "not before the end"


def test_later_targets_are_still_to_come(pace: Pace) -> None:
    for name, total in PLAN[:5]:
        pace.tell(name, 0, total)
        pace.tell(name, total, total)
    assert pace.share() == 700 / 900
    pace.tell("minimising", 0, 30)
    assert pace.share() == 700 / 900
    pace.tell("minimising", 30, 30)
    assert pace.share() == 730 / 900


def test_a_stage_that_nobody_planned_is_no_progress_of_all(pace: Pace, clock: Clock) -> None:
    pace.expected = 1.0
    pace.tell("growing", 0, 150)
    clock.now = 10.0
    pace.tell("growing", 150, 150)
    clock.now = 30.0
    stage = pace.tell("growing", 0, 900)
    assert (stage.counted, pace.elapsed(stage)) == ("150 episodes", 30.0)
    assert (pace.share(), pace.left_of_all()) == (0.0, None)
    pace.tell("suite", 0, 100)
    assert pace.share() == 0.0


def test_growing_is_expected_to_take_what_it_may(pace: Pace) -> None:
    pace.plan = [("growing", 1000), ("suite", 1000)]
    pace.tell("growing", 0, 150)
    pace.tell("growing", 150, 150)
    assert (pace.share(), pace.left_of_all()) == (150 / 2000, None)
    pace.tell("suite", 0, 1000)
    assert pace.share() == 150 / 1150, "it ended early"

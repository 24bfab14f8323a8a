"""When a stage will be done."""

from __future__ import annotations

import pytest

from rpd_core.execute.progress import Pace, as_clock, in_words


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_what_is_left_follows_from_what_this_call_has_done() -> None:
    clock = Clock()
    pace = Pace(clock)
    stage = pace.tell("suite", 1000, 3000)  # found, not played now
    clock.now += 10
    assert pace.left(stage) is None
    pace.tell("suite", 1500, 3000)
    assert pace.left(stage) == 30.0
    clock.now += 12
    assert pace.left(stage) == 18.0, "the clock goes on between two parts"
    clock.now += 50
    assert pace.left(stage) == 0.0
    pace.tell("suite", 3000, 3000)
    assert pace.left(stage) == 0.0
    assert pace.elapsed(stage) == 72.0


def test_a_stage_that_begins_is_judged_by_the_quickest_before_it() -> None:
    clock = Clock()
    pace = Pace(clock)
    pace.tell("prepare", 0, 1)
    clock.now += 90
    pace.tell("prepare", 1, 1)
    assert pace.left(pace.tell("references", 0, 10)) is None, "fitting is not playing"
    clock.now += 20
    pace.tell("references", 10, 10)
    assert pace.left(pace.tell("suite", 0, 100)) == 200.0
    pace.expected = 0.5
    assert pace.left(pace.tell("suite", 0, 100)) == 50.0
    clock.now += 10
    pace.tell("suite", 100, 100)
    assert pace.left(pace.tell("pruning", 0, 100)) == 10.0


def test_a_stage_that_grows_begins_anew() -> None:
    clock = Clock()
    pace = Pace(clock)
    pace.tell("suite", 0, 10)
    clock.now += 10
    pace.tell("suite", 10, 10)
    clock.now += 100
    stage = pace.tell("suite", 10, 20)
    assert (stage.found, pace.elapsed(stage), pace.left(stage)) == (10, 0.0, 10.0)


@pytest.mark.parametrize(
    ("seconds", "words", "clock"),
    [(1.2, "1 second", "0:00:01"), (89, "89 seconds", "0:01:29"), (600, "10 minutes", "0:10:00"),
     (9000, "2.5 hours", "2:30:00")],
)  # fmt: skip
def test_times_are_said_as_people_say_them(seconds: float, words: str, clock: str) -> None:
    assert (in_words(seconds), as_clock(seconds)) == (words, clock)

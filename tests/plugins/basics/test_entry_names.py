"""What abstractions call the entries of their values, alone and in chains."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import worlds
from gymnasium import spaces

from rpd_basics.abstractions import Abs, Identity, Round, Scale, Select, View
from rpd_basics.auto import Auto
from rpd_basics.bins import Bins
from rpd_basics.clusters import Clusters
from rpd_core.errors import ComponentError
from rpd_core.play.entry_names import observed_entries
from rpd_core.plugin.chain import Chain
from rpd_core.plugin.protocols import Entry, Facts
from rpd_gym.cartpole import CartPoleGrid

FOUR = tuple(map(Entry, ("x", "speed", "angle", "spin")))
BINS = Bins((2,), edges=((0.5,), (1.0,), (), (2.0,)))


def names(*links: Any, before: tuple[Entry, ...] = FOUR) -> list[str]:
    return [entry.name for entry in Chain(links).name_entries(before)]


@pytest.mark.parametrize(
    ("links", "named"),
    [
        ((Identity(),), ["x", "speed", "angle", "spin"]),
        ((Round((1,)),), ["x", "speed", "angle", "spin"]),
        ((Select((2, 0)), Round((1,))), ["angle", "x"]),
        ((Select((1, 3)), Abs()), ["|speed|", "|spin|"]),
        ((Scale((1.0, 1.0, 0.25, 1.0)),), ["x", "speed", "0.25 * angle", "spin"]),
        ((Scale((10.0,)), Select((1,))), ["10 * speed"]),
        ((BINS, Select((3, 1))), ["spin", "speed"]),
        ((BINS, Select((0, 1)), Abs()), ["x", "speed"]),
    ],
)
def test_entries_keep_their_names_through_a_chain(links, named):
    assert names(*links) == named


@pytest.mark.parametrize(
    "links",
    [
        (View("ram"),),
        (Identity(), Clusters()),
        (worlds.Itself(), Identity()),
        (BINS, Round((0,))),
        (BINS, Scale((2.0,))),
        (BINS, BINS),
    ],
)
def test_entries_have_no_names_where_they_are_other_things_than_before(links):
    assert names(*links) == []


@pytest.mark.parametrize("link", [Identity(), Select((0,)), Round(), Scale((2.0,)), Abs(), BINS])
def test_what_had_no_names_has_none_afterwards(link):
    assert names(link, before=()) == []


def test_bins_bring_their_edges():
    assert Chain((BINS,)).name_entries(FOUR)[1] == Entry("speed", edges=(1.0,))


def test_auto_names_the_entries_that_it_chose():
    chosen = Auto(kind="vector", length=4, entries=(3, 1), edges=((0.5,), (1.0, 2.0)))
    entries = chosen.name_entries(FOUR)
    assert entries == (Entry("spin", edges=(0.5,)), Entry("speed", edges=(1.0, 2.0)))
    assert replace(chosen, length=5).name_entries(FOUR) == ()
    assert Auto(kind="picture", size=(8, 8), levels=3).name_entries(()) == ()


def test_the_entries_of_the_cartpole_are_named_as_they_are_shown():
    entries = CartPoleGrid().name_entries(())
    value = CartPoleGrid()(np.array([[1.2, -0.31, 0.12, 0.52]]), {})[0]
    shown = [f"{v * e.factor:.3g}{e.unit}" for v, e in zip(value, entries, strict=True)]
    assert shown == ["1 m", "0.3 m/s", "6.88°", "0.5 rad/s"]
    assert CartPoleGrid().show(value) == "cart 1 m, 0.3 m/s; pole 7°, 0.5 rad/s"


def test_vectors_without_names_are_numbered_and_pictures_are_not():
    facts = Facts(spaces.Box(0, 1, (2,)), spaces.Discrete(2), 1)
    assert observed_entries(facts) == (Entry("x0"), Entry("x1"))
    assert observed_entries(replace(facts, entry_names=("a", "b"))) == (Entry("a"), Entry("b"))
    assert observed_entries(replace(facts, observation_space=spaces.Box(0, 1, (2, 2)))) == ()
    assert observed_entries(replace(facts, observation_space=spaces.Discrete(3))) == ()


class Wrong(worlds.Itself):
    def name_entries(self, before: Any) -> Any:
        return ("height",)


class Raises(worlds.Itself):
    def name_entries(self, before: Any) -> Any:
        return before[7]


def test_a_strangers_names_that_are_none_are_refused_in_one_line():
    with pytest.raises(ComponentError, match=r"Wrong: its name_entries\(\) must return a tuple of"):
        names(Wrong())
    with pytest.raises(ComponentError, match=r"Raises: .* raised IndexError: tuple index out"):
        names(Raises())

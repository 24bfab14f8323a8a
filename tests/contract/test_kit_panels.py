"""Panels with one fault each, which the kit must find."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import pytest

from rpd_core.plugin.protocols import Card, Drawing, Image, PanelFacts, Polygon
from rpd_kit import check_recipe, example_view

COUNTER = itertools.count()


@dataclass(frozen=True)
class Plain:
    """Without fault: says how many decisions there are."""

    def applies(self, about: Any) -> Any:
        return True

    def hero(self, view: Any) -> Any:
        return [Drawing(9, 9, (), f"{len(view.decisions)} decisions")]


class Vague(Plain):
    def applies(self, about: Any) -> Any:
        return "yes"


class Raises(Plain):
    def hero(self, view: Any) -> Any:
        raise KeyError("nothing")


class Markup(Plain):
    def hero(self, view: Any) -> Any:
        return "<b>bold</b>"


class Fickle(Plain):
    def hero(self, view: Any) -> Any:
        return [Drawing(9, 9, (), str(next(COUNTER)))]


class Writes(Plain):
    def hero(self, view: Any) -> Any:
        view.traces.smallest.trace.reward[:] += 1
        return [Drawing(9, 9, (), "done")]


class Mute(Plain):
    def frames(self, view: Any) -> Any:
        return {0: Image(b"GIF89a", "image/gif", "")}


class Colourful(Plain):
    def hero(self, view: Any) -> Any:
        return [Drawing(9, 9, (Polygon(((0, 0), (1, 0), (1, 1)), "reddish"),), "red")]


class Stranger(Plain):
    def cards(self, view: Any) -> Any:
        return [Card("nobody", "knows it", (1,))]


class Never(Plain):
    def applies(self, about: Any) -> Any:
        return False


@dataclass(frozen=True)
class Empty:
    def applies(self, about: Any) -> Any:
        return True


def test_a_panel_without_fault_passes() -> None:
    assert check_recipe("panel", Plain()) == []


@pytest.mark.parametrize(
    ("panel", "fault"),
    [
        (Vague, "its applies() must return true or false"),
        (Raises, "its hero() raised KeyError"),
        (Markup, "hero() must return drawings"),
        (Fickle, "gave something else when asked twice"),
        (Writes, "changed the view"),
        (Mute, "an image has no alt text"),
        (Colourful, "'reddish' is no colour"),
        (Stranger, "a card stands for [1], no decision"),
        (Never, "applies to none of the kit's runs"),
        (Empty, "it has neither hero() nor frames() nor cards()"),
    ],
)
def test_the_kit_finds_the_fault(panel: Any, fault: str) -> None:
    faults = check_recipe("panel", panel())
    assert faults
    assert all(fault in line for line in faults)


def test_an_example_has_decisions_by_loss_and_losses_where_the_policy_overrides() -> None:
    view = example_view([[0.0], [1.0], [2.0], [3.0]], PanelFacts("mine", shape=(1,)))
    assert [one.loss for one in view.decisions] == [8.0, 4.0]
    trace = view.traces.smallest.steps(0)
    worth = {one.key: one.loss for one in view.decisions}
    wanted = [
        worth.get(key, 0.0) if kept and override else 0.0
        for key, kept, override in zip(
            trace.key.tolist(), trace.kept.tolist(), trace.override.tolist(), strict=True
        )
    ]
    assert view.losses(trace).tolist() == wanted
    assert {0.0, 4.0, 8.0} == {*wanted}

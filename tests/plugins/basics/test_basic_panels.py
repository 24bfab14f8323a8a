"""Panels for any environment: maps over two variables, situations, filmstrips."""

from __future__ import annotations

import dataclasses
import math
import re
from itertools import combinations

import numpy as np

from rpd_basics.panel_axes import axes_of, explained, ranked_pairs, scale_of
from rpd_basics.panels import Filmstrip, Vectors, examples
from rpd_core.plugin.protocols import (
    Bound,
    Circle,
    Entry,
    PanelFacts,
    PanelView,
    Picture,
    Polygon,
    Text,
)
from rpd_kit import example_view

ENTRIES = (Entry("tilt", "°", factor=10.0), Entry("same"), Entry("speed", " m/s"))
GRID = [[float(x), 7.0, float(y)] for x in range(6) for y in range(4)]


def view(**about: object) -> PanelView:
    facts = PanelFacts("any", entries=ENTRIES, shape=(3,), actions=("left", "right"))
    return example_view(GRID, dataclasses.replace(facts, **about))  # type: ignore[arg-type]


def test_entries_that_differ_are_axes_in_their_own_units() -> None:
    axes = axes_of(view())
    assert [axis.title for axis in axes] == ["tilt (°)", "speed (m/s)"]
    assert {*axes[0].smallest.tolist()} <= {0.0, 10.0, 20.0, 30.0, 40.0, 50.0}


def test_an_observation_stands_in_for_states_that_are_numbers_of_bins() -> None:
    turned = Entry("angle", "°", 180 / np.pi, angle_of=("tilt", "speed"))
    binned = tuple(dataclasses.replace(entry, edges=(1.0,)) for entry in ENTRIES)
    axes = axes_of(view(entries=binned, observed=(*ENTRIES, turned)))
    assert [axis.name for axis in axes] == ["angle"], "in place of its cosine and sine"
    assert axes[0].entries == (0, 2)


def test_the_pair_between_which_losses_vary_most_comes_first() -> None:
    seen = view(entries=(ENTRIES[0], Entry("noise"), ENTRIES[2]))
    chance = np.random.default_rng(0)
    axes = axes_of(seen)
    noise = dataclasses.replace(axes[0], name="noise", smallest=chance.random(30))
    losses = (axes[0].smallest > 20) * (axes[1].smallest > 1) * 5.0
    one, other = ranked_pairs([noise, *axes], losses)[0]
    assert [one.name, other.name] == ["tilt", "speed"]


def test_what_groups_explain_is_the_variance_between_them() -> None:
    losses = np.array([0.0, 0.0, 4.0, 4.0])
    assert explained(losses, np.array([0, 0, 1, 1])) == 1.0
    assert explained(losses, np.array([0, 1, 0, 1])) < 0
    assert explained(np.zeros(4), np.array([0, 0, 1, 1])) == 0.0


def test_a_cell_has_the_tone_of_its_mean_loss_and_no_evidence_is_grey() -> None:
    seen = view()
    (drawing,) = Vectors().hero(seen)
    assert drawing.name == "tilt and speed"
    fills = [one.fill for one in drawing.shapes if isinstance(one, Polygon)]
    assert fills[0] == "unknown", "the whole plane, below the cells"
    x, y = axes_of(seen)
    cells = scale_of(x).place(x.smallest) * 100 + scale_of(y).place(y.smallest)
    losses = seen.losses(seen.traces.smallest.trace)
    means = [losses[cells == cell].mean() for cell in np.unique(cells)]
    legend = 9
    assert len(fills) - 1 - legend == len(means)
    assert fills.count("paper") == sum(mean == 0 for mean in means)
    assert len(drawing.track) == len(seen.traces.smallest.steps(1))


def test_a_rule_is_a_box_in_the_units_of_the_axes() -> None:
    seen = view(entries=(), observed=ENTRIES)
    asked = Bound("tilt", (0,), 10.0, 30.0, 10.0)
    rule = dataclasses.replace(seen.decisions[0], bounds=(asked,))
    ruled = dataclasses.replace(seen, decisions=(rule, *seen.decisions[1:]))
    drawings = Vectors().hero(ruled)
    boxes = [one for one in drawings[0].shapes if isinstance(one, Polygon) and one.stroke == "ink"]
    assert len(boxes) == 1
    assert "Boxes: the rules." in drawings[0].caption
    (left, _), (right, _) = boxes[0].points[:2]
    wide = 460 - 56 - 10
    scale = scale_of(axes_of(ruled)[0])
    share = (right - left + 5) / wide
    assert abs(share - 20.0 / (scale.width * scale.count)) < 0.01
    assert Vectors().cards(ruled)[0].title == rule.state


def test_states_are_grouped_where_their_losses_differ() -> None:
    cards = Vectors().cards(view())
    assert cards == [] or all(len(card.keys) >= 3 for card in cards)
    seen = view()
    worth = tuple(
        dataclasses.replace(one, loss=9.0 if place < 6 else 1.0, needed=True)
        for place, one in enumerate(seen.decisions)
    )
    cards = Vectors().cards(dataclasses.replace(seen, decisions=worth))
    assert 2 <= len(cards) <= 4
    assert sum(len(card.keys) for card in cards) == len(
        {key for card in cards for key in card.keys}
    ), "no decision is in two groups"
    assert all(
        re.search(r"(Tilt|Speed|tilt|speed) (at least|below|[-0-9])", c.title) for c in cards
    )


def test_states_in_which_one_entry_differs_have_no_map() -> None:
    flat = example_view(
        [[1.0, 7.0], [2.0, 7.0]], PanelFacts("any", entries=ENTRIES[:2], shape=(2,))
    )
    assert Vectors().hero(flat) == []
    assert not Vectors().applies(PanelFacts("any", shape=(7, 7, 3)))


def test_a_filmstrip_shows_stored_frames_in_their_order() -> None:
    seen = view(frames=True, pictures=True)
    (drawing,) = Filmstrip().hero(seen)
    pictures = [one for one in drawing.shapes if isinstance(one, Picture)]
    assert [one.at[0] for one in pictures] == sorted(one.at[0] for one in pictures)
    assert drawing.label == "2 frames of a typical episode: steps 0, 4"
    assert Filmstrip().hero(view()) == []


def test_a_group_says_how_many_states_like_it_are_left_to_the_default() -> None:
    seen = view()
    worth = tuple(
        dataclasses.replace(one, loss=9.0 if place < 6 else 1.0, needed=True)
        for place, one in enumerate(seen.decisions)
    )
    cards = Vectors().cards(dataclasses.replace(seen, decisions=worth))
    told = [re.search(r"It decides in (\d+) of (\d+) such states", card.text) for card in cards]
    counts = [tuple(map(int, one.groups())) for one in told if one is not None]
    assert len(counts) == len(cards), "the policy decides in every second state"
    assert [kept for kept, _ in counts] == [len(card.keys) for card in cards]
    assert sum(met for _, met in counts) == len(GRID)


def test_a_state_that_is_no_place_is_shown_by_screens_of_its_steps() -> None:
    seen = view(frames=True)
    trace = seen.traces.smallest.steps(seen.traces.typical)
    first = next(one for one in seen.decisions if one.key == trace.key[0] or trace.kept[0])
    key = int(trace.key[0]) if trace.kept[0] else first.key
    mine = np.flatnonzero((trace.key == key) & trace.kept)
    frames = {int(step): seen.frames[0] for step in mine}
    drawing = examples(dataclasses.replace(seen, frames=frames), [key])
    shown = 0 if drawing is None else sum(isinstance(one, Picture) for one in drawing.shapes)
    assert shown == (min(len(mine), 3) if len(mine) > 1 else 0)


def test_an_action_without_a_name_is_called_an_action() -> None:
    seen = view(actions=())
    unnamed = tuple(dataclasses.replace(one, policy="1 80%, 0 20%", default="0")
                    for one in seen.decisions)  # fmt: skip
    cards = Filmstrip().cards(dataclasses.replace(seen, decisions=unnamed))
    assert cards[0].text == "The policy: action 1. The default action would do: action 0."
    amounts = (*unnamed[:-1], dataclasses.replace(unnamed[-1], policy="1.6±0.4"))
    cards = Filmstrip().cards(dataclasses.replace(seen, decisions=amounts))
    assert cards[0].text == "The policy: 1. The default action would do: 0."


def test_numbers_of_rules_do_not_cover_each_other() -> None:
    seen = view(entries=(), observed=ENTRIES)
    rules = tuple(
        dataclasses.replace(one, bounds=(Bound("tilt", (0,), 10.0, 30.0, 10.0),))
        for one in seen.decisions[:3]
    )
    drawing = Vectors().hero(dataclasses.replace(seen, decisions=rules))[0]
    badges = [one.at for one in drawing.shapes if isinstance(one, Circle) and one.radius > 7]
    assert len(badges) == 3
    assert min(math.dist(a, b) for a, b in combinations(badges, 2)) >= 15


def test_maps_of_two_runs_share_their_scales() -> None:
    one = view()
    two = example_view([[2 * x, 7.0, 3 * y] for x, _, y in GRID], one.about)
    (first,) = Vectors().hero(dataclasses.replace(one, beside=two))
    (second,) = Vectors().hero(dataclasses.replace(two, beside=one))
    texts = [
        [(shape.at, shape.text) for shape in each.shapes if isinstance(shape, Text)]
        for each in (first, second)
    ]
    assert texts[0] == texts[1], "the same numbers at the same places"
    (alone,) = Vectors().hero(one)
    assert [shape for shape in alone.shapes if isinstance(shape, Text)] != texts[0]

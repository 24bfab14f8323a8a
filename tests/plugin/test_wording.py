"""Numbers in words: rounded for people, and never two for one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from rpd_core.plugin.protocols import Entry
from rpd_core.plugin.wording import bin_words, cut_texts, value_words

finite = st.floats(allow_nan=False, allow_infinity=False)
cuts = st.lists(finite, unique=True).map(sorted)


@given(cuts)
def test_different_cuts_have_different_texts_in_the_same_order(numbers: list[float]) -> None:
    texts = cut_texts(numbers)
    shown = [float(text) for text in texts]
    assert len(texts) == len(numbers)
    assert shown == sorted(set(shown))


@given(cuts)
def test_a_shown_cut_is_near_the_cut_and_on_its_side_of_nothing(numbers: list[float]) -> None:
    for number, text in zip(numbers, cut_texts(numbers), strict=True):
        assert abs(float(text) - number) <= 0.1 * abs(number)


@given(st.lists(st.integers(-999, 999), unique=True), st.integers(-6, 3))
def test_cuts_of_three_digits_are_shown_as_they_are(whole: list[int], power: int) -> None:
    numbers = sorted(float(f"{one}e{power}") for one in whole)
    assert [float(text) for text in cut_texts(numbers)] == numbers


@pytest.mark.parametrize(
    ("numbers", "texts"),
    [
        ([], ()),
        ([0.02134567], ("0.0213",)),
        ([0.4, 0.6], ("0.4", "0.6")),
        ([0.99876, 0.99912], ("0.99876", "0.9991")),
        ([-0.260886, -0.209745, -0.162105], ("-0.26", "-0.21", "-0.16")),
        ([-0.0, 1234.5678], ("0", "1235")),
        ([0.99981], ("0.9998",)),
        ([-7.0004, 30.0], ("-7.0004", "30")),
        ([200_000.0, 123_456_789.0], ("200000", "1.2e+08")),
        ([1.0, 1.0000000000000002], ("1", "1.0000000000000002")),
    ],
)
def test_cuts_have_as_few_digits_as_tell_neighbours_apart(numbers, texts) -> None:
    assert cut_texts(numbers) == texts


@given(
    st.sampled_from([np.float16, np.float32, np.float64, np.int8, np.int64, np.bool_]).flatmap(
        lambda kind: arrays.arrays(
            kind, (2, 3), elements={"allow_nan": False} if kind().dtype.kind == "f" else None
        )
    ),
    st.sampled_from([(), (Entry("x0"), Entry("x1"), Entry("x2")), tuple(map(Entry, "abc"))]),
)
def test_different_values_have_different_words(pair, entries) -> None:
    one, other = (np.where(row == 0, 0, row).astype(row.dtype) for row in pair)
    same = bool((one == other).all())
    assert (value_words(one, entries) == value_words(other, entries)) == same


def test_long_values_that_differ_at_the_end_have_different_words() -> None:
    zeros, last = np.zeros(200), np.eye(200)[199]
    assert value_words(zeros).startswith("0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, ... (200 numbers, ")
    assert value_words(zeros) != value_words(last)


def test_entries_are_called_by_their_names_units_and_bins() -> None:
    entries = (
        Entry("speed", " m/s"),
        Entry("tilt", "°", factor=100.0, digits=0),
        Entry("spin", " rad", factor=2.0),
        Entry("height", " m", edges=(0.123456, 0.5)),
    )
    value = np.array([0.3, 0.071, 0.25, 1.0])
    assert value_words(value, entries) == (
        "speed 0.3 m/s, tilt 7°, spin 0.5 rad, 0.12 m <= height < 0.5 m"
    )
    assert [bin_words(entries[3], place) for place in (0, 2)] == [
        "height < 0.12 m",
        "height >= 0.5 m",
    ]


def test_places_alone_are_not_worth_a_word_but_chosen_places_are() -> None:
    value = np.array([0.5, 2.0], dtype=np.float32)
    assert value_words(value, (Entry("x0"), Entry("x1"))) == "0.5, 2"
    assert value_words(value, (Entry("x2"), Entry("x5"))) == "x2 0.5, x5 2"
    assert value_words(value, (Entry("x2"),)) == "0.5, 2"

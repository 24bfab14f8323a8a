"""Abstractions of vectors and pictures, by themselves and in chains."""

from __future__ import annotations

import json
import tracemalloc

import numpy as np
import pytest

from rpd_core.chance import canonical, state_keys
from rpd_core.errors import FitError, RpdError, SpecError
from rpd_core.play.loop import Recipe
from rpd_core.play.prepare import fitted_fields, restore_fitted
from rpd_core.plugin.chain import Chain
from rpd_core.plugin.protocols import Facts, FitSample
from rpd_core.plugin.registry import installed

ROWS = np.array([[0.04, -1.26, 2.0], [-0.04, 1.25, 3.5]])
SCREENS = np.arange(2 * 4 * 6 * 3).reshape(2, 4, 6, 3).astype(np.uint8)


def make(*specs: str) -> Chain:
    return Chain(tuple(installed().make("abstraction", spec) for spec in specs))


def sample(values, episodes=None, seed: int = 0) -> FitSample:
    count = len(next(iter(values.values())) if isinstance(values, dict) else values)
    episodes = np.zeros(count, dtype=np.int64) if episodes is None else episodes
    return FitSample(values, {}, episodes, np.zeros(count), Facts(None, None, 1), seed, 2000, 0.2)


@pytest.mark.parametrize(
    ("specs", "expected"),
    [
        (["identity"], ROWS.tolist()),
        (["select:2+0"], [[2.0, 0.04], [3.5, -0.04]]),
        (["round:1"], [[0.0, -1.3, 2.0], [0.0, 1.2, 3.5]]),
        (["round:0+1+0"], [[0.0, -1.3, 2.0], [0.0, 1.2, 4.0]]),
        (["scale:1+2+0.5", "abs"], [[0.04, 2.52, 1.0], [0.04, 2.5, 1.75]]),
    ],
)
def test_vectors(specs: list[str], expected) -> None:
    np.testing.assert_allclose(make(*specs)(ROWS, {}), expected, atol=1e-12)


def test_rounding_knows_no_negative_zero() -> None:
    assert not np.signbit(make("round:1")(ROWS, {})[:, 0]).any()


def test_single_numbers_and_dicts_are_joined_to_vectors() -> None:
    parts = {"b": np.array([5, 6]), "a": np.array([[1.0, 2.0], [3.0, 4.0]])}
    assert make("round:0")(parts, {}).tolist() == [[1, 2, 5], [3, 4, 6]]
    assert make("identity")(parts, {}).tolist() == [[1, 2, 5], [3, 4, 6]]
    assert make("abs")(np.array([-3, 2]), {}).tolist() == [[3], [2]]


def test_shapes_of_dicts_are_told_in_the_order_in_which_entries_are_numbered() -> None:
    parts = {"pos": np.zeros(2), "b": np.zeros((2, 3))}
    with pytest.raises(FitError, match=r"got shape {b: \(3,\), pos: \(\)}: for vectors there are"):
        make("grey")(parts, {})


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("select:3", r"entry 3 of vectors of shape \(3,\): entries go from 0 to 2"),
        ("scale:1+2", "scale has 2 factors for vectors of 3: give 1 or 3"),
        ("round:1+2", "round has 2 digits for vectors of 3: give 1 or 3"),
    ],
)
def test_vectors_of_another_length_are_refused_with_what_would_do(spec: str, told: str) -> None:
    with pytest.raises(FitError, match=told):
        make(spec)(ROWS, {})


def test_an_entry_that_is_scaled_away_is_nothing_even_if_it_was_infinite() -> None:
    rows = np.array([[np.inf, 2.0]])
    assert make("scale:0+3")(rows, {}).tolist() == [[0.0, 6.0]]
    assert make("scale:0")(rows, {}).tolist() == [[0.0, 0.0]]


def test_the_smallest_of_small_integers_has_an_absolute_value() -> None:
    for dtype in (np.int8, np.int16, np.int32):
        smallest = np.iinfo(dtype).min
        assert make("abs")(np.array([[smallest, 3]], dtype), {}).tolist() == [[-smallest, 3]]
    assert make("abs")(np.array([[200]], np.uint8), {}).dtype == np.uint8


def test_grey_takes_the_luminance_of_colours_and_the_newest_of_a_stack() -> None:
    colours = np.array([[[[255, 0, 0], [0, 255, 0]], [[0, 0, 255], [255, 255, 255]]]], np.uint8)
    assert make("grey")(colours, {}).tolist() == [[[76, 150], [29, 255]]]
    first = np.moveaxis(colours, 3, 1)
    assert make("grey")(first, {}).tolist() == [[[76, 150], [29, 255]]]
    stack = np.zeros((1, 4, 8, 9), dtype=np.uint8)
    stack[:, 3] = 7
    assert (make("grey")(stack, {}) == 7).all()
    last = np.moveaxis(stack, 1, 3)  # as stable-baselines3 stacks them
    assert (make("grey")(last, {}) == 7).all()
    six = np.concatenate([np.zeros_like(colours), colours], axis=3).repeat(5, axis=1)
    assert make("grey")(six, {})[0, ::5].tolist() == [[76, 150], [29, 255]]
    with pytest.raises(FitError, match=r"got shape \(20, 30, 40\)"):
        make("grey")(np.zeros((1, 20, 30, 40)), {})


@pytest.mark.parametrize(
    ("value", "dtype"), [(-5, np.int8), (5_000_000, np.int32), (60_000, np.uint16)]
)
def test_grey_of_one_grey_in_all_colours_is_that_grey(value: int, dtype: type) -> None:
    grey = make("grey")(np.full((1, 2, 2, 3), value, dtype), {})
    assert grey.dtype == dtype
    assert (grey == value).all()


def test_of_any_number_of_stacked_colour_pictures_the_last_is_taken() -> None:
    stack = np.zeros((1, 20, 20, 12), dtype=np.uint8)
    stack[..., 9] = 255
    assert (make("grey")(stack, {}) == 76).all()


def test_levels_refuse_a_pixel_that_is_no_number() -> None:
    picture = np.array([[[0.5, 0.5]], [[0.5, np.nan]]])
    for spec in ("levels:9", "levels:9,span=-1+1"):
        with pytest.raises(FitError, match=r"levels cannot take nan at \(0, 1\)"):
            make(spec)(picture, {})
    assert make("levels:9,span=-1+1")(np.array([[[np.inf, -np.inf]]]), {}).tolist() == [[[8, 0]]]


def test_levels_refuse_pictures_whose_white_is_not_known() -> None:
    for picture in (np.full((1, 2, 2), 200), np.full((1, 2, 2), 200.0)):
        with pytest.raises(FitError, match=r"from 200 to 200: give the values of black"):
            make("levels:9")(picture, {})
        assert (make("levels:9,span=0+255")(picture, {}) == 7).all()
    assert (make("levels:9")(np.full((1, 2, 2), 0.8), {}) == 7).all()


def test_parts_of_a_tuple_are_joined_by_number() -> None:
    parts = {str(number): np.array([number]) for number in (10, 9, 2, 0)}
    assert make("identity")(parts, {}).tolist() == [[0, 2, 9, 10]]
    odd = {"²": np.array([3]), "a": np.array([2]), "1": np.array([1])}  # a square is no number
    assert make("identity")(odd, {}).tolist() == [[1, 2, 3]]


def test_crop_resize_and_levels_make_a_small_coarse_picture() -> None:
    grey = np.zeros((1, 6, 8), dtype=np.uint8)
    grey[0, 2:4, 2:5] = 255
    assert make("crop:2+4+2+6")(grey, {}).tolist() == [[[255, 255, 255, 0]] * 2]
    small = make("crop:2+4+2+6", "resize:1+2")(grey, {})
    assert small.tolist() == [[[255, 128]]]  # 127.5 is rounded up
    assert make("crop:2+4+2+6", "resize:1+2", "levels:9")(grey, {}).tolist() == [[[8, 4]]]
    assert make("resize:2+2,method=max")(grey, {}).tolist() == [[[255, 255], [255, 255]]]


def test_crop_keeps_colours_and_stacks_at_the_last_axis() -> None:
    assert make("crop:1+3+2+5")(SCREENS, {}).tolist() == SCREENS[:, 1:3, 2:5].tolist()
    assert make("crop:0+84+0+40")(np.zeros((1, 84, 84, 4)), {}).shape == (1, 84, 40, 4)
    stack = np.zeros((1, 4, 84, 84))
    assert make("grey", "crop:0+4+0+40")(stack, {}).shape == (1, 4, 40)


def test_what_the_advice_on_dicts_with_pictures_says_works() -> None:
    values = {"b": SCREENS, "a": np.array([[0.26], [0.14]])}
    rounded = make("identity", "round:1")(values, {})
    assert rounded.shape == (2, 1 + 4 * 6 * 3)
    assert rounded[:, 0].tolist() == [0.3, 0.1]


def test_averages_are_right_where_pixels_are_cut() -> None:
    grey = np.array([[[10, 20, 40]]], dtype=np.uint8)
    assert make("resize:1+2")(grey, {}).tolist() == [[[13, 33]]]  # (10 + 20/2) / 1.5 = 13.33
    floats = np.array([[[0.0, 1.0, 1.0]]])
    np.testing.assert_allclose(make("resize:1+2")(floats, {}), [[[1 / 3, 1.0]]])
    assert make("resize:1+2", "levels:3")(floats, {}).tolist() == [[[1, 2]]]


def test_a_view_takes_the_place_of_the_observation() -> None:
    chain = make("view:screen", "grey", "resize:2+3")
    assert chain.needs == ("screen",)
    assert chain(ROWS, {"screen": SCREENS}).shape == (2, 2, 3)


@pytest.mark.parametrize(
    ("spec", "values", "both"),
    [
        ("round:1", SCREENS, ("(n,)", "(4, 6, 3)", "with grey, resize and levels, or use")),
        ("round:1", {"a": SCREENS}, ("{a: (4, 6, 3)}", "--abstraction identity first")),
        ("select:0", {"a": SCREENS}, ("{a: (4, 6, 3)}", "or use clusters or auto")),
        ("select:0", SCREENS, ("(n,)", "(4, 6, 3)")),
        ("select:3", ROWS, ("entry 3", "(3,)")),
        ("scale:1+2", ROWS, ("2 factors", "3")),
        ("grey", ROWS, ("(height, width)", "(3,)")),
        ("resize:2+2", ROWS, ("(height, width)", "(3,)")),
        ("resize:2+2", SCREENS, ("make it grey first", "(4, 6, 3)")),
        ("resize:9+9", SCREENS[..., 0], ("(9, 9)", "(4, 6)")),
        ("crop:0+9+0+2", SCREENS, ("[0, 9, 0, 2]", "(4, 6, 3)")),
        ("crop:0+4+0+40", np.zeros((1, 4, 84, 84)), ("make it grey first", "(4, 84, 84)")),
        ("crop:0+3+0+40", np.zeros((1, 3, 84, 84)), ("make it grey first", "(3, 84, 84)")),
        ("levels:3", {"a": ROWS}, ("(height, width)", "{a: (3,)}")),
        ("bins:3", ROWS, ("not fitted", "(3,)")),
        ("auto", ROWS, ("not fitted", "(3,)")),
    ],
)
def test_a_shape_that_does_not_fit_is_said_in_one_line(spec: str, values, both) -> None:
    with pytest.raises(FitError) as caught:
        make(spec)(values, {})
    assert all(words in str(caught.value) for words in both)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "spec", ["bins:0", "crop:1+2+3", "crop:4+4+0+2", "resize:3", "levels:1",
             "levels:9,span=0+inf", "clusters:1", "auto:0", "auto:mutation_rate=2", "select:+"],
)  # fmt: skip
def test_parameters_out_of_range_are_refused(spec: str) -> None:
    with pytest.raises(RpdError):
        make(spec)


def test_quantile_bins_are_equally_full_and_uniform_ones_equally_wide() -> None:
    even = np.stack([np.arange(1000) / 1000, np.tile([3.0, 7.0], 500)], axis=1)
    quantile = make("bins:4").links[0].fit(sample(even))
    assert np.bincount(quantile(even, {})[:, 0]).tolist() == [250] * 4
    assert np.unique(quantile(even, {})[:, 1]).tolist() == [0, 1]  # two values, two bins
    column = even[:, 0] ** 3
    rows = np.stack([column, even[:, 1]], axis=1)
    uniform = make("bins:4+2,kind=uniform").links[0].fit(sample(rows))
    np.testing.assert_allclose(uniform.edges[0], np.array([0.25, 0.5, 0.75]) * column.max())
    far = np.array([[-9.0, 3.0], [9.0, 7.0]])
    assert uniform(far, {}).tolist() == [[0, 0], [3, 1]]
    assert uniform.show(np.array([0, 1])).startswith("x0 < 0.25, ")


def test_a_value_that_most_steps_have_gets_a_bin_of_its_own() -> None:
    rare = np.linspace(0.5, 1.5, 300)
    for column in (np.r_[np.zeros(700), rare], np.r_[rare - 2, np.zeros(700)]):
        fitted = make("bins:2").links[0].fit(sample(column[:, None]))
        bins = fitted(column[:, None], {})[:, 0]
        assert len(set(bins[column == 0])) == 1
        assert set(bins[column == 0]).isdisjoint(bins[column != 0])


def test_nothing_is_learned_from_infinity() -> None:
    rows = np.array([[0.0, 1.0], [1.0, np.inf]])
    for spec in ("bins:2", "clusters:2", "auto"):
        with pytest.raises(
            FitError, match=f"{spec.split(':')[0]} cannot learn from inf in entry 1"
        ):
            make(spec).links[0].fit(sample(rows))


def test_vectors_without_entries_are_one_state() -> None:
    rows = np.zeros((40, 0), dtype=np.float32)
    for spec in ("bins:4", "clusters:3", "auto", "identity", "round:1"):
        link = make(spec).links[0]
        fitted = link.fit(sample(rows, np.arange(40) // 4)) if hasattr(link, "fit") else link
        assert len(np.unique(state_keys(canonical(fitted(rows, {}))))) == 1
    assert make("auto").links[0].fit(sample(rows, np.arange(40) // 4)).identified == 1


def test_clusters_of_large_pictures_are_learned_from_fewer_steps() -> None:
    """All 2000 steps as floats would take 338 MB, and several times that on the way."""
    bright = np.repeat(np.arange(4), 500)
    screens = np.zeros((2000, 84, 84, 3), dtype=np.uint8)
    screens[:] = (60 * bright)[:, None, None, None]
    asked = sample({"screen": screens, "bright": bright.astype(np.float32)[:, None]})
    tracemalloc.start()
    fitted = make("clusters:4").links[0].fit(asked)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 900 * 2**20
    few = {"screen": screens[::500], "bright": np.arange(4.0)[:, None]}
    assert len(np.unique(fitted(few, {}))) == 4


def test_clusters_find_separate_groups_and_repeat_for_a_seed() -> None:
    generator = np.random.default_rng(1)
    centres = np.array([[0.0, 0.0], [100.0, 1.0], [0.0, 1.0]])
    rows = np.repeat(centres, 50, axis=0) + generator.normal(0, 0.01, (150, 2)) * [100, 1]
    fitted = make("clusters:3").links[0].fit(sample(rows))
    labels = fitted(rows, {})[:, 0].reshape(3, 50)
    assert (labels == labels[:, :1]).all()
    assert len(np.unique(labels)) == 3
    assert fitted == make("clusters:3").links[0].fit(sample(rows))
    assert "around" in fitted.show(fitted(rows, {})[0])


@pytest.mark.parametrize("constant", [0.1, 1 / 3, 1e9])
def test_a_constant_entry_does_not_disturb_clusters(constant: float) -> None:
    groups = np.repeat([0.0, 10.0, 20.0], 1000) + np.random.default_rng(0).normal(0, 1, 3000) * 0.1
    rows = np.stack([groups, np.full(3000, constant)], axis=1)
    fitted = make("clusters:3").links[0].fit(sample(rows))
    assert [len(np.unique(part)) for part in np.split(fitted(rows, {})[:, 0], 3)] == [1, 1, 1]
    assert len(np.unique(fitted(rows, {}))) == 3
    far = rows + np.array([1e9, 0.0])  # far from zero as well
    moved = make("clusters:3").links[0].fit(sample(far))
    assert len(np.unique(moved(far, {}))) == 3
    number = fitted(rows, {})[1500]
    assert fitted.show(number).endswith(f"{constant:g}")


def test_one_row_alone_falls_into_the_same_state_as_in_a_batch() -> None:
    rows = np.random.default_rng(0).normal(size=(500, 3))
    for spec in ("bins:5", "clusters:20", "auto"):
        fitted = make(spec).links[0].fit(sample(rows, np.arange(500) // 10))
        whole = fitted(rows, {})
        for number in range(0, 500, 97):
            np.testing.assert_array_equal(fitted(rows[number : number + 1], {})[0], whole[number])


@pytest.mark.parametrize("spec", ["bins:4", "clusters:5", "auto"])
def test_what_was_learned_survives_being_stored(spec: str) -> None:
    rows = np.random.default_rng(0).normal(size=(200, 2))
    chain = Chain((make(spec).links[0].fit(sample(rows, np.arange(200) // 10)),))
    recipe = Recipe(None, None, chain, None, lanes=1, max_steps=1)  # type: ignore[arg-type]
    stored = json.loads(json.dumps(fitted_fields(recipe)))
    assert restore_fitted(make(spec), stored) == chain


# ------------------------------------------------------------------------------ pictures drawn


def drawn(spec: str, value) -> np.ndarray:
    picture = installed().make("abstraction", spec).draw(np.asarray(value))
    assert picture.dtype == np.uint8
    return picture


def test_a_grey_picture_is_drawn_as_it_is() -> None:
    grey = np.arange(6, dtype=np.uint8).reshape(2, 3) * 50
    for spec in ("grey", "crop:0+2+0+3", "resize:2+3"):
        picture = drawn(spec, grey)
        assert picture.shape == (2, 3, 3)
        assert picture[1].tolist() == [[150] * 3, [200] * 3, [250] * 3]


def test_a_part_of_a_coloured_picture_keeps_its_colours() -> None:
    coloured = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    assert drawn("crop:0+2+0+2", coloured).tolist() == coloured.tolist()


@pytest.mark.parametrize(
    ("value", "pixels"),
    [
        ([[0.0, 0.5, 1.0]], [0, 128, 255]),
        ([[False, True, True]], [0, 255, 255]),
        ([[-2.0, 0.0, 6.0]], [0, 64, 255]),
        ([[1000, 1000, 1000]], [0, 0, 0]),
    ],
)
def test_pictures_of_other_numbers_run_from_black_to_white(value, pixels) -> None:
    assert drawn("resize:1+3", value)[0].tolist() == [[pixel] * 3 for pixel in pixels]


@pytest.mark.parametrize(("count", "pixels"), [(9, [0, 31, 255]), (2, [0, 255, None])])
def test_levels_are_drawn_from_black_to_white(count: int, pixels) -> None:
    levels = [0, 1, 8][: 3 if count == 9 else 2]
    picture = drawn(f"levels:{count}", np.array([levels], dtype=np.uint8))
    assert picture[0, :, 0].tolist() == [pixel for pixel in pixels if pixel is not None]


@pytest.mark.parametrize(
    ("kind", "spec", "words"),
    [
        (
            "abstraction",
            f"auto:visits={10**400}",
            r"auto: visits must lie in 1\.\.10+, got 1",
        ),
        ("abstraction", f"auto:episodes={10**30}", r"auto: episodes must lie in 1\.\.1000000000"),
        ("abstraction", "auto:visits=0", r"auto: visits must lie in 1\.\.1000000000, got 0"),
        ("abstraction", "levels:9,span=-1e308+1e308", r"span takes black\+white"),
        ("condition", "return>=nan", "return: bound must be a number, got nan"),
        ("condition", "length<nan", "length: bound must be a number, got nan"),
        ("condition", "info:won,at_least=nan", "info: at_least must be a number, got nan"),
        ("measure", f"random:seed={2**63}", r"random: seed must lie in 0\.\.2\*\*63 - 1"),
        ("measure", "random:seed=-1", r"random: seed must lie in 0\.\.2\*\*63 - 1, got -1"),
    ],
)
def test_silly_numbers_are_refused_in_one_line(kind: str, spec: str, words: str) -> None:
    with pytest.raises(SpecError, match=words) as caught:
        installed().make(kind, spec)
    assert "\n" not in str(caught.value)

"""Keys and draws: distinct, uniform, independent, and the same for ever."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from rpd_core.chance import (
    Domain,
    Draws,
    Phase,
    canonical,
    combine,
    domain_keys,
    environment_seeds,
    episode_keys,
    mix,
    state_keys,
    to_unit,
    word,
)
from rpd_core.errors import FitError

ROWS = 200_000


def key(values: object, dtype: object = np.float64) -> int:
    return int(state_keys(canonical(np.array([values], dtype=dtype)))[0])


# A change of any of these numbers makes every stored suite unreadable as what it was.
def test_keys_never_change() -> None:
    assert key([1.0, 2.0]) == GOLDEN["float64"]
    assert key([1, 2], np.int64) == GOLDEN["int64"]
    assert key([True, False, True], np.bool_) == GOLDEN["bool"]
    assert key(np.arange(12).reshape(3, 4), np.uint8) == GOLDEN["picture"]


def test_identities_seeds_and_draws_never_change() -> None:
    episodes = episode_keys(7, Phase.SUITE, np.arange(2))
    assert episodes.tolist() == GOLDEN["episodes"]
    assert environment_seeds(episodes).tolist() == GOLDEN["seeds"]
    draws = Draws(domain_keys(episodes, Domain.POLICY), np.array([3, 4]))
    assert draws.uniform()[:, 0].tolist() == GOLDEN["uniform"]
    assert draws.normal()[:, 0] == pytest.approx(GOLDEN["normal"], rel=1e-14)


def test_mixing_is_the_splitmix_finaliser() -> None:
    # First output of SplitMix64 for the seeds 0 and 1234567, as published with the generator.
    assert int(mix(word(0))[0]) == 0xE220A8397B1DCDAF
    assert int(mix(word(1234567))[0]) == 6457827717110365317


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
@pytest.mark.parametrize("shape", [(5, 3), (5, 4), (5, 40), (5, 2, 3), (5,)])
def test_keys_do_not_depend_on_the_order_in_memory(shape: tuple[int, ...], dtype: Any) -> None:
    values = np.random.default_rng(0).integers(200, size=shape).astype(dtype)
    keys = state_keys(values)
    assert np.array_equal(state_keys(np.asfortranarray(values)), keys)
    assert np.array_equal(state_keys(np.repeat(values, 2, axis=0)[::2]), keys)
    assert [int(state_keys(row[None])[0]) for row in values] == keys.tolist()


def test_keys_differ_by_dtype() -> None:
    dtypes = (np.int8, np.uint8, np.int16, np.int32, np.int64, np.uint64, np.float32, np.float64)
    assert len({key([1, 0], dtype) for dtype in dtypes}) == len(dtypes)
    assert key([True, False], np.bool_) != key([1, 0], np.uint8)


def test_keys_differ_by_shape() -> None:
    flat = np.arange(6, dtype=np.uint8)
    shapes = [(6,), (2, 3), (3, 2), (1, 6), (6, 1)]
    assert len({key(flat.reshape(shape), np.uint8) for shape in shapes}) == len(shapes)


def test_keys_differ_by_place() -> None:
    assert key([1.0, 2.0]) != key([2.0, 1.0])
    wide = np.zeros((40, 40))
    np.fill_diagonal(wide, 1.0)
    assert len(np.unique(state_keys(wide))) == 40


def test_keys_of_padded_rows_differ_by_length() -> None:
    assert len({key([0] * length, np.uint8) for length in range(1, 20)}) == 19


def test_minus_zero_is_zero() -> None:
    for dtype in (np.float16, np.float32, np.float64):
        assert key([-0.0, 1.0], dtype) == key([0.0, 1.0], dtype)


def test_every_nan_is_the_same() -> None:
    words = {np.float16: np.uint16, np.float32: np.uint32, np.float64: np.uint64}
    for dtype, unsigned in words.items():
        plain = np.array([np.nan, 1.0], dtype)
        odd = plain.copy()
        odd.view(unsigned)[0] += 1  # another payload
        for other in (odd, np.copysign(plain, -1.0) * [1, -1]):
            assert key(other, dtype) == key(plain, dtype)
        assert key(plain, dtype) != key([0.0, 1.0], dtype)
    values = np.array([-np.nan, 2.0])
    canonical(values)
    assert np.signbit(values[0]), "what was given is left alone"


def test_a_strided_batch_has_the_keys_of_its_copy() -> None:
    wide = np.arange(40.0).reshape(5, 8)
    np.testing.assert_array_equal(state_keys(wide[:, ::2]), state_keys(wide[:, ::2].copy()))
    np.testing.assert_array_equal(state_keys(wide.T), state_keys(wide.T.copy()))


@given(
    hnp.arrays(np.float64, (7, 3), elements=st.integers(-3, 3)),
    st.permutations(range(7)),
)
def test_a_row_depends_on_itself_alone(values: np.ndarray, order: list[int]) -> None:
    np.testing.assert_array_equal(
        state_keys(canonical(values))[order], state_keys(canonical(values[order]))
    )


def test_narrow_and_wide_rows_are_summed_alike() -> None:
    """Both ways of adding up give the sum of the salted words, so widths 16 and 17 only differ."""
    for width in (15, 16, 17, 18):
        values = np.random.default_rng(width).integers(0, 9, (100, width))
        single = np.concatenate([state_keys(values[i : i + 1]) for i in range(100)])
        np.testing.assert_array_equal(state_keys(values), single)
        assert len(np.unique(single)) == 100


def all_differ(keys: np.ndarray) -> bool:
    ordered = np.sort(keys)
    return bool((ordered[1:] != ordered[:-1]).all())


@pytest.mark.parametrize("dtype", [np.float64, np.int64, np.uint8])
def test_a_grid_of_a_million_states_has_no_collision(dtype: type) -> None:
    side = np.arange(100)
    grid = np.stack(np.meshgrid(side, side, side, indexing="ij"), axis=-1).reshape(-1, 3)
    assert all_differ(state_keys(grid.astype(dtype)))


def test_a_grid_of_tenths_has_no_collision() -> None:
    side = np.round(np.arange(-15, 16) / 10, 1)
    grid = np.stack(np.meshgrid(side, side, side, side, indexing="ij"), axis=-1).reshape(-1, 4)
    assert all_differ(state_keys(canonical(grid)))


def test_values_that_are_no_numbers_are_refused() -> None:
    for values in (np.array([["a"]]), np.array([[1 + 2j]]), np.array([[None]])):
        with pytest.raises(FitError, match="truth values, integers or floats"):
            canonical(values)


def assert_uniform(unit: np.ndarray) -> None:
    """Check mean and the counts of 64 boxes, each within 5 standard errors."""
    assert unit.min() >= 0
    assert unit.max() < 1
    count = len(unit)
    assert abs(unit.mean() - 0.5) < 5 * np.sqrt(1 / 12 / count)
    boxes = np.bincount((unit * 64).astype(int), minlength=64)
    assert np.abs(boxes - count / 64).max() < 5 * np.sqrt(count / 64)


def lanes(domain: Domain, phase: Phase = Phase.SUITE, within: int = 0) -> Draws:
    roots = domain_keys(episode_keys(0, phase, np.arange(ROWS)), domain)
    return Draws(roots, np.full(ROWS, within))


@pytest.mark.parametrize("domain", list(Domain))
def test_draws_are_uniform_over_episodes(domain: Domain) -> None:
    assert_uniform(lanes(domain).uniform()[:, 0])


def test_draws_are_uniform_over_steps_and_over_columns() -> None:
    root = domain_keys(episode_keys(3, Phase.SUITE, np.arange(1)), Domain.POLICY)
    steps = Draws(np.repeat(root, ROWS), np.arange(ROWS))
    assert_uniform(steps.uniform()[:, 0])
    assert_uniform(Draws(root, np.zeros(1, dtype=int)).uniform(ROWS)[0])


def correlation(one: np.ndarray, two: np.ndarray) -> float:
    return float(abs(np.corrcoef(one, two)[0, 1]))


INDEPENDENT = 5 / np.sqrt(ROWS)


def test_domains_are_independent() -> None:
    drawn = [lanes(domain).uniform()[:, 0] for domain in Domain]
    for place, one in enumerate(drawn):
        for two in drawn[:place]:
            assert correlation(one, two) < INDEPENDENT


def test_phases_steps_columns_and_purposes_are_independent() -> None:
    base = lanes(Domain.POLICY)
    columns = base.uniform(2)
    others = [
        columns[:, 1],
        lanes(Domain.POLICY, Phase.TEST).uniform()[:, 0],
        lanes(Domain.POLICY, within=1).uniform()[:, 0],
        base.split(0).uniform()[:, 0],
        base.split(1).uniform()[:, 0],
        base.split(0).split(0).uniform()[:, 0],
        base.normal()[:, 0],
        base.choose(np.ones((ROWS, 16))),
    ]
    for other in others:
        assert correlation(columns[:, 0], other) < INDEPENDENT
    assert correlation(others[3], others[4]) < INDEPENDENT


def test_neighbouring_episodes_and_seeds_are_independent() -> None:
    unit = lanes(Domain.COIN).uniform()[:, 0]
    assert correlation(unit[1:], unit[:-1]) < INDEPENDENT
    other = to_unit(episode_keys(1, Phase.SUITE, np.arange(ROWS)))
    assert correlation(to_unit(episode_keys(0, Phase.SUITE, np.arange(ROWS))), other) < INDEPENDENT


def test_episodes_of_different_phases_parts_and_seeds_differ() -> None:
    index = np.arange(1000)
    sets = [
        episode_keys(seed, phase, index, part)
        for seed in (0, 1)
        for phase in Phase
        for part in (0, 1)
    ]
    assert len(np.unique(np.concatenate(sets))) == 1000 * len(sets)


def test_environment_seeds_fit_into_31_bits_and_differ() -> None:
    seeds = environment_seeds(episode_keys(0, Phase.SUITE, np.arange(10_000)))
    assert seeds.min() >= 0
    assert seeds.max() < 2**31
    assert len(np.unique(seeds)) > 9_970


def test_the_order_of_a_pair_matters() -> None:
    assert combine(word(1), word(2)) != combine(word(2), word(1))


def test_draws_are_the_same_at_every_call_and_depend_on_their_own_row() -> None:
    draws = lanes(Domain.POLICY)
    np.testing.assert_array_equal(draws.uniform(3), draws.uniform(3))
    np.testing.assert_array_equal(draws.uniform(3)[:, :1], draws.uniform(1))
    alone = Draws(draws.roots[5:6], draws.within[5:6])
    np.testing.assert_array_equal(alone.uniform(3)[0], draws.uniform(3)[5])


def test_normal_draws_have_the_moments_of_a_normal() -> None:
    drawn = lanes(Domain.POLICY).normal(2)
    for column in drawn.T:
        assert abs(column.mean()) < 5 / np.sqrt(ROWS)
        assert abs(column.var() - 1) < 5 * np.sqrt(2 / ROWS)
        assert abs((column**3).mean()) < 5 * np.sqrt(15 / ROWS)
        assert abs((np.abs(column) < 1.959964).mean() - 0.95) < 5 * np.sqrt(0.05 * 0.95 / ROWS)
    assert correlation(drawn[:, 0], drawn[:, 1]) < INDEPENDENT


def test_choices_follow_their_probabilities_even_when_these_do_not_sum_to_one() -> None:
    wanted = np.array([0.0, 2.0, 1.0, 0.0, 5.0, 0.0])
    drawn = lanes(Domain.POLICY).choose(np.tile(wanted, (ROWS, 1)))
    share = np.bincount(drawn, minlength=6) / ROWS
    assert share[[0, 3, 5]].tolist() == [0, 0, 0]
    np.testing.assert_allclose(share, wanted / 8, atol=5 * np.sqrt(0.25 / ROWS))


def test_a_certain_choice_is_always_made() -> None:
    certain = np.eye(4)[np.arange(ROWS) % 4]
    np.testing.assert_array_equal(lanes(Domain.POLICY).choose(certain), np.arange(ROWS) % 4)


GOLDEN: dict[str, Any] = {
    "float64": 8473158945013015439,
    "int64": 3930495305041912527,
    "bool": 8770499476461556798,
    "picture": 17165247636780950426,
    "episodes": [8241340355951148170, 7510463073256024858],
    "seeds": [1304044645, 1493248730],
    "uniform": [0.2601684015053307, 0.20108072837738067],
    "normal": [-0.11534136791948564, 0.29755269058328987],
}

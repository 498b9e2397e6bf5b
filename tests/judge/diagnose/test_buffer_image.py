"""The image of a buffer: each element in one cell, errors on a scale, blocks as the launch has them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.foundation.records import Launch
from gpuregress.foundation.records.maps.images import LARGEST, NOT_FINITE, unpack
from gpuregress.judge.diagnose import buffer_image

SHAPES = st.lists(st.integers(1, 200), min_size=1, max_size=3).filter(lambda one: math.prod(one) <= 40_000).map(tuple)


@given(SHAPES)
def test_each_element_is_in_one_cell_and_cells_are_few(shape: tuple[int, ...]) -> None:
    bins = buffer_image.bins(shape)
    bins.add(np.arange(math.prod(shape)), np.ones(math.prod(shape)))
    profile = bins.profile
    assert profile.of == profile.differing
    assert min(profile.of) >= 1
    assert len(profile.of) <= 64 * 64
    image = buffer_image.image(shape, bins, None, "", None)
    assert image.cells == profile.shape


@pytest.mark.parametrize(
    ("shape", "cell"),
    [
        ((64, 64), (1, 1)),
        ((65, 64), (2, 2)),
        ((1024, 512), (16, 16)),
        ((3, 1000), (1, 16)),
        ((1000,), (1, 4)),
        ((600, 1), (3, 1)),
    ],
)
def test_cells_are_square_where_the_buffer_is_not_too_flat(shape: tuple[int, ...], cell: tuple[int, int]) -> None:
    assert buffer_image.cell_of(shape) == cell


def test_errors_are_on_a_logarithmic_scale_and_nan_is_apart() -> None:
    bins = buffer_image.bins((5,))
    bins.add(np.array([0, 1, 2, 3]), np.array([1e-6, 1e-3, 1.0, math.nan]))
    errors, shares = buffer_image.error_layers(bins)
    assert (errors.low, errors.high, shares) == (1e-6, 1.0, None)
    assert list(unpack(errors.cells, 5)) == [1, 127, LARGEST, NOT_FINITE, 0]


def test_bits_that_differ_in_equal_values_are_seen() -> None:
    bins = buffer_image.bins((3,))
    bins.add(np.array([1]), np.array([0.0]))
    errors, _ = buffer_image.error_layers(bins)
    assert list(unpack(errors.cells, 3)) == [0, LARGEST, 0]


def test_errors_that_are_neighbours_have_one_level() -> None:
    bins = buffer_image.bins((2,))
    bins.add(np.array([0, 1]), np.array([1e300, math.nextafter(1e300, math.inf)]))
    errors, _ = buffer_image.error_layers(bins)
    assert list(unpack(errors.cells, 2)) == [LARGEST, LARGEST]


def test_a_share_is_never_rounded_to_none() -> None:
    bins = buffer_image.bins((100_000,))
    bins.add(np.array([5]), np.array([1.0]))
    _, shares = buffer_image.error_layers(bins)
    assert shares is not None
    assert unpack(shares.cells, 256)[:2] == b"\x01\x00"


def test_values_are_means_on_one_scale() -> None:
    expected, actual = np.array([0.0, 1, 2, 4]), np.array([0.0, 1, math.nan, 1e30])
    sides = buffer_image.value_layers((4,), expected, actual)
    assert [(one.low, one.high) for one in sides] == [(0.0, 4.0)] * 2
    assert [list(unpack(one.cells, 4)) for one in sides] == [[1, 64, 127, 253], [1, 64, NOT_FINITE, LARGEST]]
    (coarse, _) = buffer_image.value_layers((512,), np.arange(512.0), np.arange(512.0))
    assert (coarse.low, coarse.high) == (0.5, 510.5)


def test_a_mean_that_is_too_large_is_not_finite() -> None:
    huge = np.full(512, 1e308)
    (expected, _) = buffer_image.value_layers((512,), huge, np.zeros(512))
    assert unpack(expected.cells, 256) == bytes([NOT_FINITE]) * 256


@pytest.mark.parametrize(
    ("grid", "block", "shape", "elements"),
    [
        ((4, 4, 1), (16, 16, 1), (64, 64), (16, 16)),
        ((8, 1, 1), (128, 1, 1), (1000,), (1, 128)),
        ((64, 1, 1), (64, 1, 1), (64, 64), (1, 64)),
        ((16, 1, 1), (256, 1, 1), (64, 64), (4, 64)),
        ((128, 1, 1), (32, 1, 1), (64, 64), (1, 32)),
        ((43, 1, 1), (96, 1, 1), (64, 64), ()),
        ((1, 1, 1), (64, 1, 1), (64,), ()),
    ],
)
def test_the_elements_of_a_thread_block(
    grid: tuple[int, int, int], block: tuple[int, int, int], shape: tuple[int, ...], elements: tuple[int, ...]
) -> None:
    assert buffer_image.block_of(Launch("k", grid, block, 0, ()), shape) == elements


@given(st.integers(1, 500), st.integers(1, 120), st.integers(0, 2**32))
def test_a_strip_counts_every_element_once(total: int, bins: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    at = np.flatnonzero(rng.random(total) < 0.5)
    errors = rng.random(len(at))
    drawn = buffer_image.strip(total, bins)
    for some in np.array_split(np.arange(len(at)), 3):
        drawn.add(at[some], errors[some])
    actual = drawn.profile
    assert sum(actual.of) == total
    assert min(actual.of) >= 1
    assert sum(actual.differing) == len(at)
    assert max(actual.largest) == pytest.approx(errors.max() if len(at) else 0.0)
    assert all(some <= of for some, of in zip(actual.differing, actual.of, strict=True))


@given(st.integers(1, 20), st.integers(1, 20), st.integers(1, 8), st.integers(1, 8))
def test_a_map_counts_every_element_once(height: int, width: int, rows: int, columns: int) -> None:
    at = np.arange(height * width)
    drawn = buffer_image.heat_map((height, width), rows, columns)
    drawn.add(at, np.ones(len(at)))
    actual = drawn.profile
    assert actual.of == actual.differing
    assert actual.shape == (min(rows, height), min(columns, width))


def test_where_errors_are() -> None:
    drawn = buffer_image.strip(100, 10)
    drawn.add(np.array([0, 95]), np.array([1.0, np.nan]))
    assert drawn.profile.largest == (1.0, *[0.0] * 8, np.inf)
    cells = buffer_image.heat_map((5, 10), 5, 2)
    cells.add(np.array([4 * 10 + 9]), np.array([2.0]))
    assert cells.profile.largest == (*[0.0] * 9, 2.0)

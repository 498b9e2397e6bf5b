"""The scales of pictures: colours, the axis of errors, bytes as numbers and as pixels."""

from __future__ import annotations

import itertools
import math
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.foundation.records import ImageLayer
from gpuregress.report.html import pictures, scales
from gpuregress.report.html.scales import LogAxis
from tests.report.html.test_pictures import lightness, pixels

POSITIVE = st.floats(5e-324, 1e308)


@pytest.mark.parametrize("scale", [scales.error, scales.grey])
def test_a_scale_gets_darker_all_the_way(scale: object) -> None:
    assert callable(scale)
    steps = [lightness(scale(share / 100)) for share in range(101)]
    assert all(before > after for before, after in itertools.pairwise(steps))


def test_no_colour_is_that_of_a_verdict() -> None:
    for share in range(101):
        red, green, blue = bytes.fromhex(scales.error(share / 100))
        assert not red > max(green, blue) + 30  # the reds of failures


@given(POSITIVE, POSITIVE)
def test_an_axis_has_its_ends_a_decade_and_labels(one: float, other: float) -> None:
    low, high = sorted((one, other))
    axis = LogAxis.over(low, high)
    assert axis is not None
    assert axis.place(high) == pytest.approx(1.0)
    assert 0 <= axis.place(low) <= 1
    assert axis.low <= low
    assert axis.high >= 9.9 * axis.low or axis.low == low
    assert 2 <= len(axis.ticks) <= 8
    assert all(-1e-6 <= place <= 1 + 1e-6 for place, _ in axis.ticks)


@pytest.mark.parametrize(("low", "high"), [(0.0, 0.0), (1.0, math.inf), (0.0, 1.0)])
def test_there_is_no_axis_without_finite_errors(low: float, high: float) -> None:
    assert LogAxis.over(low, high) is None


@given(st.lists(st.integers(1, 9), min_size=1, max_size=4), st.data())
def test_indices_are_numpys(shape: list[int], data: st.DataObject) -> None:
    index = data.draw(st.integers(0, int(np.prod(shape)) - 1))
    assert scales.index_text(shape, index) == f"[{','.join(str(int(one)) for one in np.unravel_index(index, shape))}]"


def test_bytes_are_numbers_again() -> None:
    layer = ImageLayer(1e-6, 1.0, "")
    assert [scales.error_at(layer, level) for level in (1, 254)] == pytest.approx([1e-6, 1.0])
    assert scales.error_at(layer, 128) == pytest.approx(1e-3, rel=0.05)
    assert [scales.value_at(ImageLayer(-2, 2, ""), level) for level in (0, 1, 127, 253, 254)] == [-2, -2, 0, 2, 2]


def test_a_legend_names_its_quantity_and_labels_its_ticks() -> None:
    text = pictures.legend("errors", "error <x>", ((0.0, "1e-3"), (1.0, "1")))
    assert "<title>scale of error &lt;x&gt;: 1e-3, 1</title>" in text
    assert ">1e-3</text>" in text


@given(st.integers(1, 9), st.data())
def test_every_cell_has_its_colour(columns: int, data: st.DataObject) -> None:
    cells = data.draw(st.binary(min_size=columns, max_size=9 * columns).filter(lambda one: len(one) % columns == 0))
    svg = ET.Element("svg")
    ET.SubElement(svg, "image", href=scales.png_uri(cells, columns, lambda level: f"{level:02x}{255 - level:02x}07"))
    flat = [colour for row in pixels(svg) for colour in row]
    assert flat == [f"{level:02x}{255 - level:02x}07" for level in cells]

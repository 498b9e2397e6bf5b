"""The page's plots of buffers with one axis."""

from __future__ import annotations

import math
import re
from xml.etree import ElementTree as ET

import numpy as np

from gpuregress.foundation.records import BufferImage, Launch
from gpuregress.report.html.drawing import profiles
from tests.report.html.drawing.test_pictures import image


def drawn(of: BufferImage) -> ET.Element:
    return ET.fromstring("".join(profiles.figure(of, "out of line", "1 of 10 differs")))


def path(of: BufferImage, name: str) -> str:
    (found,) = [one for one in drawn(of).iter("path") if one.get("class") == name]
    return str(found.get("d"))


def test_a_larger_error_has_a_higher_bar_and_equal_elements_none() -> None:
    of = image(np.zeros(10), [0, 1e-6, 1e-3, 0, 1, 0, 0, 0, 0, 0])
    bars = [float(height) for height in re.findall(r"v-([\d.]+)", path(of, "bars"))]
    assert len(bars) == 3
    assert bars == sorted(bars)
    assert [text.text for text in drawn(of).iter("text")].count("1e-6") == 1


def test_both_sides_are_lines_on_one_axis_broken_at_nan() -> None:
    of = image([0, 1, 2, 3], [0, math.nan, 2, 3])
    assert path(of, "expected").count("M") == 1
    assert path(of, "actual").count("M") == 2
    assert path(of, "expected").split("L")[-1] == path(of, "actual").split("L")[-1]
    assert "hatched" in "".join(drawn(of).itertext())


def test_a_large_buffer_has_a_strip_of_shares_and_its_own_indices() -> None:
    actual = np.zeros(5000)
    actual[::10] = 1
    of = image(np.zeros(5000), actual)
    text = "".join(drawn(of).itertext())
    assert len(list(drawn(of).iter("image"))) == 1
    assert "[4999]" in text
    assert "each step 20 elements" in text


def test_blocks_are_lines_unless_they_are_many() -> None:
    few = image(np.zeros(256), np.ones(256), Launch("k", (4, 1, 1), (64, 1, 1), 0, ()))
    borders = [one.get("d") for one in drawn(few).iter("path") if one.get("class") == "border"]
    assert [str(one).count("M") for one in borders] == [3, 3]
    assert "thread blocks of 64 elements (lines), as the launch (grid 4, block 64) suggests" in "".join(
        drawn(few).itertext()
    )
    many = image(np.zeros(8192), np.ones(8192), Launch("k", (256, 1, 1), (32, 1, 1), 0, ()))
    assert "(not drawn, for they are many)" in "".join(drawn(many).itertext())

"""The page's pictures: a cell's colour is its error's, on one labelled scale."""

from __future__ import annotations

import base64
import math
import re
import struct
import zlib
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.foundation.records import BufferImage, Launch
from gpuregress.judge.diagnose import buffer_image
from gpuregress.report.html import pictures, scales


def image(expected: Any, actual: Any, launch: Launch | None = None) -> BufferImage:
    """The image of two small buffers, made as a comparison makes it."""
    before, after = np.asarray(expected, np.float64), np.asarray(actual, np.float64)
    cells = buffer_image.bins(before.shape)
    flat = [side.reshape(-1) for side in (before, after)]
    at = np.flatnonzero((flat[0] != flat[1]) & ~(np.isnan(flat[0]) & np.isnan(flat[1])))
    cells.add(at, np.abs(flat[1] - flat[0])[at])
    return buffer_image.image(
        before.shape, cells, buffer_image.value_layers(before.shape, flat[0], flat[1]), "", launch
    )


def drawn(of: BufferImage) -> ET.Element:
    return ET.fromstring(pictures.figure(of, "out of <case>", "2 of 4 differ"))


def panels(of: BufferImage) -> dict[str, ET.Element]:
    found = {}
    for panel in drawn(of).iter("div"):
        if panel.get("class") == "panel":
            (name, svg) = panel
            found[str(name.text)] = svg
    return found


def pixels(svg: ET.Element) -> list[list[str]]:
    """The colours of a panel's image, row by row; the reverse of `png`, with an other reader's means."""
    (element,) = svg.iter("image")
    data = base64.b64decode(str(element.get("href")).removeprefix("data:image/png;base64,"))
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, at = {}, 8
    while at < len(data):
        (size,) = struct.unpack(">I", data[at : at + 4])
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + size]
        assert struct.unpack(">I", data[at + 8 + size : at + 12 + size])[0] == zlib.crc32(kind + body)
        chunks[kind], at = body, at + 12 + size
    width, height = struct.unpack(">II", chunks[b"IHDR"][:8])
    lines = zlib.decompress(chunks[b"IDAT"])
    palette = [chunks[b"PLTE"][one : one + 3].hex() for one in range(0, len(chunks[b"PLTE"]), 3)]
    rows = [lines[row * (width + 1) : (row + 1) * (width + 1)] for row in range(height)]
    assert all(row[0] == 0 for row in rows)
    return [[palette[level] for level in row[1:]] for row in rows]


def lightness(colour: str) -> float:
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), bytes.fromhex(colour), strict=True))


def test_a_larger_error_is_darker_and_equal_elements_are_white() -> None:
    of = image([[0, 0], [0, 0]], [[0, 1e-6], [1e-3, 1]])
    colours_ = pixels(panels(of)["error"])
    assert colours_[0][0] == scales.SAME
    assert lightness(colours_[0][1]) > lightness(colours_[1][0]) > lightness(colours_[1][1])


def test_equal_errors_have_one_colour_and_the_scale_a_decade() -> None:
    of = image(np.zeros((2, 3)), np.full((2, 3), 0.25))
    assert {colour for row in pixels(panels(of)["error"]) for colour in row} == {scales.error(1.0)}
    assert "0.025, 0.25" in "".join(drawn(of).itertext())


def test_errors_that_hardly_differ_look_alike() -> None:
    of = image([[0, 0], [0, 0]], [[0.25, 0.2500001], [0.25, 0.26]])
    darkest = [lightness(colour) for row in pixels(panels(of)["error"]) for colour in row]
    assert max(darkest) - min(darkest) < 8


def test_half_of_a_buffer_is_no_solid_slab_but_a_share() -> None:
    actual = np.zeros((128, 128))
    actual[::2] = 1
    shares = pixels(panels(image(np.zeros((128, 128)), actual))["share that differs"])
    assert len(shares) == 64
    assert {colour for row in shares for colour in row} == {scales.grey(0.1 + 0.9 * 128 / 255)}


@pytest.mark.parametrize("shape", [(64, 64), (100, 200), (8, 60), (16, 4, 32)])
def test_the_aspect_ratio_is_the_buffers(shape: tuple[int, ...]) -> None:
    actual = np.zeros(shape)
    actual.reshape(-1)[5] = 1
    svg = panels(image(np.zeros(shape), actual))["error"]
    (picture,) = svg.iter("image")
    ratio = int(str(picture.get("width"))) / int(str(picture.get("height")))
    assert ratio == pytest.approx(shape[-1] / math.prod(shape[:-1]), rel=0.02)


def test_a_long_flat_buffer_says_that_it_is_not_to_scale() -> None:
    of = image(np.zeros((2, 1000)), np.ones((2, 1000)))
    assert "not to scale" in "".join(drawn(of).itertext())


def test_block_borders_are_those_of_the_launch() -> None:
    launch = Launch("k", (4, 2, 1), (16, 8, 1), 0, ())
    actual = np.zeros((16, 64))
    actual[3, 3] = 1
    of = image(np.zeros((16, 64)), actual, launch)
    (border,) = [path for path in panels(of)["error"].iter("path") if path.get("class") == "border"]
    side = 208 // 64
    assert border.get("d") == f"M0 {8 * side}h{64 * side}" + "".join(f"M{x * side} 0v{16 * side}" for x in (16, 32, 48))
    assert "lines: thread blocks of 8 x 16 elements, as the launch (grid 4 x 2, block 16 x 8) suggests" in "".join(
        drawn(of).itertext()
    )


def test_nan_is_hatched_and_named() -> None:
    of = image([[0, 0, 0]] * 2, [[0, math.nan, math.inf], [0, 0, 1]])
    hatched = [path for path in panels(of)["error"].iter("path") if path.get("fill") == "url(#hatch)"]
    assert [path.get("d") for path in hatched] == ["M24 0h48v24H24z"]
    assert "hatched in black and amber: NaN or infinity" in "".join(drawn(of).itertext())


def test_the_worst_element_has_a_ring_in_the_error_alone() -> None:
    of = image(np.zeros((128, 128)), np.eye(128))
    root = ET.fromstring(pictures.figure(of, "x", "y", worst=128 * 64 + 100))
    ((ring, panel),) = [
        (circle, svg) for svg in root.iter("svg") for circle in svg.iter("circle") if circle.get("class") == "worst"
    ]
    assert panel.findtext("title") == "error of x"
    assert (ring.get("cx"), ring.get("cy")) == ("151.5", "97.5")  # of cells of 2 x 2 elements and 3 pixels
    assert "ring: the worst element" in "".join(root.itertext())


def test_both_sides_have_one_scale_and_values_far_outside_are_marked() -> None:
    of = image([[0.0, 1.0], [0.5, 1.0]], [[0.0, 1e9], [0.5, -1e9]])
    expected, actual = (pixels(panels(of)[side]) for side in ("expected", "actual"))
    assert expected[0][0] == actual[0][0]
    assert expected[1][0] == actual[1][0]
    assert (actual[0][1], actual[1][1]) == (scales.ABOVE, scales.BELOW)
    text = "".join(drawn(of).itertext())
    assert "blue: a value above the scale" in text
    assert "orange: a value below the scale" in text


def test_a_panel_has_a_title_a_description_and_its_indices() -> None:
    actual = np.zeros((3, 4, 5))
    actual[2, 1, 0] = 1
    svg = panels(image(np.zeros((3, 4, 5)), actual))["error"]
    assert svg.get("role") == "img"
    assert [svg.findtext(name) for name in ("title", "desc")] == ["error of out of <case>", "2 of 4 differ"]
    assert [text.text for text in svg.iter("text")] == ["0,0", "2,3", "0", "4"]
    assert str(svg.get("data-place")).endswith(";3 4 5")


def test_no_style_attribute_that_the_policy_would_refuse() -> None:
    assert not re.search(r"\bstyle=", (pictures.figure(image([[0, 1]] * 2, [[1, 1]] * 2), "x", "y")))


@given(st.integers(1, 70), st.integers(1, 70), st.integers(0, 2**32))
def test_every_matrix_can_be_drawn(rows: int, columns: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    expected = rng.normal(size=(rows, columns)) * 10.0 ** rng.integers(-300, 300)
    actual = np.where(rng.random((rows, columns)) < 0.3, rng.choice([math.nan, math.inf, 0.0, 1e300]), expected)
    drawn(image(expected, actual))


def drawn_line(of: BufferImage) -> ET.Element:
    return ET.fromstring(pictures.figure(of, "out of line", "1 of 10 differs"))


def path(of: BufferImage, name: str) -> str:
    (found,) = [one for one in drawn_line(of).iter("path") if one.get("class") == name]
    return str(found.get("d"))


def test_a_larger_error_has_a_higher_bar_and_equal_elements_none() -> None:
    of = image(np.zeros(10), [0, 1e-6, 1e-3, 0, 1, 0, 0, 0, 0, 0])
    bars = [float(height) for height in re.findall(r"v-([\d.]+)", path(of, "bars"))]
    assert len(bars) == 3
    assert bars == sorted(bars)
    assert [text.text for text in drawn_line(of).iter("text")].count("1e-6") == 1


def test_both_sides_are_lines_on_one_axis_broken_at_nan() -> None:
    of = image([0, 1, 2, 3], [0, math.nan, 2, 3])
    assert path(of, "expected").count("M") == 1
    assert path(of, "actual").count("M") == 2
    assert path(of, "expected").split("L")[-1] == path(of, "actual").split("L")[-1]
    assert "hatched" in "".join(drawn_line(of).itertext())


def test_a_large_buffer_has_a_strip_of_shares_and_its_own_indices() -> None:
    actual = np.zeros(5000)
    actual[::10] = 1
    of = image(np.zeros(5000), actual)
    text = "".join(drawn_line(of).itertext())
    assert len(list(drawn_line(of).iter("image"))) == 1
    assert "[4999]" in text
    assert "each step 20 elements" in text


def test_blocks_are_lines_unless_they_are_many() -> None:
    few = image(np.zeros(256), np.ones(256), Launch("k", (4, 1, 1), (64, 1, 1), 0, ()))
    borders = [one.get("d") for one in drawn_line(few).iter("path") if one.get("class") == "border"]
    assert [str(one).count("M") for one in borders] == [3, 3]
    assert "thread blocks of 64 elements (lines), as the launch (grid 4, block 64) suggests" in "".join(
        drawn_line(few).itertext()
    )
    many = image(np.zeros(8192), np.ones(8192), Launch("k", (256, 1, 1), (32, 1, 1), 0, ()))
    assert "(not drawn, because they are many)" in "".join(drawn_line(many).itertext())

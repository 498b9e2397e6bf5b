"""The page's picture: a bin's colour is its error's."""

from __future__ import annotations

import dataclasses
import math
import re

from gpuregress.records import ErrorMaps, ErrorProfile, Figures
from gpuregress.report import html
from gpuregress.report.error_map_svg import svg
from tests.report.samples import DIFFERENT, summary

STRIP = {"shape": [4], "largest": [0, 1e-3, 10, "inf"], "differing": [0, 1, 2, 3], "of": [3, 3, 3, 3]}


def rects(svg: str) -> list[tuple[str, str]]:
    return re.findall(r'<rect x="(\d+)" y="\d+" width="1" height="1" fill="([^"]+)"', svg)


def test_a_strip_has_a_bin_for_each_and_goes_from_green_to_red() -> None:
    drawing, legend = svg({"strip": STRIP})
    assert rects(drawing) == [("0", "currentColor"), ("1", "#1a9850"), ("2", "#d73027"), ("3", "#d63fd0")]
    assert "<title>2 of 3 differ, error up to 10</title>" in drawing
    assert "0.001 (green) to 10 (red); purple" in legend


def test_a_heat_map_comes_before_the_strip() -> None:
    drawn = {"shape": [2, 3], "largest": [0, 1, 0, 0, 0, 1], "differing": [0, 1, 0, 0, 0, 1], "of": [1] * 6}
    drawing, legend = svg({"strip": STRIP, "heat_map": drawn})
    assert re.findall(r'x="(\d)" y="(\d)" [^>]*#d73027', drawing) == [("1", "0"), ("2", "1")]
    assert "last axis" in legend


def test_nothing_is_drawn_of_nothing() -> None:
    assert not list(svg({}))


def test_the_page_shows_it() -> None:
    run = summary()
    maps = ErrorMaps(ErrorProfile((4,), (0.0, 1e-3, 10.0, math.inf), (0, 1, 2, 3), (3, 3, 3, 3)))
    drawn = dataclasses.replace(DIFFERENT, figures=Figures(error_maps=maps))
    verdicts = [
        dataclasses.replace(
            one, buffers=tuple(dataclasses.replace(buffer, comparisons=(drawn,)) for buffer in one.buffers)
        )
        for one in run.verdicts
    ]
    assert "<svg" not in html.render(run)
    assert html.render(dataclasses.replace(run, verdicts=tuple(verdicts))).count("<svg") == 1

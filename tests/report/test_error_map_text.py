"""Strips and heat maps: each bin's sign is its error's."""

from __future__ import annotations

import pytest

from gpuregress.foundation.records import ErrorProfile
from gpuregress.report import diff_screen


def plain(line: diff_screen.Line) -> str:
    return "".join(text for text, _ in line)


def profile(largest: list[float], shape: tuple[int, ...], of: int = 10) -> ErrorProfile:
    differing = tuple(0 if error == 0 else 1 for error in largest)
    return ErrorProfile(shape, tuple(largest), differing, (of,) * len(largest))


def test_a_strip_rises_with_the_power_of_ten() -> None:
    line, legend = diff_screen.strip(profile([0, 1e-7, 1e-3, 10, float("inf")], (5,)))
    assert plain(line) == "·▁▅█!"
    assert plain(legend) == "each sign 10 elements, · same, ▁ error 1e-07 … █ 10, ! NaN or infinity"


def test_one_error_is_the_largest() -> None:
    line, legend = diff_screen.strip(profile([0, 2.0, 0], (3,), of=1))
    assert plain(line) == "·█·"
    assert plain(legend) == "each sign 1 element, · same, █ error 2"


def test_a_difference_without_a_size_is_still_seen() -> None:
    """-0 for 0, or another NaN."""
    line, _ = diff_screen.strip(ErrorProfile((2,), (0.0, 0.0), (1, 0), (1, 1)))
    assert plain(line) == "▁·"


def test_a_heat_map_has_a_line_a_row() -> None:
    *rows, _ = diff_screen.heat_map(profile([0, 1, 0, 100, 0, 0], (2, 3)))
    assert [plain(row) for row in rows] == ["·▁·", "█··"]


def test_colours_go_from_green_to_red() -> None:
    line, _ = diff_screen.strip(profile([1, 1e9], (2,)))
    assert line == (("▁", 34), ("█", 160))


@pytest.mark.parametrize(("error", "level"), [(1.0, 0), (10.0, 4), (99.0, 7), (100.0, 7)])
def test_levels(error: float, level: int) -> None:
    assert diff_screen.level(error, 1.0, 100.0) == level

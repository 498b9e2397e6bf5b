from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpuregress.execution.runner.execution import run_case
from gpuregress.foundation.records import Case, Comparison, Outcome, Rule, Sigmas, StatisticLimits, to_json
from gpuregress.foundation.records.maps.images import unpack
from gpuregress.judge import diagnosis
from gpuregress.judge.buffer_pairs import BufferPair
from tests import fakes
from tests.judge.dumps import dump


def outcome(case: Case, folder: Path) -> Outcome:
    return run_case(fakes.FakeDevice(), fakes.task(case, folder))


def compared(folder: Path, now: str, then: str, rule: Rule | None = None) -> Comparison:
    """The buffer `out` of kernel `now` against that of kernel `then`."""
    after = outcome(fakes.case(now, name="fake/now"), folder)
    before = outcome(fakes.case(then, name="fake/then"), folder)
    new, old = after.dumps[0], before.dumps[0]
    pair = BufferPair(fakes.case(now), "baseline", old, new, rule)
    return diagnosis.compare(pair, after)


def test_an_element_that_was_never_written_is_called_so(tmp_path: Path) -> None:
    actual = compared(tmp_path, "double", "twice")
    assert actual.differing == 1
    assert actual.findings[0].pattern == "never written"
    assert "thread" in actual.figures.worst_thread


def test_only_what_breaks_the_rule_is_diagnosed(tmp_path: Path) -> None:
    actual = compared(tmp_path, "twice_and_a_bit", "twice", Rule(rtol=0.0, atol=0.5))
    assert (actual.differing, actual.changed) == (1, 8)
    assert all("8 " not in finding.message for finding in actual.findings)


def test_what_is_the_same_gets_no_findings(tmp_path: Path) -> None:
    actual = compared(tmp_path, "twice", "twice")
    assert actual.same
    assert not actual.findings


@pytest.mark.parametrize("rule", [Rule(order="any"), Rule(statistics=StatisticLimits(mean=Sigmas(4)))])
def test_a_rule_that_knows_no_places_gets_no_findings(tmp_path: Path, rule: Rule) -> None:
    assert not compared(tmp_path, "double", "twice", rule).findings


def drawn(folder: Path, expected: Any, actual: Any, rule: Rule | None = None, dtype: str = "float32") -> Any:
    sides = dump(folder / "e", "out.1", expected, dtype), dump(folder / "a", "out.1", actual, dtype)
    pair = BufferPair(fakes.case("double"), "baseline", *sides, rule or Rule())
    return to_json(diagnosis.compare(pair, Outcome("fake/double", "done"), 4).figures.error_maps)


def test_a_strip_of_one_axis(tmp_path: Path) -> None:
    expected = np.zeros(8)
    actual = np.array([0, 0, 0, 3, math.nan, 0, 0, -1.5])
    picture = drawn(tmp_path, expected, actual)
    image = picture.pop("image")
    assert picture == {
        "strip": {"shape": [4], "largest": [0, 3, math.inf, 1.5], "differing": [0, 1, 1, 1], "of": [2, 2, 2, 2]}
    }
    assert image["shape"] == [8]


def test_an_image_with_the_values_of_both_sides(tmp_path: Path) -> None:
    image = drawn(tmp_path, np.zeros((2, 3)), np.array([[0, 0, 0], [0, 0.5, 0]]))["image"]
    assert (image["shape"], image["cell"]) == ([2, 3], [1, 1])
    assert (image["expected"]["high"], image["actual"]["high"]) == (0.5, 0.5)
    assert list(unpack(image["errors"]["cells"], 6)) == [0, 0, 0, 0, 254, 0]
    assert list(unpack(image["actual"]["cells"], 6)) == [1, 1, 1, 1, 253, 1]


def test_the_image_of_a_large_buffer_has_no_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnosis, "MOST_VALUES", 3)
    assert "expected" not in drawn(tmp_path, np.zeros(4), np.ones(4))["image"]
    assert "expected" in drawn(tmp_path, np.zeros(3), np.ones(3))["image"]


def test_the_values_are_those_of_the_worst_part(tmp_path: Path) -> None:
    expected = np.zeros((2, 2), "f4,f4")
    actual = expected.copy()
    actual["f1"][1, 1] = -5
    image = drawn(tmp_path, expected.tolist(), actual.tolist(), dtype="float2")["image"]
    assert (image["part"], image["actual"]["low"]) == ("y", -5)


def test_a_heat_map_of_two_axes_and_the_largest_error_of_the_parts(tmp_path: Path) -> None:
    expected = np.zeros((2, 4), "f4,f4")
    actual = expected.copy()
    actual["f0"][1, 2], actual["f1"][1, 2] = 1, -5
    picture = drawn(tmp_path, expected.tolist(), actual.tolist(), dtype="float2")
    assert picture["heat_map"]["shape"] == [2, 4]
    assert picture["heat_map"]["largest"] == [0, 0, 0, 0, 0, 0, 5, 0]


def test_a_tolerated_error_is_drawn_beside_one_that_is_not(tmp_path: Path) -> None:
    assert drawn(tmp_path, [0, 0, 0, 0], [1, 0, 0, 9], Rule(atol=2))["strip"]["largest"] == [1, 0, 0, 9]


def test_nothing_is_drawn_of_a_comparison_that_passes(tmp_path: Path) -> None:
    assert drawn(tmp_path, [0, 0], [1, 0], Rule(atol=2)) is None

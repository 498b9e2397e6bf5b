"""Running statistics of differences, row by row."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from gpuregress.foundation import dtypes
from gpuregress.foundation.records import OutlierCounts, Outliers, Rule, SideCounts
from gpuregress.foundation.records.rules import Bound
from gpuregress.judge.compare import difference_statistics
from gpuregress.judge.compare.difference_statistics import DifferenceStatistics, ErrorSums
from gpuregress.judge.compare.tolerance_use import ToleranceUse
from tests.judge.compare.rooms import array, request


def counted(dtype: str, expected: Any, actual: Any, bound: Bound) -> DifferenceStatistics:
    """The statistics of two arrays, added row by row."""
    second = Bound(atol=10.0)
    statistics = DifferenceStatistics(dtypes.parse(dtype), bound, ToleranceUse(bound, second), second)
    e, a = array(dtype, expected), array(dtype, actual)
    for row in range(len(e)):
        statistics.add(np.array([10 + row]), e[row : row + 1], a[row : row + 1])
    return statistics


def test_counts_and_the_elements_of_a_report() -> None:
    statistics = counted("float32", [1, 2, 3, 4, 5], [1, 2.5, 4, math.nan, 105], Bound(atol=0.5))
    assert (statistics.changed, statistics.broken, statistics.beyond, statistics.misplaced) == (4, 3, 2, 1)
    listed = statistics.listed()
    assert [(one.index, one.expected, one.actual) for one in listed.first] == [
        (12, "3.0", "4.0"),
        (13, "4.0", "nan"),
        (14, "5.0", "105.0"),
    ]
    assert listed.worst["absolute"].index == 14
    assert listed.misplaced is not None
    assert listed.worst_by("absolute") == listed.misplaced
    figures = statistics.figures(listed)
    assert (figures.max_abs, figures.nan) == (100, SideCounts(0, 1))


def test_parts_are_listed_in_the_order_of_the_elements() -> None:
    statistics = counted("float2", [(1, 2), (3, 4)], [(1, 9), (8, 9)], Bound())
    listed = [(one.index, one.part, one.actual) for one in statistics.listed().first]
    assert listed == [(10, "y", "9.0"), (11, "x", "8.0"), (11, "y", "9.0")]


def test_squares_of_huge_errors_do_not_overflow() -> None:
    sums = ErrorSums()
    for error in (1e-300, 1e200, 3e200):
        sums.add(np.array([error]))
    assert math.isclose(sums.norm, math.sqrt(10) * 1e200)
    assert (sums.largest, sums.total) == (3e200, 4e200)


def test_the_error_that_ranks_the_worst_element() -> None:
    assert difference_statistics.ranking_measure(Rule(ulp=2)) == "ulp"
    assert difference_statistics.ranking_measure(Rule(rtol=0.1)) == "relative"
    assert difference_statistics.ranking_measure(Rule(rtol=0.1, atol=1)) == "absolute"


def test_a_score_for_json() -> None:
    assert difference_statistics.finite(-1.0) is difference_statistics.finite(math.nan) is None
    assert difference_statistics.finite(math.inf) == np.finfo("f8").max


@pytest.mark.parametrize(
    ("missed", "beyond", "problems"),
    [
        (2, 0, []),
        (3, 0, ["3 of 20 miss the bound, 2 may"]),
        (1, 1, ["1 of 20 miss the outliers' bound too, none may"]),
    ],
)
def test_the_budget_of_outliers(missed: int, beyond: int, problems: list[str]) -> None:
    wanted = request("float32", (20,), Rule(atol=0.1, outliers=Outliers(0.1, 0.0, 1.0)))
    counts = difference_statistics.outlier_counts(wanted, missed, beyond)
    assert difference_statistics.outlier_problems(counts, 20) == problems
    assert counts == OutlierCounts(missed, 2, beyond)

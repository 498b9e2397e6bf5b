"""Each check passes where it should and fails where it should."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpuregress.foundation import dtypes
from gpuregress.foundation.records import Check, ElementCount, ExpectedSum, KnownRows
from gpuregress.judge.compare import checks
from tests.judge.compare.rooms import array

INPUTS = {"x": array("float32", [3, 1, 2]), "long": array("float32", [1, 2, 3, 4])}
NAN, INF = float("nan"), float("inf")


def result(name: str, setting: Any, values: Any, dtype: str = "float32") -> Any:
    return checks.run(Check(name, setting), array(dtype, values), dtypes.parse(dtype), INPUTS, buffer="b")


@pytest.mark.parametrize(
    ("name", "setting", "dtype", "good", "bad", "count"),
    [
        ("finite", None, "float32", [1, -2], [1, NAN, INF], 2),
        ("finite", None, "bfloat16", [1, -2], [1, NAN, INF], 2),
        ("finite", None, "complex64", [1, 2j], [1, complex(0, NAN)], 1),
        ("finite", None, "int8", [1], None, 0),
        ("nonzero", 2, "float32", [1, INF, NAN], [1, NAN, -0.0], 0),
        ("nonzero", None, "bfloat16", [1, NAN], [NAN, NAN], 0),
        ("nonzero", None, "bfloat16", [0, 1], [0, -0.0], 0),
        ("nonzero", ElementCount(exactly=2), "int32", [0, 1, 2], [1, 2, 3], 0),
        ("nonzero", ElementCount(at_least=1, at_most=2), "float32", [0, 1, 2], [1, 2, 3], 0),
        ("nonzero", ElementCount(at_least=1, at_most=2), "float32", [0, 0, 1], [0, NAN, 0], 0),
        ("rows", KnownRows({"0": (0.0,), "2": (100.0,)}), "float32", [-0.0, 7, 100], [0, 7, 99], 1),
        ("rows", KnownRows({"1": (0.1,)}), "float32", [5, 0.1], [5, 0.2], 1),
        ("rows", KnownRows({"0": (NAN,)}), "float16", [NAN, 1], [1, NAN], 1),
        ("rows", KnownRows({"0": (1, 2), "1": (3,)}), "float2", [(1, 2), (3, 3)], [(1, 3), (3, 4)], 2),
        ("range", (-1, 1), "float32", [-1, 0, 1], [-1.1, NAN, 0], 2),
        ("range", (0, 100), "bfloat16", [0, 100], [101], 1),
        ("range", (0, 2**53), "int64", [2**53], [2**53 + 1, -1], 2),
        ("range", (-1, INF), "uint8", [0, 255], None, 0),
        ("range", (-5, -1), "uint8", [], [0], 1),
        ("range", (0, 0), "bool", [False], [True], 1),
        ("sum", ExpectedSum(6), "float32", [1, 2, 3], [1, 2, 4], 0),
        ("sum", ExpectedSum(6, atol=1), "float32", [1, 2, 4], [1, 2, NAN], 0),
        ("sum", ExpectedSum(2**64), "int64", [2**63 - 1, 2**63 - 1, 2], [2**63 - 1, 2**63 - 1, 1], 0),
        ("sum", ExpectedSum(-(2**64)), "int64", [-(2**63), -(2**63)], [-(2**63), 1], 0),
        ("sum", ExpectedSum(300), "uint8", [255, 45], [44], 0),
        ("unique", None, "int32", [3, 1, 2], [3, 1, 3], 1),
        ("unique", None, "float2", [(1, 2), (2, 1)], [(1, 2), (1, 2)], 1),
        ("sorted", None, "float32", [1, 1, 2], [2, 1, 3], 1),
        ("sorted", "descending", "uint8", [2, 2, 0], [0, 2], 1),
        ("sorted", "ascending", "float32", [-0.0, 0.0, -0.0, INF], [NAN, 1], 1),
        ("sorted", None, "float32", [1, 2], [NAN, NAN], 2),
        ("sorted", "descending", "float16", [2, 1], [NAN, 1], 1),
        ("sorted", None, "float2", [(1, 5), (2, 4)], [(1, 2), (2, NAN)], 1),
        ("monotone", None, "bfloat16", [1, 2], [1, NAN], 1),
        ("monotone", None, "float32", [1, 2, 3], [1, 1, 2], 1),
        ("monotone", "decreasing", "int64", [3, 2, -9], [3, 3], 1),
        ("all_equal", None, "float32", [2, 2], [0.0, -0.0], 1),
        ("all_equal", None, "float64", [INF, INF], [NAN, NAN], 2),
        ("all_equal", 0.1, "float32", [0.1, 0.1], [0.1, NAN], 1),
        ("all_equal", NAN, "float32", [NAN, NAN], [NAN, 1], 1),
        ("all_equal", 0.1, "bfloat16", [0.1, 0.1], [0.2], 1),
        ("all_equal", 7, "int32", [7, 7], [7, 8], 1),
        ("permutation", "x", "float32", [1, 2, 3], [1, 2, 2], 0),
        ("equals", "x", "float32", [3, 1, 2], [3, 2, 1], 2),
    ],
)
def test_each_check(name: str, setting: Any, dtype: str, good: Any, bad: Any, count: int) -> None:
    if good:
        passed = result(name, setting, good, dtype)
        assert (passed.same, passed.message, passed.first) == (True, "", ())
    if bad:
        failed = result(name, setting, bad, dtype)
        assert not failed.same
        assert failed.message.startswith(f"{name}: ")
        assert failed.differing == len(failed.first) == count
        assert failed.against == "check"


def test_messages_give_counts() -> None:
    assert result("finite", None, [1, NAN]).message == "finite: 1 of 2 are NaN or infinite"
    assert result("nonzero", 2, [1, 0]).message == "nonzero: 1 of 2 are not 0, at least 2 must be"
    assert (
        result("permutation", "x", [1, 2, 9]).message
        == "permutation: 1 values are not in x, 1 of its values are missing"
    )
    assert result("finite", None, [1, NAN]).first[0].actual == "nan"
    exact = result("nonzero", ElementCount(exactly=273), [1, 0])
    assert (exact.message, exact.rule) == ("nonzero: 1 of 2 are not 0, exactly 273 must be", "nonzero: exactly 273")


def test_rows_of_several_elements_are_along_the_first_axis() -> None:
    table, kind = np.array([[1, 2, 3], [4, 5, 6]], np.int32), dtypes.parse("int32")
    assert checks.run(Check("rows", KnownRows({"0": (1, 2, 3), "1": (4, 5, 6)})), table, kind).same
    failed = checks.run(Check("rows", KnownRows({"1": (4, 5, 7), "0": (1,)})), table, kind)
    assert failed.message == "rows: row 1 is [4, 5, 6], not [4, 5, 7]; 3 of 6 are not what their rows must be"
    assert [element.index for element in failed.first] == [1, 2, 5]
    assert failed.rule == "rows: 1: [4, 5, 7], 0: 1"


def test_inputs_that_are_not_there_or_do_not_fit() -> None:
    assert "no input 'y'; there is x, long" in result("equals", "y", [1]).message
    assert "long has 4 elements" in result("permutation", "long", [1, 2, 3]).message


def test_the_users_check(tmp_path: Path) -> None:
    module = tmp_path / "mine.py"
    module.write_text(
        "def half(values, case): return bool(values.shape == (2, 1) and case == 'case'), 'as told'\n"
        "def array(values, case): return values\n"
    )
    kind = dtypes.parse("float32")
    values = np.zeros((2, 1), np.float32)
    assert checks.run(Check("python", f"{module}:half"), values, kind, case="case").same
    assert checks.run(Check("python", f"{module}:half"), values, kind, case="other").message == "python: as told"
    assert "returned an array" in checks.run(Check("python", f"{module}:array"), values, kind, case=0).message
    assert "no file" in checks.run(Check("python", "/nowhere.py:f"), values, kind).message


def test_an_unknown_check_never_passes() -> None:
    assert not result("finit", None, [1.0]).same


def test_nothing_to_check_is_no_pass() -> None:
    for name in checks.CHECKS:
        assert "no element" in result(name, None, []).message, name


@pytest.mark.parametrize(
    ("values", "dtype", "index", "text"),
    [
        ([0.5, 2.0, -7.0, 3.0], "float32", 2, "-7.0"),
        ([0.5, 2.0, NAN, 99.0], "float32", 2, "nan"),
        ([0, 200, 255, 3], "uint8", 2, "255"),
    ],
)
def test_a_range_names_the_value_farthest_outside(values: list[float], dtype: str, index: int, text: str) -> None:
    worst = result("range", [0, 1], values, dtype).worst
    assert (worst.index, worst.actual) == (index, text)
    assert result("range", [-100, 300], [1, 2], dtype).worst is None


def test_properties_without_degrees_have_no_worst() -> None:
    assert result("finite", None, [NAN]).worst is None

"""The user's functions: every way in which they fail is a failure with that said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gpuregress.foundation import dtypes
from gpuregress.foundation.errors import UsageError
from gpuregress.foundation.records import Rule
from gpuregress.judge import compare
from gpuregress.judge.compare import user_functions
from tests.judge.compare.rooms import array, request

SOURCE = """
import neighbour

def yes(expected, actual, case):
    return True

def shape(expected, actual, case):
    return expected.shape == (2, 2), f"{case} {neighbour.status}"

def numpy_bool(expected, actual, case):
    return (expected == actual).all()

def raises(expected, actual, case):
    return expected / {}

def nothing(expected, actual, case):
    pass

def an_array(expected, actual, case):
    return expected == actual

def a_number(expected, actual, case):
    return 1

def changes(expected, actual, case):
    actual[:] = expected
    return bool((actual == expected).all())
"""


@pytest.fixture
def module(tmp_path: Path) -> Path:
    (tmp_path / "neighbour.py").write_text("status = 'met'")
    path = tmp_path / "mine.py"
    path.write_text(SOURCE)
    return path


def verify(path: Path, name: str, actual: Any = (1, 2, 3, 5)) -> Any:
    e, a = array("float32", [1, 2, 3, 4]), array("float32", actual)
    wanted = compare.ComparisonRequest("x", dtypes.parse("float32"), (2, 2), Rule(verify=f"{path}:{name}"), case="case")
    result = compare.compare(wanted, e, a)
    assert a.tolist() == list(actual), "the user's function gets a copy"
    return result


def test_answers(module: Path) -> None:
    assert verify(module, "yes").same
    assert verify(module, "shape").same
    assert verify(module, "shape").message == "case met"
    assert verify(module, "numpy_bool", (1, 2, 3, 4)).same
    no = verify(module, "numpy_bool")
    assert not no.same
    assert (no.differing, no.changed, no.message) == (1, 1, "numpy_bool returned False")
    assert verify(module, "changes").same


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("raises", "raises raised TypeError: unsupported operand"),
        ("nothing", "nothing returned nothing"),
        ("an_array", "an_array returned an array of shape [2, 2]"),
        ("a_number", "a_number returned int '1'"),
        ("missing", "has no function 'missing'; it has: a_number, "),
    ],
)
def test_no_answer_is_a_failure_even_where_the_values_are_equal(module: Path, name: str, text: str) -> None:
    result = verify(module, name, (1, 2, 3, 4))
    assert not result.same
    assert text in result.message


def test_the_line_of_the_users_file_is_named(module: Path) -> None:
    assert "(line 14 of mine.py)" in verify(module, "raises").message


def test_a_function_of_other_parameters_is_never_called(module: Path) -> None:
    module.write_text("def one(x): return True\n\ndef odd(expected, actual, tol): return True\n")
    assert verify(module, "one").message == "one(x) does not take (expected, actual), which verify passes first"
    assert "odd(expected, actual, tol) has the unknown parameter 'tol'" in verify(module, "odd").message
    assert not verify(module, "odd").same


def test_arguments_are_passed_by_name_in_any_order(module: Path) -> None:
    module.write_text(
        "def named(expected, actual, *, dtype, buffer, tolerance, case):\n"
        "    return False, f'{case} {buffer} {dtype} {tolerance.rtol} {tolerance.atol} {tolerance.ulp}'\n"
    )
    rule = Rule(rtol=0.5, ulp=3, verify=f"{module}:named")
    side = array("float16", [1.0])
    wanted = compare.ComparisonRequest("sum", dtypes.parse("float16"), (1,), rule, case="reduce/n=8")
    assert compare.compare(wanted, side, side).message == "reduce/n=8 sum float16 0.5 0.0 3"


def test_sides_of_different_shapes_and_types_are_the_functions_business(module: Path) -> None:
    module.write_text(
        "def total(expected, actual):\n"
        "    return expected.sum() == actual.sum(), f'{expected.dtype}{expected.shape} {actual.dtype}{actual.shape}'\n"
    )
    wanted = compare.ComparisonRequest("s", dtypes.parse("float32"), (2, 2), Rule(verify=f"{module}:total"))
    partial = array("float32", [[1, 2], [3, 4]])
    compared = user_functions.verify_unlike(wanted, array("float64", [10.0]), dtypes.parse("float64"), partial)
    assert (compared.same, compared.identical, compared.differing) == (True, False, 0)
    assert compared.message == "float64(1,) float32(2, 2)"
    wrong = user_functions.verify_unlike(wanted, array("int64", 11), dtypes.parse("int64"), partial)
    assert (wrong.same, wrong.differing, wrong.of) == (False, 4, 4)


def test_files_that_cannot_be_loaded(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("x = 1\nimport no_such_module_at_all\n")
    for path, text in {
        f"{tmp_path}/none.py:f": "there is no file",
        f"{tmp_path}/broken.py:f": r"ModuleNotFoundError: No module named 'no_such_module_at_all' \(line 2 of",
        "no function": "names no function",
    }.items():
        with pytest.raises(UsageError, match=text):
            user_functions.load(path)


def test_identical_buffers_still_meet_verify(module: Path) -> None:
    wanted = request("float32", (4,), Rule(verify=f"{module}:nothing"))
    assert compare.needs_array_when_identical(wanted.rule, wanted.element_type)
    same = array("float32", [1, 2, 3, 4])
    assert not compare.compare(wanted, same, same).same
    with pytest.raises(ValueError, match="must see"):
        compare.identical(wanted)


def test_what_users_see() -> None:
    assert user_functions.for_user(array("bfloat16", [1.5]), dtypes.parse("bfloat16")).tolist() == [1.5]
    assert user_functions.for_user(array("float3", [(1, 2, 3)]), dtypes.parse("float3")).tolist() == [[1.0, 2.0, 3.0]]
    assert user_functions.for_user(
        array("{x:int32,y:float32}", [(1, 2)]), dtypes.parse("{x:int32,y:float32}")
    ).dtype.names

"""Values of a reference: exact, or compared in float64, or refused; as they are where `verify` decides."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpuregress.foundation.records import Buffer
from gpuregress.jobs.inputs.reference_values import ReferenceFailed, settle

OUT = Buffer("out", "float32", (2, 2))


def test_exact_values_are_the_buffers() -> None:
    result = settle([[1, 2], [3, 4]], OUT, "f returned")
    assert result.array.dtype == np.float32
    assert (result.element.name, result.wide) == ("float32", None)


def test_other_floats_are_kept_in_float64() -> None:
    result = settle(np.full((2, 2), 0.1), OUT, "f returned")
    assert result.wide is not None
    assert result.array.dtype == np.float32
    assert result.wide.tolist() == [[0.1, 0.1], [0.1, 0.1]]


@pytest.mark.parametrize("shape", [(4,), (4, 1)])
def test_a_file_may_be_flat_and_a_functions_result_may_not(shape: tuple[int, ...]) -> None:
    values = np.zeros(shape)
    with pytest.raises(ReferenceFailed, match=rf"f returned shape \[{shape[0]}.*; out has \[2, 2\]"):
        settle(values, OUT, "f returned")
    assert settle(values, OUT, "x.npy holds", any_shape=True).array.shape == (2, 2)


@pytest.mark.parametrize(
    ("values", "dtype", "shape"),
    [
        (10.0, "float64", ()),
        (np.array([10], np.float32), "float32", (1,)),
        (np.array([3], ">i8"), "int64", (1,)),
        ([True, False], "bool", (2,)),
        (np.array([1 + 2j]), "complex128", (1,)),
        (np.array([(1, 0.5)], [("id", "<i4"), ("score", "<f8")]), "{id:int32,score:float64}", (1,)),
        (np.full((2, 2), 1e300), "float64", (2, 2)),
    ],
)
def test_verify_gets_any_shape_and_dtype(values: Any, dtype: str, shape: tuple[int, ...]) -> None:
    with pytest.raises(ReferenceFailed):
        settle(values, OUT, "f returned")
    result = settle(values, OUT, "f returned", is_verified=True)
    assert (result.element.name, result.array.shape, result.wide) == (dtype, shape, None)
    assert result.array.tolist() == np.asarray(values).tolist()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([], "f returned an array of shape [0], which has no element"),
        (["a"], "f returned list, not an array of numbers"),
        (np.array(["a"]), "f returned an array of <U1, not an array of numbers"),
        (np.zeros(2, np.longdouble), "of which there is no dump"),
        (np.zeros(2, [("a", "f4", (3,))]), "of which there is no dump"),
    ],
)
def test_what_no_verify_function_is_asked_about(values: Any, message: str) -> None:
    with pytest.raises(ReferenceFailed) as caught:
        settle(values, OUT, "f returned", is_verified=True)
    assert message in str(caught.value)

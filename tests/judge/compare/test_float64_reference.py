"""Gold standards in float64 against buffers of narrower floats: neither side is rounded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpuregress.foundation import dtypes
from gpuregress.foundation.numeric import conversion
from gpuregress.foundation.records import Comparison, Outliers, Rule, Sigmas, StatisticLimits, UlpFigures
from gpuregress.judge.compare import float64_reference
from gpuregress.judge.compare.comparison_request import ComparisonRequest


def against(dtype: str, gold: Any, actual: Any, rule: Rule) -> Comparison:
    element = dtypes.parse(dtype)
    wide = conversion.convert(np.asarray(gold), dtypes.widened(element), (len(gold),), exact=True)
    stored = conversion.convert(np.asarray(actual), element, (len(gold),))
    return float64_reference.compare(ComparisonRequest("out", element, (len(gold),), rule, "reference"), wide, stored)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("off", [0.9, 1.1])
def test_a_tolerance_is_of_the_unrounded_value(dtype: str, off: float) -> None:
    error = abs(
        float(
            conversion.widened(conversion.convert(np.array([0.1]), dtypes.parse(dtype), (1,)), dtypes.parse(dtype))[0]
        )
        - 0.1
    )
    for rule in (Rule(atol=error * off), Rule(rtol=error * off / 0.1), Rule(metric={"max": error * off})):
        assert against(dtype, [0.1], [0.1], rule).same == (off > 1), rule


def test_every_way_of_comparing_takes_it() -> None:
    gold, near = [0.3, 0.1, 0.2], [0.1, 0.2, 0.3]
    assert against("float32", gold, near, Rule(order="any", rtol=1e-6)).same
    assert not against("float32", gold, near, Rule(rtol=1e-6)).same
    assert not against("float32", gold, near, Rule(order="any", rtol=1e-12)).same
    assert against("float32", gold, near, Rule(statistics=StatisticLimits(mean=Sigmas(3)))).same
    outliers = Rule(rtol=1e-12, outliers=Outliers(0.5, 1e-6))
    assert not against("float32", gold, gold, outliers).same
    assert against("float32", [0.1, 0.5, 0.25], [0.1, 0.5, 0.25], outliers).same
    record = "{id:int32,score:float32}"
    fields = [("id", "i4"), ("score", "f8")]
    rows, others = np.array([(1, 0.1), (2, 0.2)], fields), np.array([(2, 0.2), (1, 0.1)], fields)
    assert against(record, rows, others, Rule(key=("id",), rtol=1e-6)).same
    assert against(record, rows, others, Rule(order="any", rtol=1e-6)).same
    others["id"] += 1
    assert not against(record, rows, others, Rule(key=("id",), rtol=1e-6)).same


def test_an_exact_rule_names_the_first_value_that_the_dtype_has_not() -> None:
    result = against("float2", [(0.5, 1), (0.5, 0.1)], [(0.5, 1), (0.5, 0.1)], Rule())
    assert (result.same, result.differing) == (False, 1)
    assert (
        "[1] of the reference, 0.1, is not exact in float32: return float32, or give a tolerance or ulp"
        in result.message
    )
    assert (
        "[0] of the reference, 0.1, is not exact in float16"
        in against("float16", [0.1], [0.1], Rule(order="any")).message
    )


def test_an_infinity_is_near_no_number_and_steps_of_float64_are_not_told() -> None:
    assert not against("float32", [3.3e38 + 1e20], [np.inf], Rule(rtol=0.9)).same
    assert against("float32", [0.1, np.inf], [0.1, np.inf], Rule(rtol=1e-6)).same
    result = against("float32", [0.1, 5.0], [0.2, 5.0], Rule(rtol=1e-6))
    assert result.worst is not None
    assert (result.worst.ulp, result.first[0].ulp, result.figures.compared_as) == (None, None, "float64")
    assert not isinstance(result.figures, UlpFigures)

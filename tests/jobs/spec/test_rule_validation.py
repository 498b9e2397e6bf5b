"""Rules that are refused before anything runs."""

from __future__ import annotations

import math
from typing import Any

import pytest

from gpuregress.foundation import dtypes
from gpuregress.foundation.records import Outliers, Rule, Sigmas, StatisticLimits
from gpuregress.jobs.spec.resolve.rules import validate_rule, validate_sample

RECORD = "{id:int32,score:float32}"


@pytest.mark.parametrize(
    ("rule", "dtype", "message"),
    [
        (Rule(rtol=1.0, order="any"), "float32", "rtol: is 1: it must be below 1"),
        (Rule(rtol=2.0, key=("id",)), RECORD, "rtol: is 2"),
        (Rule(rtol=1.0), "float64", "rtol: is 1"),
        (Rule(rtol=1.0), "int32", "rtol: is 1"),
        (Rule(rtol=1.0, atol=1e-3), "float16", "rtol: is 1"),
        (Rule(atol=127), "int8", "atol: is 127: the largest int8 is 127"),
        (Rule(atol=65504.0), "float16", "the largest float16 is 65504"),
        (Rule(atol=3.5e38), "float2", "the largest float32 (x) is 3.4028235e+38"),
        (Rule(atol=200), "{id:int8,score:float32}", "the largest int8 (id) is 127"),
        (Rule(ulp=1 << 23), "float32", "8388608 steps of float32 lie between a number and its double"),
        (Rule(ulp=1 << 52), "float64", "hardly fail"),
        (Rule(ulp=1 << 30), "float32", "hardly fail"),
        (Rule(ulp=128), "bfloat16", "hardly fail"),
        (Rule(metric={"l2": 1.0}), "float32", "metric.l2: is 1"),
        (Rule(metric={"mean": 127}), "int8", "the largest int8"),
        (Rule(metric={"max": 1}), "bool", "metric: has no meaning for booleans"),
        (Rule(rtol=1e-6, outliers=Outliers(0.1, 1.0)), "float32", "outliers.rtol: is 1"),
        (Rule(rtol=1e-6, outliers=Outliers(0.1, 0.0, 4e38)), "float32", "outliers.atol: is 4e+38"),
        (Rule(statistics=StatisticLimits(variance=Sigmas(101))), "float32", "statistics.variance.sigmas: is 101"),
        (Rule(ulp=2), "int32", "use atol"),
        (Rule(atol=-1.0), "float32", "0 or more"),
        (Rule(rtol=math.inf), "float32", "never fail"),
        (Rule(rtol=math.nan), "float32", "0 or more"),
        (Rule(atol=255), "uint8", "hardly fail"),
        (Rule(atol=131008), "float16", "hardly fail"),
        (Rule(ulp=1 << 16), "float16", "hardly fail"),
        (Rule(atol=1), "bool", "booleans"),
        (Rule(nan="never"), "int32", "has no NaN"),
        (Rule(key=("name",)), RECORD, "it has id, score"),
        (Rule(outliers=Outliers(0.1, 1e-2)), "float32", "first bound"),
        (Rule(rtol=1e-6, outliers=Outliers(1.0, 1e-2)), "float32", "every element"),
        (Rule(rtol=1e-2, outliers=Outliers(0.1, 1e-6)), "float32", "wider"),
        (Rule(metric={"rmse": 1.0}), "float32", "unknown metric 'rmse'; expected one of max, mean, rms, l2"),
        (Rule(metric={"rms": math.inf}), "float32", "never fail"),
        (Rule(metric={"rms": 1.0}, order="any"), RECORD, "key columns"),
        (Rule(statistics=StatisticLimits(mean=Sigmas(0))), "float32", "over 0"),
        (Rule(statistics=StatisticLimits(ks=1.5)), "float32", "under 1"),
        (Rule(statistics=StatisticLimits(ks=0.01), rtol=0.1), "float32", "one of the two"),
        (Rule(statistics=StatisticLimits(mean=Sigmas(1e30))), "float32", "hardly fail"),
        (Rule(rtol=1e30), "float32", "below 1"),
        (Rule(rtol=0.1, atol=0.0, metric={"l2": 1e30}), "float64", "metric.l2: is 1e+30"),
        (Rule(metric={"rms": 1e39}), "float32", "hardly fail"),
        (Rule(metric={"max": 255}), "uint8", "hardly fail"),
    ],
)
def test_refused(rule: Rule, dtype: str, message: str) -> None:
    messages = [f"{'.'.join(key)}: {text}" for key, text in validate_rule(rule, dtypes.parse(dtype))]
    assert len(messages) == 1
    assert message in messages[0]


@pytest.mark.parametrize(
    ("rule", "dtype"),
    [
        (Rule(), "float32"),
        (Rule(rtol=0.99), "float32"),
        (Rule(ulp=(1 << 23) - 1), "float32"),
        (Rule(atol=3.4e38), "float32"),
        (Rule(key=("id",), atol=200), "{id:int8,score:float32}"),
        (Rule(atol=2), "{on:bool,score:float32}"),
        (Rule(metric={"l2": 0.99}), "float32"),
        (Rule(rtol=0.5, order="any"), "float32"),
        (Rule(atol=254), "uint8"),
        (Rule(ulp=4), RECORD),
        (Rule(key=("id",), rtol=1e-3), RECORD),
        (Rule(rtol=1e-6, outliers=Outliers(1e-3, 1e-2)), "float32"),
        (Rule(statistics=StatisticLimits(mean=Sigmas(4), ks=0.01)), "float32"),
        (Rule(verify="f.py:f", rtol=math.inf), "float32"),
        (Rule(metric={"max": 254}), "uint8"),
        (Rule(metric={"rms": 1e-3}, order="any"), "float32"),
    ],
)
def test_sound(rule: Rule, dtype: str) -> None:
    assert validate_rule(rule, dtypes.parse(dtype)) == []


def test_all_that_is_wrong_is_said_at_once() -> None:
    wrong: Any = Rule(rtol=-1.0, ulp=1, nan="never")
    assert len(validate_rule(wrong, dtypes.parse("int32"))) == 3


def test_a_p_value_that_no_sample_of_that_size_reaches() -> None:
    rule = Rule(statistics=StatisticLimits(ks=0.01))
    assert "can never fail" in validate_sample(rule, 2)[0][1]
    assert validate_sample(rule, 100) == []
    assert validate_sample(Rule(rtol=0.1), 1) == []

from __future__ import annotations

import numpy as np
import pytest

from gpuregress.execution.runner.axes import twin_causes
from gpuregress.execution.runner.axes.twin_causes import CauseTrial
from gpuregress.foundation import dtypes

FLOAT = {"y": dtypes.parse("float32")}
HOST = {"y": np.array([1, 2, 3, 4], np.float32)}


def results(*values: float) -> dict[str, np.ndarray]:
    return {"y": np.array(values, np.float32)}


def test_each_element_is_explained_by_the_first_trial_that_agrees() -> None:
    trials = [
        CauseTrial("fma", "fused", lambda: results(1, 2, 9, 9)),
        CauseTrial("fast math", "fast", lambda: results(1, 2, 3, 9)),
        CauseTrial("fma", "host", host=lambda: results(1, 8, 8, 8)),
    ]
    (causes,) = twin_causes.explain(FLOAT, results(1, 8, 8, 7), HOST, trials, ()).values()
    assert [(cause.name, cause.elements, cause.of) for cause in causes] == [
        ("fma", 1, 3),
        ("fast math", 1, 3),
        ("unexplained", 1, 3),
    ]
    assert causes[0].message == "fused (1 of 3 differing elements)"


def test_the_library_is_named_for_what_no_trial_explains() -> None:
    (causes,) = twin_causes.explain(FLOAT, results(1, 2, 3, 5), HOST, [], ("sinf", "expf")).values()
    assert [cause.name for cause in causes] == ["library"]
    assert "likely the library: it calls sinf and expf" in causes[0].message


def test_trials_end_when_all_is_explained() -> None:
    trials = [CauseTrial("fma", "", lambda: dict(HOST)), CauseTrial("fma", "", lambda: pytest.fail("not needed"))]
    assert twin_causes.explain(FLOAT, results(0, 0, 0, 0), HOST, trials, ("sinf",))["y"][0].elements == 4
    assert twin_causes.explain(FLOAT, dict(HOST), HOST, trials, ()) == {}


def test_any_nan_equals_any_nan_and_zeros_have_signs() -> None:
    bits = np.array([0x7FC00000, 0, 0x3F800000], np.uint32).view(np.float32)
    other = np.array([0xFFFFFFFF, 0x80000000, 0x3F800000], np.uint32).view(np.float32)
    assert twin_causes.differing(dtypes.parse("float32"), bits, other).tolist() == [False, True, False]


def test_records_differ_in_any_part() -> None:
    element = dtypes.parse("{a:int8,b:float32}")
    one, other = (np.zeros(3, element.storage) for _ in range(2))
    other["b"][1] = 1
    assert twin_causes.differing(element, one, other).tolist() == [False, True, False]


def test_options() -> None:
    options = ("--use_fast_math", "-lineinfo", "--fmad=true")
    assert twin_causes.is_fast(options)
    assert twin_causes.without_fast_math(options) == ("-lineinfo",)
    assert twin_causes.without_contraction(options) == ("--use_fast_math", "-lineinfo", "--fmad=false")
    assert not twin_causes.is_fast(("-lineinfo",))

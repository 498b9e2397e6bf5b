"""Each pattern is found where it was planted, comes first, and is not found in noise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuregress.judge.diagnose import pattern_table
from gpuregress.judge.diagnose.evidence import Evidence
from tests.judge.diagnose.planted import LINE, POISON, evidence, findings, launch, noise


def test_the_poison_of_floats_is_told_once_and_other_nans_still_are() -> None:
    poison = bytes.fromhex("fd7f")
    e = noise("float32", (1000,))
    a = e.copy()
    a[900:] = np.frombuffer(poison * 2, np.float32)[0]
    assert "never written" in findings(e, a, poison=poison)
    assert "nan" not in findings(e, a, poison=poison)
    a[800:900] = np.nan
    assert "nan" in findings(e, a, poison=poison)


def test_one_element_is_told_in_the_singular() -> None:
    e = noise("float32", (1000,))
    a = e.copy()
    a[7] = np.nan
    assert findings(e, a)["nan"].startswith("the one differing element is NaN")


def test_rows_with_several_parts() -> None:
    """A pattern in one field is named with it, and weighs by the rows it explains."""
    kind = np.dtype([("id", "<i4"), ("score", "<f4")])
    e = np.zeros(100, kind)
    e["id"], e["score"] = np.arange(100), noise("float32", (100,))
    a = e.copy()
    a["score"][10:50] = 0
    result = pattern_table.diagnose(evidence(e, a, dtype="{id:int32,score:float32}"))
    assert result[0].message == "score: all 40 differing elements are 0 instead of a value"
    assert result[0].weight == 1.0


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "uint8", "int64", "complex64"])
@given(seed=st.integers(0, 2**32), count=st.integers(2, 300))
@settings(max_examples=15)
def test_noise_has_no_pattern(dtype: str, seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    e, other = noise(dtype, (30, 40), seed), noise(dtype, (30, 40), seed + 1)
    at = rng.choice(1200, count, replace=False)
    a = e.reshape(-1).copy()
    a[at] = other.reshape(-1)[at]
    for how in (None, launch((10, 1, 1), (128, 1, 1)), launch((3, 2, 1), (16, 16, 1))):
        assert findings(e, a.reshape(30, 40), how, poison=POISON, inputs={"x": noise("float32", (4800,))}) == {}


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_noise_everywhere_has_no_pattern(dtype: str) -> None:
    assert findings(noise(dtype, (1000,)), noise(dtype, (1000,), 1), LINE, poison=POISON) == {}


def test_nothing_differs() -> None:
    e = noise("float32", (10,))
    assert pattern_table.diagnose(evidence(e, e)) == ()


def test_sparse_rows_are_enough_for_most() -> None:
    e = noise("float32", (1000,))
    a = e.copy()
    a[896:] = 0
    full = evidence(e, a, LINE)
    sparse = Evidence(full.element_type, full.shape, full.indices, full.expected, full.actual, LINE)
    assert [result.pattern for result in pattern_table.diagnose(sparse)] == ["zeros", "tail", "blocks"]

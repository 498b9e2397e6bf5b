"""Wrong values by a factor, an offset, a sign, rounding, a narrower type."""

from __future__ import annotations

import numpy as np
import pytest

from gpuregress.gpu.records import replace
from gpuregress.judge.diagnose import pattern_table
from tests.judge.diagnose.planted import evidence, findings, first, noise


def test_rounding_only() -> None:
    e = noise("float32", (1000,))
    a = e.copy()
    a[::3] = np.nextafter(a[::3], np.float32(9))
    pattern, message = first(e, a)
    assert pattern == "rounding"
    assert message == "rounding only: all 334 differences are of at most 1 ulp"
    a[1] *= np.float32(1.01)
    assert findings(e, a)["rounding"] == "rounding: 334 of 335 differences are of at most 1 ulp"
    a[1:100:3] *= np.float32(1.01)
    assert "rounding" not in findings(e, a)


def test_rounding_at_the_scale_of_the_buffer() -> None:
    """Terms that are added in another order: sums that cancel, and sums of many terms."""
    terms = noise("float32", (400, 1024))
    terms[7] = np.concatenate([terms[7, :512], -terms[7, :512]])
    e, a = terms.cumsum(axis=1)[:, -1], terms.sum(axis=1)
    own = findings(e[7:8], a[7:8])
    assert "rounding" not in own  # a lone value has no other scale
    pattern, message = first(e, a)
    assert pattern == "rounding"
    assert message.endswith("the scale of the buffer")
    broken = [7]  # only the sum that cancels breaks a rule
    full = evidence(e, a)
    at = np.flatnonzero(np.isin(full.indices, broken))
    rows = replace(full, indices=full.indices[at], expected=full.expected[at], actual=full.actual[at])
    assert [one.pattern for one in pattern_table.diagnose(rows)] == ["rounding"]
    half = terms[:, :512].sum(axis=1)
    assert "rounding" not in findings(e, half)
    small = np.where(np.arange(400) % 2, np.float32(1e6), np.abs(e) * np.float32(1e-4))
    wrong = np.where(np.arange(400) % 2, np.nextafter(small, np.float32(9e9)), small * np.float32(3))
    assert "rounding" not in findings(small, wrong)  # half of the values are wrong, beside large ones


@pytest.mark.parametrize(
    ("dtype", "lengths", "is_rounding"),
    [
        ("float32", [], False),
        ("float32", [1 << 20], True),  # rows of 16,384 terms
        ("float32", [4 * 8192, 8192 * 16], True),  # a product with an inner axis of 8,192
        ("float32", [64, 64], False),
        ("float16", [1 << 20], False),  # 100 steps are a tenth
    ],
)
def test_sums_of_more_terms_are_rounded_more(dtype: str, lengths: list[int], *, is_rounding: bool) -> None:
    kind, step = np.dtype(dtype), np.finfo(dtype).eps * 512
    e = (noise(dtype, (4, 16)) + 1000).astype(kind)
    a = (e + 100 * step).astype(kind)
    a[:, ::2] -= kind.type(40 * step)
    inputs = {f"x{number}": np.zeros(length, np.float32) for number, length in enumerate(lengths)}
    assert ("rounding" in findings(e, a, inputs=inputs)) == is_rounding


def test_sign() -> None:
    e = noise("float32", (1000,))
    a = e.copy()
    a[100:200] *= -1
    assert first(e, a) == ("sign", "all 100 differing elements have the other sign")
    assert first(np.zeros(9), np.full(9, -0.0))[1] == "all 9 differing elements are 0, but for the sign of the zero"


def test_conjugate() -> None:
    e = noise("complex64", (100,))
    assert first(e, e.conj()) == ("sign", "imag: all 100 differing elements have the other sign")


@pytest.mark.parametrize(
    ("value", "name"),
    [(2.0, "2"), (0.5, "1/2"), (1 / 128, "1/128"), (np.pi / 180, "pi/180"), (-3.7, "-3.7"), (-2, "-2")],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_constant_factor(value: float, name: str, dtype: str) -> None:
    e = noise(dtype, (300,))
    pattern, message = first(e, (e * value).astype(dtype))
    assert (pattern, message) == ("factor", f"all 300 differing elements are {name} times what they should be")


def test_a_factor_that_is_almost_one_is_not_shown_as_one() -> None:
    e = noise("float64", (300,))
    assert first(e, e * (1 + 3e-7))[1] == "all 300 differing elements are 1.0000003 times what they should be"


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8"])
def test_constant_offset(dtype: str) -> None:
    e = np.arange(3, 103).astype(dtype)
    a = e.copy()
    a[20:60] += 3
    actual = findings(e, a)
    assert actual["offset"] == "all 40 differing elements are off by +3"


@pytest.mark.parametrize(
    ("dtype", "narrow", "text"),
    [("float32", "float16", "half (or tf32)"), ("float64", "float32", "single"), ("float64", "float16", "half")],
)
def test_precision(dtype: str, narrow: str, text: str) -> None:
    e = noise(dtype, (500,))
    pattern, message = first(e, e.astype(narrow).astype(dtype))
    assert pattern == "precision"
    assert message == f"all 500 differing elements have the precision of {text} where {dtype} was expected"


def test_bfloat16_precision() -> None:
    e = noise("float32", (500,))
    assert "bfloat16" in first(e, (e.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32))[1]

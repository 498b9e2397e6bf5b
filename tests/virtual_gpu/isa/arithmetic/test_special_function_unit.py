"""The special-function unit against the rules it was measured by, written a second time in numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from gpuregress.virtual_gpu.runtime.special_function_tables import table
from tests.conformance.catalog.computing import forms
from tests.virtual_gpu.isa.harness import Lanes
from tests.virtual_gpu.isa.samples import edges

Array = npt.NDArray[Any]
NAN = np.uint32(0x7FFFFFFF)
_SIZE = 1 << 18


def _f(bits: Array) -> Array:
    return bits.astype(np.uint32).view(np.float32)


def _b(values: Array) -> Array:
    return np.asarray(values, np.float32).view(np.uint32)


def _fields(x: Array) -> tuple[Array, Array, Array]:
    """Sign bit, exponent, mantissa."""
    return x & np.uint32(1 << 31), (x >> 23 & 255).astype(np.int64) - 127, (x & 0x7FFFFF).astype(np.int64)


def _scale(bits: Array, power: Array) -> Array:
    exponent = (bits >> 23).astype(np.int64) + power
    moved = (bits & 0x7FFFFF | np.clip(exponent, 0, 255).astype(np.uint32) << 23).astype(np.uint32)
    return np.where(exponent <= 0, 0, np.where(exponent >= 255, 0x7F800000, moved)).astype(np.uint32)


def _finish(x: Array, result: Array, *cases: tuple[Array, Any]) -> Array:
    conditions = [x & 0x7FFFFFFF > 0x7F800000, *(condition for condition, _ in cases)]
    values = [np.broadcast_to(np.asarray(value, np.int64), x.shape) for value in (NAN, *(v for _, v in cases))]
    return np.select(conditions, values, result.astype(np.int64)).astype(np.uint32)


def ex2(x: Array) -> Array:
    value = np.clip(np.nan_to_num(_f(x), nan=0.0), -500, 500).astype(np.float64)
    k = np.trunc(np.abs(value) * 2.0**23).astype(np.int64)
    fixed = np.where(value >= 0, k, np.where(k % (1 << 23) == 0, -k, -k - 1))
    result = _scale(table("ex2")[fixed % (1 << 23)], fixed >> 23)
    tiny = (x & 0x7FFFFFFF) < 1 << 23
    return _finish(x, result, (tiny, 0x3F800000), (_f(x) >= 128, 0x7F800000), (_f(x) <= -150, 0))


def rcp(x: Array) -> Array:
    sign, e, m = _fields(x)
    size = x & 0x7FFFFFFF
    result = sign | _scale(table("rcp_0")[m], -e)
    return _finish(x, result, (size < 1 << 23, sign | 0x7F800000), (size == 0x7F800000, sign))


def rsqrt(x: Array) -> Array:
    sign, e, m = _fields(x)
    size, p = x & 0x7FFFFFFF, e & 1
    entry = np.where(p == 0, table("rsqrt_0")[m], table("rsqrt_1")[m])
    zero, infinite = size < 1 << 23, size == 0x7F800000
    return _finish(x, _scale(entry, -(e - p) // 2), (zero, sign | 0x7F800000), (sign > 0, NAN), (infinite, 0))


def sqrt(x: Array) -> Array:
    sign, e, m = _fields(x)
    size, p = x & 0x7FFFFFFF, e & 1
    entry = np.where(p == 0, table("sqrt_0")[m], table("sqrt_1")[m])
    zero, infinite = size < 1 << 23, size == 0x7F800000
    return _finish(x, _scale(entry, (e - p) // 2), (zero, sign), (sign > 0, NAN), (infinite, 0x7F800000))


def lg2(x: Array) -> Array:
    sign, e, m = _fields(x)
    size = x & 0x7FFFFFFF
    added = np.where(e >= 0, e, e + 1)
    entry = np.where(e >= 0, table("lg2_e0")[m], table("lg2_e-1")[m])
    exact = added + _f(entry).astype(np.float64)
    rounded = exact.astype(np.float32)
    rounded = np.where(
        np.abs(rounded.astype(np.float64)) > np.abs(exact), np.nextafter(rounded, np.float32(0)), rounded
    )
    result = np.where(added == 0, entry, _b(rounded))
    zero, infinite = size < 1 << 23, size == 0x7F800000
    return _finish(x, result, (zero, 0xFF800000), (sign > 0, NAN), (infinite, 0x7F800000))


def _turns(x: Array) -> tuple[Array, Array]:
    product = np.abs(np.where(np.isfinite(_f(x)), _f(x), 0).astype(np.float64)) * float(np.float32(0.15915494))
    y = product.astype(np.float32)
    y = np.where(y.astype(np.float64) > product, np.nextafter(y, np.float32(0)), y).astype(np.float64)
    y = np.where(y < 2.0**-126, 0, y)
    i = np.trunc((y - np.floor(y)) * 2.0**25).astype(np.int64)
    return i >> 23, i & 0x7FFFFF


def sin(x: Array) -> Array:
    q, k = _turns(x)
    sign, size = x & np.uint32(1 << 31), x & 0x7FFFFFFF
    value = table("sin_q1")[np.where(q % 2 == 1, 0x7FFFFF - k, k)] ^ np.where(q >= 2, 1 << 31, 0) ^ sign
    return _finish(x, value, (size == 0x7F800000, NAN), (size < 1 << 23, sign))


def cos(x: Array) -> Array:
    q, k = _turns(x)
    size = x & 0x7FFFFFFF
    value = table("cos_q1")[np.where(q % 2 == 1, 0x7FFFFF - k, k)] ^ np.where((q == 1) | (q == 2), 1 << 31, 0)
    return _finish(x, value, (size == 0x7F800000, NAN), (size < 1 << 23, 0x3F800000))


def tanh(x: Array) -> Array:
    sign, e, m = _fields(x)
    shift = np.array([6, 6, 6, 5, 5, 4, 4, 4, 3, 2, 3])
    start = np.array([0, 131072, 262144, 393216, 655360, 917504, 1441792, 1966080, 2490368, 3538944, 5636096])
    row = np.clip(e, -8, 2) + 8
    result = table("tanh")[np.where((e >= -8) & (e <= 2), start[row] + (m >> shift[row]), 0)] | sign
    return _finish(x, result, (e < -8, x), (e >= 3, sign | 0x3F800000))


def _full(unit: Callable[[Array], Array], up: float, down: float) -> Callable[[Array], Array]:
    """A subnormal operand is scaled up, its result down."""

    def apply(x: Array) -> Array:
        small = np.abs(_f(x)) < np.float32(2.0**-126)
        result = _f(unit(np.where(small, _b(_f(x) * np.float32(up)), x)))
        return _canonical(np.where(small, result * np.float32(down), result))

    return apply


def _canonical(values: Array) -> Array:
    return np.where(np.isnan(values), NAN, _b(values))


def ex2_full(x: Array) -> Array:
    low = _f(x) < -126
    result = _f(ex2(np.where(low, _b(_f(x) * np.float32(0.5)), x)))
    return _canonical(np.where(low, result * result, result))


def rcp_full(x: Array) -> Array:
    large = np.abs(_f(x)) > np.float32(2.0**126)
    inner = _full(rcp, 2.0**24, 2.0**24)
    result = _f(inner(np.where(large, _b(_f(x) * np.float32(0.25)), x)))
    return _canonical(np.where(large, result * np.float32(0.25), result))


def lg2_full(x: Array) -> Array:
    small = np.abs(_f(x)) < np.float32(2.0**-126)
    result = _f(lg2(np.where(small, _b(_f(x) * np.float32(2.0**24)), x)))
    return _canonical(np.where(small, result - np.float32(24), result))


RULES = {
    "ex2.approx.ftz.f32": ex2,
    "rcp.approx.ftz.f32": rcp,
    "rsqrt.approx.ftz.f32": rsqrt,
    "sqrt.approx.ftz.f32": sqrt,
    "lg2.approx.ftz.f32": lg2,
    "sin.approx.ftz.f32": sin,
    "cos.approx.ftz.f32": cos,
    "ex2.approx.f32": ex2_full,
    "rcp.approx.f32": rcp_full,
    "rsqrt.approx.f32": _full(rsqrt, 2.0**24, 4096),
    "sqrt.approx.f32": _full(sqrt, 2.0**24, 1 / 4096),
    "lg2.approx.f32": lg2_full,
    "sin.approx.f32": sin,
    "cos.approx.f32": cos,
    "tanh.approx.f32": tanh,
}


@pytest.fixture(scope="module")
def lanes() -> Lanes:
    return Lanes({f"f{i}": (form.text, form.inputs, form.outputs) for i, form in enumerate(forms("approximate"))})


def _run(lanes: Lanes, name: str, *arrays: Array) -> Array:
    position = [form.name for form in forms("approximate")].index(name)
    return lanes.run(f"f{position}", *arrays)[0]


def _operands() -> Array:
    """Edges, their neighbours, all exponents, and random bits, half of them of middling size."""
    generator = np.random.default_rng(7)
    anything = generator.integers(0, 1 << 32, _SIZE, dtype=np.uint64).astype(np.uint32)
    middling = anything & ~np.uint32(0x7F800000) | generator.integers(110, 140, _SIZE).astype(np.uint32) << np.uint32(
        23
    )
    known = np.array(edges("f32"), np.uint32)
    exponents = np.arange(512, dtype=np.uint32) << np.uint32(23)
    parts = [known, known + np.uint32(1), known - np.uint32(1), exponents, exponents - np.uint32(1), anything, middling]
    return np.concatenate(parts)


@pytest.mark.parametrize("name", sorted(RULES))
def test_the_unit_follows_the_measured_rules(lanes: Lanes, name: str) -> None:
    x = _operands()
    with np.errstate(all="ignore"):
        expected = RULES[name](x)
    result = _run(lanes, name, x)
    wrong = np.flatnonzero(result != expected)
    assert not len(wrong), [(hex(x[i]), hex(result[i]), hex(expected[i])) for i in wrong[:3]]


@pytest.mark.parametrize(
    ("name", "function", "low", "high", "error"),
    [
        ("ex2.approx.ftz.f32", np.exp2, -20.0, 20.0, 2.0**-22),
        ("lg2.approx.ftz.f32", np.log2, 2.0, 1e6, 2.0**-21),
        ("rcp.approx.ftz.f32", lambda x: 1 / x, 1e-3, 1e3, 2.0**-22.9),
        ("rsqrt.approx.ftz.f32", lambda x: 1 / np.sqrt(x), 1e-3, 1e3, 2.0**-22.4),
        ("sqrt.approx.ftz.f32", np.sqrt, 1e-3, 1e3, 2.0**-22),
        ("tanh.approx.f32", np.tanh, 0.01, 7.0, 2.0**-10.9),
    ],
)
def test_the_unit_is_as_near_as_nvidia_says(
    lanes: Lanes, name: str, function: Callable[[Array], Array], low: float, high: float, error: float
) -> None:
    x = np.linspace(low, high, 50_000).astype(np.float32)
    result = _f(_run(lanes, name, _b(x))).astype(np.float64)
    exact = function(x.astype(np.float64))
    assert np.max(np.abs(result / exact - 1)) < error


@pytest.mark.parametrize(("name", "function"), [("sin.approx.f32", np.sin), ("cos.approx.f32", np.cos)])
def test_sine_and_cosine_are_near_between_minus_and_plus_pi(
    lanes: Lanes, name: str, function: Callable[[Array], Array]
) -> None:
    x = np.linspace(-np.pi, np.pi, 50_000).astype(np.float32)
    result = _f(_run(lanes, name, _b(x))).astype(np.float64)
    assert np.max(np.abs(result - function(x.astype(np.float64)))) < 2.0**-20.5


def test_double_reciprocals_read_the_high_word_only(lanes: Lanes) -> None:
    x = np.linspace(1e-5, 1e5, 10_000)
    for name, exact in (("rcp.approx.ftz.f64", 1 / x), ("rsqrt.approx.ftz.f64", 1 / np.sqrt(x))):
        bits = x.view(np.uint64)
        result = _run(lanes, name, bits)
        assert np.array_equal(result, _run(lanes, name, bits | np.uint64(0xFFFFFFFF)))
        assert not np.any(result & np.uint64(0xFFFFFFFF))
        assert np.max(np.abs(result.view(np.float64) / exact - 1)) < 2.0**-19
    edge = np.array([0x0, 0x8000000000000000, 0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000001, 1], np.uint64)
    high = [hex(int(v) >> 32) for v in _run(lanes, "rcp.approx.ftz.f64", edge)]
    assert high == ["0x7ff00000", "0xfff00000", "0x0", "0x80000000", "0x7fffffff", "0x7ff00000"]
    high = [hex(int(v) >> 32) for v in _run(lanes, "rsqrt.approx.ftz.f64", edge)]
    assert high == ["0x7ff00000", "0xfff00000", "0x0", "0x7fffffff", "0x7fffffff", "0x7ff00000"]


def test_the_refined_double_reciprocal_root_is_nearly_exact(lanes: Lanes) -> None:
    x = np.concatenate([np.geomspace(1e-300, 1e300, 10_000), np.geomspace(1e-322, 1e-310, 100)])
    result = _run(lanes, "rsqrt.approx.f64", x.view(np.uint64)).view(np.float64)
    assert np.max(np.abs(result * np.sqrt(x) - 1)) < 2.0**-50
    edge = np.array([0.0, -0.0, np.inf, -1.0, -np.inf], np.float64)
    actual = [hex(v) for v in _run(lanes, "rsqrt.approx.f64", edge.view(np.uint64))]
    invalid = "0xfff8000000000000"
    assert actual == ["0x7ff0000000000000", "0xfff0000000000000", "0x0", invalid, invalid]


@pytest.mark.parametrize("name", ["div.approx.f32", "div.full.f32", "div.approx.ftz.f32", "div.full.ftz.f32"])
def test_approximate_divisions_are_near(lanes: Lanes, name: str) -> None:
    generator = np.random.default_rng(3)
    a, b = (np.exp(generator.uniform(-30, 30, 20_000)).astype(np.float32) for _ in range(2))
    result = _f(_run(lanes, name, _b(a), _b(b))).astype(np.float64)
    assert np.max(np.abs(result / (a.astype(np.float64) / b) - 1)) < 2.0**-22
    top = np.array([1.5e38], np.float32)
    expected = 1.0 if "full" in name else 0.0  # the manual: for 2^126 < |b| < 2^128 div.approx gives 0
    assert _f(_run(lanes, name, _b(top), _b(top)))[0] == pytest.approx(expected)


def test_reciprocals_of_constants_are_correctly_rounded() -> None:
    """As ptxas computes them; the unit's reciprocal of 37 is another."""
    names = ("div.approx.f32", "div.full.f32", "div.approx.ftz.f32", "div.full.ftz.f32")
    programs = {name: (f"{name} %d, %a, 0f42140000", {"%a": "f32"}, {"%d": "f32"}) for name in names}
    programs |= {name: (f"{name} %d, 0f42140000", {"%a": "f32"}, {"%d": "f32"}) for name in ("rcp.approx.f32",)}
    lanes = Lanes({f"f{number}": program for number, program in enumerate(programs.values())})
    one = np.array([0x3F800000], np.uint32)
    assert {int(lanes.run(name, one)[0][0]) for name in lanes.programs} == {0x3CDD67C9}

"""Exact, tolerance, ulp and NaN policy, in order: every trap of the design that concerns them."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuregress.foundation import dtypes
from gpuregress.foundation.records import OutlierCounts, Outliers, Rule, to_json
from gpuregress.judge import compare
from tests.judge.compare.rooms import against, array, request

FLOATS = ("float16", "bfloat16", "float32", "float64")
NAN, INF = math.nan, math.inf


def test_equal_bits_are_identical() -> None:
    result = against("float32", [1.5, NAN, -0.0, INF], [1.5, NAN, -0.0, INF])
    assert result.same
    assert result.identical
    assert result.multiset_same
    assert (result.of, result.differing, result.changed, result.message) == (4, 0, 0, "")


def test_one_bit_is_a_difference() -> None:
    result = against("float32", [1.0, 2.0], [1.0, np.nextafter(np.float32(2), np.float32(3))])
    assert not result.same
    assert (result.differing, result.changed) == (1, 1)
    assert result.worst is not None
    assert result.worst.index == 1
    assert result.worst.ulp == 1
    assert result.worst.expected == "2.0"
    assert result.worst.actual == "2.0000002"
    assert result.first == (result.worst,)


@pytest.mark.parametrize("dtype", FLOATS)
def test_nan_of_another_payload_is_the_same_nan(dtype: str) -> None:
    scalar = dtypes.parse(dtype).parts[0].scalar
    quiet = array(dtype, [NAN])
    other = (quiet.view(f"u{scalar.size}") ^ np.array(1, f"u{scalar.size}")).view(quiet.dtype)
    negative = (quiet.view(f"u{scalar.size}") ^ np.array(1 << (8 * scalar.size - 1), f"u{scalar.size}")).view(
        other.dtype
    )
    for changed in (other, negative):
        assert compare.compare(request(dtype, (1,)), quiet, changed).same
        assert not compare.compare(request(dtype, (1,), Rule(nan="never")), quiet, changed).same


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("expected", "actual"), [(NAN, 1.0), (1.0, NAN), (INF, 1.0), (1.0, INF), (INF, -INF), (NAN, INF)]
)
def test_nan_and_infinity_are_near_nothing_else(dtype: str, expected: float, actual: float) -> None:
    for rule in (Rule(), Rule(rtol=0.5, atol=1e30), Rule(ulp=10**9), Rule(metric={"max": 1e30})):
        result = against(dtype, [1, expected], [1, actual], rule)
        assert not result.same, rule
        assert result.worst is not None
        assert result.worst.index == 1


@pytest.mark.parametrize("dtype", FLOATS)
def test_signed_zero(dtype: str) -> None:
    assert not against(dtype, [0.0], [-0.0]).same
    assert against(dtype, [0.0], [-0.0], Rule(signed_zero="equal")).same
    assert against(dtype, [0.0], [-0.0], Rule(atol=0)).same, "the printed formula holds"
    assert not against(dtype, [0.0], [-0.0], Rule(ulp=8)).same, "a sign change is never near"
    assert against(dtype, [0.0], [-0.0], Rule(ulp=0, signed_zero="equal")).same


def test_nan_never_looks_also_at_equal_elements() -> None:
    result = against("float32", [NAN, 1], [NAN, 1], Rule(nan="never"))
    assert not result.same
    assert result.differing == 1
    wanted = request("float32", (1,), Rule(nan="never"))
    assert compare.needs_array_when_identical(wanted.rule, wanted.element_type)
    with pytest.raises(ValueError, match="must see"):
        compare.identical(wanted)
    assert not against("float32", [NAN, 1], [NAN, 1], Rule(nan="never", metric={"max": 1.0})).same


def test_no_hidden_default_lets_small_numbers_pass() -> None:
    assert not against("float64", [1e-20], [7e-20], Rule(rtol=1e-5)).same


def test_the_baseline_is_the_reference_of_the_formula() -> None:
    assert against("float64", [110], [100], Rule(rtol=0.095)).same
    assert not against("float64", [100], [110], Rule(rtol=0.095)).same
    assert "* |expected|" in against("float64", [1], [1], Rule(rtol=0.095)).rule


def test_unsigned_bytes_do_not_wrap() -> None:
    result = against("uint8", [1], [2], Rule(atol=1))
    assert result.same
    assert result.worst is not None
    assert result.worst.absolute == 1
    assert not against("uint8", [2], [0], Rule(atol=1)).same


@pytest.mark.parametrize("base", [2**60, -(2**63), 2**63 - 1 - 10**6])
def test_large_integers_are_not_close_because_a_float_said_so(base: int) -> None:
    assert not against("int64", [base], [base + 1], Rule(atol=0)).same
    assert not against("int64", [base], [base + 10**6], Rule(atol=10**6 - 1)).same
    assert against("int64", [base], [base + 10**6], Rule(atol=10**6)).same


def test_the_widest_integer_difference() -> None:
    assert not against("int64", [-(2**63)], [2**63 - 1], Rule(atol=1e19)).same
    assert against("int64", [-(2**63)], [2**63 - 1], Rule(atol=2e19)).same
    assert not against("uint64", [0], [2**64 - 1], Rule(atol=1e19)).same
    assert against("uint64", [2**64 - 1], [0], Rule(atol=2.0**64)).same


def test_half_differences_do_not_overflow() -> None:
    result = against("float16", [65504], [-65504], Rule(atol=100_000))
    assert not result.same
    assert result.worst is not None
    assert result.worst.absolute == 131008
    assert result.worst.ulp == 2 * 0x7BFF
    assert not against("float16", [65504], [-65504], Rule(ulp=65535)).same


def test_double_differences_that_overflow() -> None:
    top = 1.7e308
    assert not against("float64", [top], [-top], Rule(atol=top)).same
    assert not against("float64", [top], [-top], Rule(rtol=0.999)).same
    assert against("float64", [top], [-top * 0.5], Rule(atol=top, rtol=0.999)).same
    both_overflow = {"atol": 1e308, "rtol": 0.9}
    for order in ("indexed", "any"):
        assert not against("float64", [-top, 1], [top, 1], Rule(**both_overflow, order=order)).same  # type: ignore[arg-type]  # keywords
    result = against("float64", [top], [-top])
    assert result.worst is not None
    assert result.worst.absolute == np.finfo(np.float64).max, "JSON knows no infinity"


def test_booleans_are_equal_or_not() -> None:
    assert not against("bool", [True, False], [True, True], Rule(atol=1)).same
    assert against("bool", [True, False], [True, False]).same


def test_integers_under_ulp_must_be_equal() -> None:
    assert not against("int32", [1], [2], Rule(ulp=4)).same


def test_tolerance_or_ulp() -> None:
    rule = Rule(atol=1e-6, ulp=2)
    assert against("float32", [1e-7, 1e6], [-1e-7, 1e6 + 0.125], rule).same
    assert not against("float32", [1e-7, 1e6], [-1e-7, 1e6 + 0.25], rule).same


@given(st.integers(0, 0xFFFF), st.integers(0, 0xFFFF), st.integers(0, 300))
def test_half_ulps_count_the_floats_between(first: int, second: int, limit: int) -> None:
    e, a = np.array([first], "<u2").view("<f2"), np.array([second], "<u2").view("<f2")
    near = compare.compare(request("float16", (1,), Rule(ulp=limit)), e, a).same
    if np.isnan(e[0]) or np.isnan(a[0]):
        assert near == bool(np.isnan(e[0]) and np.isnan(a[0]))
        return
    steps, at = 0, min(e[0], a[0])
    while at < max(e[0], a[0]) and steps <= limit:
        at, steps = np.nextafter(at, np.float16(np.inf)), steps + 1
    finite = bool(np.isfinite(e[0]) and np.isfinite(a[0]))
    allowed = first == second or (finite and bool(np.signbit(e[0]) == np.signbit(a[0])) and steps <= limit)
    assert near == allowed


@given(
    st.floats(width=32, allow_nan=False, allow_infinity=False),
    st.floats(width=32, allow_nan=False, allow_infinity=False),
    st.floats(0, 0.99),
    st.floats(0, 1e38),
)
def test_tolerance_is_the_formula_in_exact_arithmetic(e: float, a: float, rtol: float, atol: float) -> None:
    off, limit = abs(Fraction(a) - Fraction(e)), Fraction(atol) + Fraction(rtol) * abs(Fraction(e))
    if abs(off - limit) <= Fraction(1, 2**51) * max(off, limit):
        return  # the documented rounding of float64
    assert against("float32", [e], [a], Rule(rtol=rtol, atol=atol)).same == (off <= limit)


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1), st.integers(0, 2**53))
def test_integer_differences_are_exact(e: int, a: int, atol: int) -> None:
    assert against("uint64", [e], [a], Rule(atol=atol)).same == (abs(e - a) <= atol)


def test_parts_are_compared_each_by_itself() -> None:
    assert not against("complex64", [1 + 2j], [1 + 2.5j], Rule(atol=0.4)).same
    result = against("{id:int32,score:float32}", [(1, 2.0), (2, 3.0)], [(1, 2.0), (3, 3.5)])
    assert result.differing == 1
    assert [(one.index, one.part) for one in result.first] == [(1, "id"), (1, "score")]
    assert against("float3", [(1, 2, 3)], [(1, 2, 3.5)], Rule(atol=0.5)).same


def test_padding_is_not_compared() -> None:
    kind = dtypes.parse("{flag:int8,value:int32}")
    e = np.zeros(2 * kind.size, np.uint8)
    a = e.copy()
    a[1] = 99
    assert compare.compare(request(kind.name, (2,)), e.view(kind.storage), a.view(kind.storage)).identical


def test_outliers_have_a_budget_and_a_second_bound() -> None:
    expected = np.ones(1000)
    actual = expected.copy()
    actual[[3, 7]] = 1.005
    rule = Rule(rtol=1e-6, outliers=Outliers(fraction=2e-3, rtol=1e-2))
    result = against("float64", expected, actual, rule)
    assert result.same
    assert result.figures.outliers == OutlierCounts(2, 2, 0)
    actual[9] = 1.005
    assert "3 of 1000 miss the bound, 2 may" in against("float64", expected, actual, rule).message
    actual[[3, 7]] = 1.0
    actual[9] = 1.1
    result = against("float64", expected, actual, rule)
    assert not result.same
    assert "1 of 1000 miss the outliers' bound" in result.message


def test_metrics_stand_instead_of_the_element_bound_or_beside_it() -> None:
    expected, actual = [3.0, 4.0, 0.0, 0.0], [3.0, 4.0, 0.0, 2.0]
    for name, value in {"max": 2.0, "mean": 0.5, "rms": 1.0, "l2": 0.4}.items():
        assert against("float32", expected, actual, Rule(metric={name: value})).same, name
        tight = against("float32", expected, actual, Rule(metric={name: value * 0.999}))
        assert not tight.same
        assert tight.differing == 1
        assert name in tight.message
    beside = against("float32", expected, actual, Rule(atol=1, metric={"rms": 9.0}))
    assert not beside.same
    assert beside.message == "1 of 4 differ"


def test_metrics_leave_out_nan_on_both_sides() -> None:
    result = against("float64", [NAN, 1, 1], [NAN, 1, 3], Rule(metric={"mean": 1.0}))
    assert result.same
    assert result.figures.metrics["mean"] == 1.0


def test_metrics_count_only_what_is_a_number_on_both_sides() -> None:
    result = against("float64", [2, 1], [INF, 3], Rule(metric={"mean": 9.0}))
    assert not result.same
    assert (result.figures.metrics["mean"], result.figures.metrics["l2"]) == (2.0, 2.0)


@pytest.mark.parametrize(("missed", "same"), [(2, True), (3, False)])
def test_a_part_of_an_outlier_is_none(missed: int, same: bool) -> None:  # noqa: FBT001
    a = np.ones(10)
    a[:missed] = 1.25
    result = against("float64", np.ones(10), a, Rule(rtol=1e-6, outliers=Outliers(fraction=0.25, rtol=0.5)))
    assert result.same == same
    assert result.figures.outliers is not None
    assert result.figures.outliers.allowed == 2


def test_rms_of_huge_errors_does_not_overflow() -> None:
    assert against("float64", [0, 1], [1e300, 1], Rule(metric={"rms": 8e299})).same
    assert not against("float64", [0, 1], [1e300, 1], Rule(metric={"rms": 7e299})).same


def test_both_verdicts_are_worked_out() -> None:
    result = against("float32", [1, 2, 3, 4], [4, 3, 2, 1])
    assert not result.same
    assert result.multiset_same
    result = against("float32", [1, 2, 3, 4], [4, 3, 2, 9])
    assert not result.multiset_same
    assert (result.only_expected, result.only_actual) == (1, 1)


def test_other_shapes_and_types_cannot_be_compared() -> None:
    wanted = request("float32", (2, 2))
    result = compare.mismatch(wanted, dtypes.parse("float64"), (4,))
    assert result is not None
    assert not result.same
    assert "cannot be compared" in result.message
    assert compare.mismatch(wanted, dtypes.parse("float32"), (2, 2)) is None
    flat = np.zeros(4, np.float32)
    assert compare.compare(wanted, flat, flat.reshape(2, 2)).same
    assert not compare.compare(wanted, flat.reshape(4, 1), flat).same
    assert not compare.compare(wanted, np.zeros(3, np.float32), flat).same
    assert not compare.compare(wanted, flat.astype(np.float64), flat).same
    assert not compare.compare(wanted, flat.view(np.int32), flat).same


@settings(max_examples=40)
@given(st.lists(st.tuples(st.floats(width=32), st.floats(width=32)), min_size=1, max_size=40))
def test_sparse_rows_say_what_the_whole_arrays_say(pairs: list[tuple[float, float]]) -> None:
    e, a = array("float32", [one for one, _ in pairs]), array("float32", [two for _, two in pairs])
    rows = np.flatnonzero(e.view(np.uint32) != a.view(np.uint32))
    for rule in (Rule(), Rule(rtol=0.1), Rule(ulp=3), Rule(signed_zero="equal"), Rule(metric={"max": 1.0})):
        wanted = request("float32", e.shape, rule)
        whole = compare.compare(wanted, e, a)
        run = compare.InOrder(wanted, every=False)
        for some in np.array_split(rows, 2):
            run.add(some, e[some], a[some])
        sparse = run.finish()
        for field in ("same", "identical", "differing", "changed", "worst", "first", "message", "multiset_same"):
            assert getattr(whole, field) == getattr(sparse, field), (rule, field)


def test_equal_rows_matter_to_some_rules() -> None:
    for rule in (Rule(nan="never"), Rule(order="any"), Rule(metric={"l2": 1e-3}), Rule(key=("id",))):
        assert compare.needs_all(rule)
    assert not compare.needs_all(Rule(rtol=1e-3, metric={"max": 1.0}))


def test_blocks_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpuregress.judge.compare.in_order.BLOCK", 7)
    rng = np.random.default_rng(5)
    e = rng.standard_normal(100)
    a = e.copy()
    a[[2, 50, 99]] += [0.1, -2.0, 0.3]
    result = against("float64", e, a, Rule(metric={"rms": 0.01, "l2": 1e-3}))
    off = a - e
    assert result.figures.metrics["rms"] == pytest.approx(np.sqrt(np.mean(off**2)))
    assert result.figures.metrics["l2"] == pytest.approx(np.linalg.norm(off) / np.linalg.norm(e))
    assert result.figures.metrics["mean"] == pytest.approx(np.mean(np.abs(off)))
    assert result.changed == 3
    assert result.worst is not None
    assert result.worst.index == 50


@pytest.mark.parametrize("count", [6, 7, 8, 13, 14, 15])
@pytest.mark.parametrize("every", [False, True])
def test_no_row_of_a_piece_is_lost(monkeypatch: pytest.MonkeyPatch, count: int, every: bool) -> None:  # noqa: FBT001
    """Pieces that are shorter, as long, and longer than a block; the only difference stands last."""
    monkeypatch.setattr("gpuregress.judge.compare.in_order.BLOCK", 7)
    e = np.arange(count, dtype=np.float32)
    a = e.copy()
    a[-1] += 1
    run = compare.InOrder(request("float32", (count,)), every=every)
    assert run.add(np.arange(count), e, a).tolist() == [False] * (count - 1) + [True]
    result = run.finish()
    assert (result.same, result.differing, result.changed) == (False, 1, 1)
    assert result.first[0].index == count - 1


def test_the_rows_that_break_the_bound() -> None:
    e, a = array("float2", [(1, 1), (2, 2), (3, 3)]), array("float2", [(1, 1), (2, 2.5), (3, 3.1)])
    wanted = request("float2", (3,), Rule(atol=0.2))
    for rule, broken in ((wanted, [False, True, False]), (request("float2", (3,)), [False, True, True])):
        for every in (False, True):
            assert compare.InOrder(rule, every=every).add(np.arange(3), e, a).tolist() == broken


def test_the_ulp_histogram() -> None:
    one = np.float32(1).view(np.uint32)
    e = np.full(7, one, np.uint32).view(np.float32)
    a = (e.view(np.uint32) + np.array([0, 1, 1, 2, 3, 4, 5], np.uint32)).view(np.float32)
    result = to_json(against("float32", e, a).figures)
    assert result["ulp_histogram"] == [["1", 2], ["2", 1], ["3-4", 2], ["5-8", 1]]
    assert result["max_ulp"] == 5

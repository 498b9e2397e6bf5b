"""Each pattern is found where it was planted, comes first, and is not found in noise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuregress import diagnose
from tests.diagnose.planted import POISON, Array, evidence, findings, launch, noise

LINE = launch((8, 1, 1), (128, 1, 1))  # 1000 elements: the last block has 104


def first(expected: Array, actual: Array, *rest: Any, **known: Any) -> tuple[str, str]:
    found = diagnose.diagnose(evidence(expected, actual, *rest, **known))
    assert found, "no pattern"
    assert found[0].weight <= 1
    return found[0].pattern, found[0].message


def test_the_last_partial_block_was_never_written() -> None:
    e = noise("float32", (1000,))
    a = e.copy()
    a[896:] = np.frombuffer(POISON, np.float32)[0]
    pattern, message = first(e, a, LINE, poison=POISON)
    assert pattern == "never written"
    assert message == (
        "all 104 differing elements still hold the poison: never written (elements 896 to 999; the last partial "
        "block, 7, with 104 of 128 threads at work)"
    )
    assert "exactly the last, partial block (7, 104 of 128 threads)" in findings(e, a, LINE)["tail"]


def test_a_launch_that_is_a_block_short() -> None:
    e = noise("float32", (1000,))
    a = e.copy()
    a[768:] = np.frombuffer(POISON, np.float32)[0]
    short = launch((3, 1, 1), (256, 1, 1))
    _, message = first(e, a, short, poison=POISON)
    assert message == (
        "all 232 differing elements still hold the poison: never written (elements 768 to 999; the launch's 3 blocks "
        "of 256 threads end there)"
    )
    assert "end there" not in first(e, np.where(np.arange(1000) == 5, a[-1], e), short, poison=POISON)[1]


def test_shared_memory_that_was_read_before_it_was_written() -> None:
    e = np.arange(6144, dtype=np.int32)
    a = np.where(e % 32 > e // 96 % 32, -1, e)  # above each tile's diagonal
    pattern, message = first(e, a, unset=b"\xff")
    assert pattern == "read too early"
    assert "a missing __syncthreads()?" in message
    assert "read too early" not in findings(e, a)  # another device: nothing is known of its shared memory
    assert "read too early" not in findings(e, np.where(e == 7, -1, e), unset=b"\xff")


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


def test_poison_is_named_even_where_other_things_are_wrong() -> None:
    e = noise("float64", (500,))
    a = noise("float64", (500,), 1)
    a[17] = np.frombuffer(POISON * 2, np.float64)[0]
    assert findings(e, a, poison=POISON)["never written"].startswith("1 of 500 differing elements still hold")


def test_poison_of_another_phase() -> None:
    """One byte wide elements see the pattern from where they stand."""
    e = np.zeros(64, np.uint8)
    a = e.copy()
    a[10:20] = np.frombuffer(POISON * 16, np.uint8)[10:20]
    assert "all 10 differing" in findings(e, a, poison=POISON)["never written"]
    a[10:20] = np.roll(a[10:20], 1)
    assert "never written" not in findings(e, a, poison=POISON)


def test_zeros_for_values() -> None:
    e = noise("float32", (1000,))
    a = e.copy()
    a[[3, 500, 700]] = 0
    assert first(e, a) == ("zeros", "all 3 differing elements are 0 instead of a value")


def test_nan_spreading() -> None:
    e = noise("float32", (20, 50))
    a = e.copy()
    a[3] = np.nan
    assert first(e, a)[1] == "all 50 differing elements are NaN: spread along row 3"
    a = e.copy()
    a[:, 9] = np.nan
    assert first(e, a)[1].endswith("spread along column 9")
    a = e.reshape(-1).copy()
    a[800:] = np.nan
    assert first(e.reshape(-1), a)[1].endswith("spread from element 800 to the end")


def test_rounding_only() -> None:
    e = noise("float32", (1000,))
    a = e.copy()
    a[::3] = np.nextafter(a[::3], np.float32(9))
    pattern, message = first(e, a)
    assert pattern == "rounding"
    assert message == "rounding only: all 334 differences are of at most 1 ulp"
    a[1] *= np.float32(1.01)
    assert "rounding" not in findings(e, a)


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


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8"])
def test_constant_offset(dtype: str) -> None:
    e = np.arange(3, 103).astype(dtype)
    a = e.copy()
    a[20:60] += 3
    found = findings(e, a)
    assert found["offset"] == "all 40 differing elements are off by +3"


def test_one_bit() -> None:
    e = noise("float32", (1000,))
    a = e.copy()
    a.view(np.uint32)[417] ^= 1 << 27
    assert first(e, a)[0] == "bit"
    e = noise("int32", (1000,))
    a = e.copy()
    a[::10] ^= 1 << 5
    assert first(e, a)[1] == "all 100 differing elements have bit 5 flipped, and no other bit wrong"
    a = e.copy()
    a[:100] |= 1 << 5
    assert "bit 5 set" in first(e, a)[1]


def test_wrap_around() -> None:
    e = np.arange(0, 1000, 7, dtype=np.int32)
    assert "modulo 2^8" in first(e, e % 256)[1]
    assert "modulo 2^8" in first(e, e.astype(np.int8).astype(np.int32))[1]
    wide = np.arange(2**31 - 50, 2**31 + 50, dtype=np.int64) * 3
    assert "modulo 2^32" in findings(wide, wide.astype(np.int32).astype(np.int64))["wrap-around"]
    as_float = (np.arange(200) * 991.0).astype(np.float64)
    assert "modulo 2^16" in first(as_float, as_float % 65536)[1]


def test_a_signed_shift() -> None:
    e = noise("uint32", (1000,)) >> np.uint32(5)
    full = noise("uint32", (1000,))
    a = (full.view(np.int32) >> 5).view(np.uint32)
    pattern, message = first(e, a)
    assert (pattern, message[-72:]) == ("signed shift", message[-72:])
    assert message.endswith("have ones in their top 5 bits: the sign was shifted in")


def test_byte_order() -> None:
    e = noise("int32", (100,))
    assert first(e, e.byteswap()) == ("byte order", "all 100 differing elements have their 4 bytes reversed")


@pytest.mark.parametrize(
    ("dtype", "narrow", "said"),
    [("float32", "float16", "half (or tf32)"), ("float64", "float32", "single"), ("float64", "float16", "half")],
)
def test_precision(dtype: str, narrow: str, said: str) -> None:
    e = noise(dtype, (500,))
    pattern, message = first(e, e.astype(narrow).astype(dtype))
    assert pattern == "precision"
    assert message == f"all 500 differing elements have the precision of {said} where {dtype} was expected"


def test_bfloat16_precision() -> None:
    e = noise("float32", (500,))
    assert "bfloat16" in first(e, (e.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32))[1]


def test_permutations() -> None:
    e = noise("float32", (12, 20))
    assert first(e, e.T.reshape(12, 20))[1].endswith("other places: transposed")
    assert first(e, e.reshape(-1)[::-1].reshape(12, 20))[1].endswith("other places: reversed")
    a = e.reshape(-1).copy()
    a[50:90] = np.random.default_rng(0).permutation(a[50:90])
    assert first(e.reshape(-1), a)[1].endswith("other places: another order")
    a = e.reshape(-1).copy()
    a[[5, 9]] = a[[9, 5]]
    assert first(e.reshape(-1), a) == ("permutation", "elements 5 and 9 are swapped")


def test_shift() -> None:
    e = noise("float32", (1000,))
    a = np.concatenate([[np.float32(0)], e[:-1]]).astype(np.float32)
    pattern, message = first(e, a)
    assert pattern == "shift"
    assert message.startswith("shifted up by 1: actual[i] is expected[i - 1]")
    a = np.concatenate([e[128:], noise("float32", (128,), 9)])
    assert findings(e, a, LINE) == {}, "872 of 1000 are too few"
    a = np.concatenate([e[128:], e[872:]])
    assert "expected[i + 128]" in findings(e, a, LINE)["shift"]


def test_tail_stretch_and_head() -> None:
    e = noise("float32", (1000,))
    other = noise("float32", (1000,), 1)
    a = e.copy()
    a[896:] = other[896:]
    assert first(e, a, LINE)[0] == "tail"
    a = e.copy()
    a[70:75] = other[70:75]
    assert first(e, a, LINE) == ("stretch", "one stretch: all 5 elements from 70 to 74 differ (block 0)")
    a = e.copy()
    a[:10] = other[:10]
    assert first(e, a)[1].startswith("the first elements")


def test_whole_blocks() -> None:
    e, other = noise("float32", (1000,)), noise("float32", (1000,), 1)
    a = e.copy()
    for block in (2, 5):
        a[block * 128 : block * 128 + 128] = other[block * 128 : block * 128 + 128]
    assert first(e, a, LINE) == ("blocks", "whole blocks: 2, 5 of 8, all 256 elements")
    wide, other = noise("float32", (40, 48)), noise("float32", (40, 48), 1)
    a = wide.copy()
    a[32:, 16:32] = other[32:, 16:32]
    found = findings(wide, a, launch((3, 3, 1), (16, 16, 1)))
    assert found["blocks"] == "whole blocks: 7 of 9, all 128 elements"


def test_one_thread_lane_or_warp() -> None:
    e, other = noise("float32", (1000,)), noise("float32", (1000,), 1)
    at = np.arange(1000)
    for chosen, pattern, said in (
        (at % 128 == 77, "thread", "one thread of each block: thread 77 (lane 13), in 8 of 8 blocks"),
        (at % 32 == 31, "lane", "one lane of each warp: lane 31, 4 warps, in 8 of 8 blocks"),
        (at % 128 // 32 == 2, "warp", "one warp of each block: warp 2, in 8 of 8 blocks"),
    ):
        assert first(e, np.where(chosen, other, e), LINE) == (pattern, said)


def test_every_kth() -> None:
    e, other = noise("float32", (1000,)), noise("float32", (1000,), 1)
    a = np.where(np.arange(1000) % 3 == 1, other, e)
    assert first(e, a) == ("stride", "every 3rd element: all 333 from 1 to 997")


def test_rows_columns_tiles_border_diagonal() -> None:
    e, other = noise("float32", (40, 48)), noise("float32", (40, 48), 1)
    row, column = np.divmod(np.arange(40 * 48).reshape(40, 48), 48)
    for chosen, pattern, said in (
        (row == 7, "row", "one row: 7 of 40"),
        ((column == 5) | (column == 30), "column", "whole columns: 5, 30 of 48"),
        ((row > 3) & (row < 9) & (column > 30) & (column < 37), "tile", "one tile: rows 4 to 8, columns 31 to 36"),
        ((row % 39 == 0) | (column % 47 == 0), "border", "the border: all 172 elements"),
        ((row % 39 > 0) & (column % 47 > 0), "interior", "all but the border: all 1748 elements"),
        (row == column, "diagonal", "the diagonal: all 40 elements"),
    ):
        found = findings(e, np.where(chosen, other, e))
        assert found[pattern].startswith(said)


def test_a_missing_term() -> None:
    x = noise("float32", (64 * 100,))
    e = x.reshape(100, 64).sum(axis=1)
    a = x.reshape(100, 64)[:, :63].sum(axis=1)
    found = findings(e, a, inputs={"x": x})
    assert found["loop count"] == (
        "all 100 differences are one term, the last of each chunk of 64 of x: a loop runs once too few"
    )
    extra = e + np.append(x[64::64], 0).astype(np.float32)
    extra[-1] = e[-1]
    assert "the one after the end" in findings(e, extra, inputs={"x": x})["loop count"]
    assert "too often" in findings(e, extra, inputs={"x": x})["loop count"]


def test_sums_of_some_terms() -> None:
    x = noise("float32", (32 * 64,))
    chunks = x.reshape(64, 32)
    e = chunks.sum(axis=1)
    few = findings(e, chunks[:, [0, 1, 2, 4, 8, 16]].sum(axis=1), inputs={"x": x})
    assert few["terms"].startswith(
        "all 64 differing elements are sums of terms 0, 1, 2, 4, 8, 16 alone, of each chunk of 32 of x: 26 missing"
    )
    most = findings(e, e - chunks[:, 3] - chunks[:, 9] + chunks[:, 5], inputs={"x": x})
    assert "sums of all terms but 3, 9 and 5 more than once" in most["terms"]
    assert "terms" not in findings(e, noise("float32", (64,), 5), inputs={"x": x})
    assert "terms" not in findings(e * 2, chunks[:, :6].sum(axis=1), inputs={"x": x}), "the baseline is another sum"


def test_a_missing_term_of_a_matrix_product() -> None:
    one, two = noise("float32", (30, 20)), noise("float32", (20, 40), 1)
    found = findings(one @ two, one[:, :19] @ two[:19])
    assert "one term of the inner loop" in found["loop count"]
    assert "loop count" not in findings(one @ two, one[:, :17] @ two[:17])


def test_rows_with_several_parts() -> None:
    """A pattern in one field is named with it, and weighs by the rows it explains."""
    kind = np.dtype([("id", "<i4"), ("score", "<f4")])
    e = np.zeros(100, kind)
    e["id"], e["score"] = np.arange(100), noise("float32", (100,))
    a = e.copy()
    a["score"][10:50] = 0
    found = diagnose.diagnose(evidence(e, a, dtype="{id:int32,score:float32}"))
    assert found[0].message == "score: all 40 differing elements are 0 instead of a value"
    assert found[0].weight == 1.0


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "uint8", "int64", "complex64"])
@given(seed=st.integers(0, 2**32), count=st.integers(2, 300))
@settings(max_examples=40)
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
    assert diagnose.diagnose(evidence(e, e)) == ()


def test_sparse_rows_are_enough_for_most() -> None:
    e = noise("float32", (1000,))
    a = e.copy()
    a[896:] = 0
    full = evidence(e, a, LINE)
    sparse = diagnose.Evidence(full.element_type, full.shape, full.indices, full.expected, full.actual, LINE)
    assert [found.pattern for found in diagnose.diagnose(sparse)] == ["zeros", "tail", "blocks"]

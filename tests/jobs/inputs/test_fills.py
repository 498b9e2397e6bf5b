from __future__ import annotations

import hashlib
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuregress.foundation import dtypes
from gpuregress.foundation.errors import HarnessError
from gpuregress.foundation.records import Buffer, Fill, NoOptions
from gpuregress.jobs import inputs
from tests import float_environments
from tests.jobs.inputs.support import OPTIONS, buffer, numbers, python

# SHA-256 of the bytes of fill(seed_for(42, "x"), 1000 elements): a change here changes every user's baselines.
PINNED = {
    ("zeros", "int32"): "fc19b19971194257",
    ("arange", "float16"): "69902e3b403c1d33",
    ("permutation", "int32"): "41488e6174ff8b5d",
    ("uniform", "float32"): "4214338b5d9fdff6",
    ("uniform", "float64"): "057d6d6999ee066b",
    ("uniform", "bfloat16"): "a573aab1d8206659",
    ("normal", "float32"): "837df76a6db950ae",
    ("normal", "float64"): "b7c3d3efc11a94ea",
    ("normal", "float4"): "df6f98d0c4fdb500",
    ("integers", "uint8"): "e7e046aef5669842",
    ("integers", "int64"): "9d1515cc4fa82b6d",
    ("choice", "float32"): "cbfbfb02ef3d71b1",
    ("park_miller", "int32"): "ab6b536d774499ab",
    ("park_miller", "float32"): "adb685c56ca1868d",
}


@settings(max_examples=150)
@given(
    kind=st.sampled_from(sorted(OPTIONS)),
    dtype=st.sampled_from([*dtypes.known_names(), "{id:int32,score:float32}"]),
    shape=st.lists(st.integers(1, 9), min_size=1, max_size=3),
)
def test_pure_and_of_the_right_shape_and_type(kind: str, dtype: str, shape: list[int]) -> None:
    made = buffer(kind, dtype, *shape)
    element = dtypes.parse(dtype)
    if inputs.fill_problem(made):
        narrow = {"bool", "int", "uint", "float", "bfloat"}
        assert any(part.scalar.kind in narrow for part in element.parts)
        with pytest.raises(HarnessError):
            inputs.fill(made)
        return
    first, second = inputs.fill(made), inputs.fill(made)
    assert first.shape == tuple(shape)
    assert first.dtype == element.storage
    assert first.tobytes() == second.tobytes()


@pytest.mark.parametrize("kind", ["uniform", "normal", "integers", "choice", "permutation"])
def test_seeds_differ(kind: str) -> None:
    assert (
        inputs.fill(buffer(kind, "float64", 100)).tobytes()
        != inputs.fill(buffer(kind, "float64", 100, seed=8)).tobytes()
    )


@pytest.mark.parametrize(("kind", "dtype"), sorted(PINNED))
def test_bytes_never_change(kind: str, dtype: str) -> None:
    with float_environments.left_behind():
        array = inputs.fill(buffer(kind, dtype, 1000, seed=inputs.seed_for(42, "x")))
    assert hashlib.sha256(array.tobytes()).hexdigest()[:16] == PINNED[kind, dtype]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_uniform_stays_below_high(dtype: str) -> None:
    for low, high in ((0.0, 1.0), (-1.0, 0.0), (1.0, 1.03), (-3.0, -2.9)):
        values = numbers(inputs.fill(buffer("uniform", dtype, 20_000, low=low, high=high)), dtype)
        assert values.max() < high
        assert values.min() >= np.float64(low) - 0.01
        assert abs(values.mean() - (low + high) / 2) < (high - low) * 0.05 + 0.01


def test_vectors_are_filled_part_by_part() -> None:
    array = inputs.fill(buffer("arange", "float2", 3))
    assert [tuple(row) for row in array.tolist()] == [(0.0, 1.0), (2.0, 3.0), (4.0, 5.0)]
    record = inputs.fill(buffer("value", "{id:int32,score:float32}", 2, values=(7, 0.5)))
    assert record.tolist() == [(7, 0.5), (7, 0.5)]


def test_permutation_holds_every_number_once() -> None:
    assert np.array_equal(np.sort(inputs.fill(buffer("permutation", "int32", 999))), np.arange(999))


def test_park_miller_is_the_published_sequence() -> None:
    array = inputs.fill(buffer("park_miller", "int32", 10_000))
    assert array[:3].tolist() == [16807, 282475249, 1622650073]
    assert array[9999] == 1043618065
    assert inputs.fill(buffer("park_miller", "float64", 1))[0] == 16807 / (2**31 - 1)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64", "float4"])
def test_nans_are_those_of_a_gpu(dtype: str, tmp_path: Path) -> None:
    """Hosts' NaNs have other bits than the card's: a kernel that only copies would dump `nan(0x7fc00000)`."""
    element = dtypes.parse(dtype)
    path = tmp_path / "nans.py"
    path.write_text(
        "import numpy as np\ndef make(shape, dtype): return np.full((*shape, PARTS), np.nan)\n".replace(
            "PARTS", str(len(element.parts))
        )
    )
    made = [
        inputs.fill(buffer("value", dtype, 3, values=(math.nan,))),
        inputs.fill(buffer("choice", dtype, 3, values=(math.nan,))),
        python(path, path.read_text(), dtype, 3),
    ]
    if dtype in ("float16", "float32", "float64"):
        np.save(tmp_path / "x.npy", np.full(3, np.nan, dtype))
        made.append(inputs.fill(buffer("file", dtype, 3, path=str(tmp_path / "x.npy"))))
    for array in made:
        for column, part in zip(element.columns(array), element.parts, strict=True):
            bits = np.array(column).view(f"<u{part.scalar.size}")
            assert bits.tolist() == [dtypes.CANONICAL_NAN[part.scalar.name]] * 3


def test_whole_numbers_stay_exact_at_the_ends_of_64_bits() -> None:
    top = inputs.fill(buffer("arange", "uint64", 3, start=2**64 - 3))
    assert top.tolist() == [2**64 - 3, 2**64 - 2, 2**64 - 1]
    falling = inputs.fill(buffer("arange", "int64", 3, start=-(2**63) + 2, step=-1))
    assert falling.tolist() == [-(2**63) + 2, -(2**63) + 1, -(2**63)]
    chosen = inputs.fill(buffer("choice", "int64", 50, values=(2**53 + 1, 1.0)))
    assert set(chosen.tolist()) == {2**53 + 1, 1}


def same(dtype: str, origin: Buffer, *shape: int) -> Buffer:
    return Buffer("y", dtype, shape or origin.shape, Fill("same", NoOptions(), 0, origin))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_same_contents_in_the_same_or_a_wider_dtype(dtype: str) -> None:
    x = buffer("normal", "float32", 8)
    assert inputs.fill_problem(same(dtype, x, 2, 4)) is None
    assert inputs.fill(same(dtype, x, 2, 4)).ravel().tolist() == inputs.fill(x).tolist()


def test_the_same_contents_of_bfloat16_are_its_numbers() -> None:
    x = buffer("arange", "bfloat16", 8)
    assert inputs.fill(same("float32", x)).tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
    assert inputs.fill(same("int8", x)).tolist() == [0, 1, 2, 3, 4, 5, 6, 7]
    assert np.array_equal(inputs.fill(same("bfloat16", x)), inputs.fill(x))


def test_the_same_contents_are_never_rounded() -> None:
    with pytest.raises(HarnessError, match=r"buffer y: the same as x is asked for, which is float64: element \[0\]"):
        inputs.fill(same("float32", buffer("uniform", "float64", 4)))
    with pytest.raises(HarnessError, match="is not a whole number"):
        inputs.fill(same("int32", buffer("uniform", "float32", 4)))


def test_the_same_contents_need_the_same_parts_and_count() -> None:
    x = buffer("ones", "float2", 4)
    assert "their elements have other parts" in str(inputs.fill_problem(same("float32", x, 8)))
    assert "the same contents need as many elements" in str(inputs.fill_problem(same("float2", x, 8)))
    assert inputs.fill_problem(same("double2", x)) is None

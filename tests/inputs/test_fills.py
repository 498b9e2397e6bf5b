from __future__ import annotations

import contextlib
import hashlib
import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuregress import dtypes, inputs
from gpuregress.dump import reader
from gpuregress.errors import HarnessError
from gpuregress.records import Buffer, Fill

OPTIONS: dict[str, dict[str, Any]] = {
    "zeros": {},
    "ones": {},
    "arange": {},
    "permutation": {},
    "value": {"values": [3]},
    "uniform": {"low": 2.0, "high": 3.0},
    "normal": {"mean": 0.0, "std": 1.0},
    "integers": {"low": 3, "high": 9},
    "choice": {"values": [1, 5, 7]},
    "park_miller": {"seed": 1},
}
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


def buffer(kind: str, dtype: str, *shape: int, seed: int = 7, **options: Any) -> Buffer:
    return Buffer("x", dtype, shape, Fill(kind, options or OPTIONS[kind], seed))


def numbers(array: npt.NDArray[Any], dtype: str) -> npt.NDArray[Any]:
    """Every number of an array as float64, parts last."""
    element = dtypes.parse(dtype)
    columns = zip(element.columns(array), element.parts, strict=True)
    return np.stack([dtypes.to_float(column, part.scalar).astype(np.float64) for column, part in columns], axis=-1)


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


def test_seed_of_a_buffer() -> None:
    assert inputs.seed_for(42, "x") == int.from_bytes(hashlib.sha256(b"42:x").digest()[:8], "little")
    assert len({inputs.seed_for(seed, name) for seed in range(5) for name in "xyz"}) == 15


@pytest.mark.parametrize(("kind", "dtype"), sorted(PINNED))
def test_bytes_never_change(kind: str, dtype: str) -> None:
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
    record = inputs.fill(buffer("value", "{id:int32,score:float32}", 2, values=[7, 0.5]))
    assert record.tolist() == [(7, 0.5), (7, 0.5)]


def test_permutation_holds_every_number_once() -> None:
    assert np.array_equal(np.sort(inputs.fill(buffer("permutation", "int32", 999))), np.arange(999))


def test_park_miller_is_the_published_sequence() -> None:
    array = inputs.fill(buffer("park_miller", "int32", 10_000))
    assert array[:3].tolist() == [16807, 282475249, 1622650073]
    assert array[9999] == 1043618065
    assert inputs.fill(buffer("park_miller", "float64", 1))[0] == 16807 / (2**31 - 1)


@pytest.mark.parametrize(
    ("kind", "dtype", "options", "problem"),
    [
        ("normal", "int32", {}, "normal fills floats, and int32 is none"),
        ("uniform", "{id:int32,score:float32}", {}, r"uniform fills floats, and int32 is none: .* \(part id\)"),
        ("permutation", "uint8", {}, "999 does not fit uint8: 0 to 255"),
        ("arange", "int8", {}, "999 does not fit int8"),
        ("integers", "uint8", {"low": -1, "high": 5}, "-1 does not fit uint8"),
        ("park_miller", "int16", {}, "too large for int16"),
        ("value", "bool", {"values": [2]}, "2 does not fit bool: 0 to 1"),
        ("value", "int32", {"values": [0.5]}, "0.5 is not a whole number"),
        ("value", "int32", {"values": [math.nan]}, "nan is not a whole number"),
        ("value", "float2", {"values": [1, 2, 3]}, "value has 3 numbers and float2 has 2 parts"),
        ("value", "float16", {"values": [1e6]}, "1000000.0 is too large for float16"),
        ("choice", "int8", {"values": [1, 300]}, "300 does not fit int8"),
        ("value", "float32", {"values": [1e300]}, r"1e\+300 is too large for float32"),
        ("value", "float32", {"values": [1e-60]}, "1e-60 is too small for float32: it would become 0"),
        (
            "value",
            "float32",
            {"values": [2**24 + 1]},
            "16777217 is not exact in float32: whole numbers are exact up to",
        ),
        ("value", "uint32", {"values": [-1]}, "-1 does not fit uint32"),
        ("arange", "float16", {"start": 2048}, "2049 is not exact in float16"),
        ("arange", "float32", {"step": 1e-60}, "1e-60 is too small"),
        ("arange", "float64", {"start": 2.0**53, "step": 1.0}, "9007199254740993 is not exact in float64"),
        ("arange", "uint64", {"start": 2**64 - 5}, "does not fit uint64"),
        ("permutation", "bfloat16", {}, "999 is not exact in bfloat16"),
        ("integers", "float16", {"low": 0, "high": 4097}, "2049 is not exact in float16"),
        ("uniform", "float32", {"low": 0.0, "high": 1e39}, r"1e\+39 is too large for float32"),
        ("uniform", "float64", {"low": -1.5e308, "high": 1.5e308}, "high - low is too large"),
        ("normal", "float32", {"mean": 0.0, "std": 1e38}, "are too large for float32"),
    ],
)
def test_what_does_not_fit(kind: str, dtype: str, options: dict[str, Any], problem: str) -> None:
    made = buffer(kind, dtype, 1000, **options)
    found = inputs.fill_problem(made)
    assert found is not None
    with pytest.raises(HarnessError, match=f"buffer x: .*{problem}"):
        inputs.fill(made)


def file(path: Path, dtype: str, *shape: int) -> Buffer:
    return Buffer("x", dtype, shape, Fill("file", {"path": str(path)}, 0))


def test_npy(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    np.save(path, np.arange(6).reshape(2, 3))
    assert inputs.fill(file(path, "float32", 6)).tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert inputs.fill(file(path, "float2", 3)).tolist() == [(0.0, 1.0), (2.0, 3.0), (4.0, 5.0)]
    with pytest.raises(HarnessError, match="holds 6 values and"):
        inputs.fill(file(path, "int32", 5))
    assert inputs.fill_problem(file(path, "int32", 5)) is not None
    np.save(path, np.array([0.5]))
    with pytest.raises(HarnessError, match=r"element \[0\]: 0.5 is not a whole number"):
        inputs.fill(file(path, "int32", 1))
    np.save(path, np.array([300]))
    with pytest.raises(HarnessError, match="300 does not fit uint8"):
        inputs.fill(file(path, "uint8", 1))
    path.write_bytes(b"nonsense")
    with pytest.raises(HarnessError, match="cannot be read"):
        inputs.fill(file(path, "uint8", 1))


def test_npy_of_complex_numbers_or_words_is_refused_where_numbers_are_wanted(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    np.save(path, np.array([1 + 2j, 3 - 4j], np.complex128))
    assert inputs.fill(file(path, "complex64", 2)).tolist() == [1 + 2j, 3 - 4j]
    with pytest.raises(HarnessError, match="holds complex128, and float2 is needed"):
        inputs.fill(file(path, "float2", 2))
    np.save(path, np.array(["1.5", "2.5"]))
    for dtype in ("float32", "complex64"):
        with pytest.raises(HarnessError, match=f"holds <U3, and {dtype} is needed"):
            inputs.fill(file(path, dtype, 2))


_NPY = b"\x93NUMPY\x01\x00\x46\x00{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }            \n" + bytes(16)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"\x93NUMPY", b"PK\x03\x04.."),  # an archive's beginning
        (b"(4,)", b"(-4,)"),
        (b"(4,)", b"(%d,)" % 2**70),
        (b", }", b"   "),
        (b"{", b"("),
        (b"'<f4'", b"'|O8'"),
    ],
)
def test_an_npy_that_is_none_is_said(tmp_path: Path, before: bytes, after: bytes) -> None:
    path = tmp_path / "x.npy"
    path.write_bytes(_NPY)
    made = buffer("file", "float32", 4, path=str(path))
    assert inputs.fill_problem(made) is None
    wrong = _NPY.replace(before, after)
    path.write_bytes(wrong[:8] + (ord("F") + len(wrong) - len(_NPY)).to_bytes(2, "little") + wrong[10:])
    assert str(inputs.fill_problem(made)).startswith(f"{path} cannot be read: ")
    with pytest.raises(HarnessError, match="cannot be read"):
        inputs.fill(made)


@given(at=st.integers(0, len(_NPY) - 1), byte=st.integers(0, 255), end=st.integers(0, len(_NPY)))
def test_a_damaged_npy_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, at: int, byte: int, end: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged.npy"
    path.write_bytes((_NPY[:at] + bytes([byte]) + _NPY[at + 1 :])[:end])
    made = buffer("file", "float32", 4, path=str(path))
    if inputs.fill_problem(made) is None:
        with contextlib.suppress(HarnessError):
            assert inputs.fill(made).shape == (4,)


@pytest.mark.parametrize(
    ("dtype", "held"),
    [
        ("{id:int32,score:float32}", np.array([(1, 2.0)] * 3, [("score", "f8"), ("id", "i8")])),
        ("complex64", np.arange(3.0)),
        ("float2", np.zeros((3, 2), "f8")),
    ],
)
def test_an_npy_of_another_type_that_the_buffer_holds(tmp_path: Path, dtype: str, held: npt.NDArray[Any]) -> None:
    np.save(tmp_path / "x.npy", held)
    made = buffer("file", dtype, 3, path=str(tmp_path / "x.npy"))
    assert inputs.fill_problem(made) is None
    assert inputs.fill(made).shape == (3,)


def test_npy_never_unpickles(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    np.save(path, np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(HarnessError, match="cannot be read"):
        inputs.fill(file(path, "int32", 1))


def test_bin(tmp_path: Path) -> None:
    path = tmp_path / "x.bin"
    path.write_bytes(np.array([1.5, 2.5], "<f4").tobytes())
    assert inputs.fill(file(path, "float32", 2)).tolist() == [1.5, 2.5]
    with pytest.raises(HarnessError, match="has 8 bytes; expected 12"):
        inputs.fill(file(path, "float32", 3))


def test_dump(tmp_path: Path) -> None:
    path = tmp_path / "x.1.4"
    path.write_text("# gpuregress 1 bfloat16 [2]\n1.5\n-2.0\n")
    for dtype in ("bfloat16", "float32"):
        array = inputs.fill(file(path, dtype, 2), read_dump=reader.read)
        assert numbers(array, dtype).ravel().tolist() == [1.5, -2.0]
    with pytest.raises(HarnessError, match="dumps cannot be read here"):
        inputs.fill(file(path, "float32", 2))


def python(path: Path, text: str, dtype: str = "float32", *shape: int) -> npt.NDArray[Any]:
    path.write_text(text)
    return inputs.fill(Buffer("x", dtype, shape or (2,), Fill("python", {"function": f"{path}:make"}, 5)))


def test_python(tmp_path: Path) -> None:
    path = tmp_path / "fills.py"
    assert python(path, "def make(seed, shape):\n    return [seed, shape[0]]\n").tolist() == [5.0, 2.0]
    assert python(path, "def make(**given):\n    return [len(given), 0]\n").tolist() == [4.0, 0.0]
    for text, message in (
        ("def make():\n    return None\n", "returned nothing"),
        ("def make():\n    return [1, 2, 3]\n", "holds 3 values"),
        (
            "import numpy as np\ndef make(): return np.zeros((1, 2))\n",
            r"expected an array of shape \[2\], got \[1, 2\]",
        ),
        ("def make():\n    return [1, 1e300]\n", r"element \[1\]: 1e\+300 is too large for float32"),
        ("def make():\n    return [1, 1j]\n", "element 1 is 1j, a complex number"),
        ("def make():\n    return [1, 2**24 + 1]\n", r"element \[1\]: 16777217 is not exact in float32"),
        ("import numpy as np\ndef make(): return np.ma.masked_less([1, 2], 2)\n", "masked elements"),
        ("def make():\n    return 1 / 0\n", "failed: ZeroDivisionError"),
        ("def make():\n    return ['a', 'b']\n", "holds <U1"),
        ("x = 1\n", "has no function 'make'; it has: none"),
        ("make = 5\n", "has no function 'make'"),
        ("import nothing_of_this_name\n", "cannot be imported: ModuleNotFoundError"),
    ):
        with pytest.raises(HarnessError, match=message):
            python(path, text)


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
        inputs.fill(buffer("value", dtype, 3, values=[math.nan])),
        inputs.fill(buffer("choice", dtype, 3, values=[math.nan])),
        python(path, path.read_text(), dtype, 3),
    ]
    if dtype in ("float16", "float32", "float64"):
        np.save(tmp_path / "x.npy", np.full(3, np.nan, dtype))
        made.append(inputs.fill(buffer("file", dtype, 3, path=str(tmp_path / "x.npy"))))
    for array in made:
        for column, part in zip(element.columns(array), element.parts, strict=True):
            bits = np.array(column).view(f"<u{part.scalar.size}")
            assert bits.tolist() == [dtypes.CANONICAL_NAN[part.scalar.name]] * 3


def test_raw_bytes_keep_the_bits_of_their_nans(tmp_path: Path) -> None:
    data = np.array([0x7FC00000, 0xFFC00001, 0x7F800001], "<u4")
    (tmp_path / "x.bin").write_bytes(data.tobytes())
    assert inputs.fill(buffer("file", "float32", 3, path=str(tmp_path / "x.bin"))).view("<u4").tolist() == data.tolist()


@pytest.mark.parametrize("text", ["import sys\nsys.exit(3)\n", "import sys\ndef make(): sys.exit(3)\n"])
def test_python_that_leaves_is_an_error_of_its_own(text: str, tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match="SystemExit: 3"):
        python(tmp_path / "x.py", text)


def test_whole_numbers_stay_exact_at_the_ends_of_64_bits() -> None:
    top = inputs.fill(buffer("arange", "uint64", 3, start=2**64 - 3))
    assert top.tolist() == [2**64 - 3, 2**64 - 2, 2**64 - 1]
    falling = inputs.fill(buffer("arange", "int64", 3, start=-(2**63) + 2, step=-1))
    assert falling.tolist() == [-(2**63) + 2, -(2**63) + 1, -(2**63)]
    chosen = inputs.fill(buffer("choice", "int64", 50, values=[2**53 + 1, 1.0]))
    assert set(chosen.tolist()) == {2**53 + 1, 1}

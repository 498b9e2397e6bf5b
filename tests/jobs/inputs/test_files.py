from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.foundation.errors import HarnessError
from gpuregress.foundation.records import Buffer, Fill, InputFile
from gpuregress.jobs import inputs
from gpuregress.jobs.inputs import dump_header, split_member
from tests.jobs.inputs.support import buffer, numbers, python


def file(path: Path, dtype: str, *shape: int) -> Buffer:
    return Buffer("x", dtype, shape, Fill("file", InputFile(str(path)), 0))


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
    with pytest.raises(HarnessError, match=r"holds 2 values and \[3\] of float32 needs 3"):
        inputs.fill(file(path, "float32", 3))
    path.write_bytes(bytes(7))
    with pytest.raises(HarnessError, match="it has 7 bytes, and each float32 has 4"):
        inputs.fill(file(path, "float32", 2))


def test_npz(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    np.savez(path, a=np.arange(3.0), b=np.arange(4))
    named = file(Path(f"{path}:b"), "int32", 4)
    assert inputs.fill_problem(named) is None
    assert inputs.fill(named).tolist() == [0, 1, 2, 3]
    for text, message in (
        ("", "it holds 2 arrays: name one, such as x.npz:a"),
        (":c", "it has no array 'c'; there are: a, b"),
        (":a", "holds 3 values and [4] of int32 needs 4"),
    ):
        assert message in str(inputs.fill_problem(file(Path(f"{path}{text}"), "int32", 4)))
        with pytest.raises(HarnessError):
            inputs.fill(file(Path(f"{path}{text}"), "int32", 4))
    np.savez(path, only=np.arange(4))
    assert inputs.fill(file(path, "int32", 4)).tolist() == [0, 1, 2, 3]
    np.savez(path, only=np.array([{}], dtype=object))
    assert "cannot be read" in str(inputs.fill_problem(file(path, "int32", 1)))
    path.write_bytes(path.read_bytes()[:40])
    assert "it is not a complete .npz" in str(inputs.fill_problem(file(path, "int32", 4)))


def test_dump(tmp_path: Path) -> None:
    path = tmp_path / "x.1.4"
    path.write_text("# gpuregress 1 bfloat16 [2]\n1.5\n-2.0\n")
    for dtype in ("bfloat16", "float32"):
        array = inputs.fill(file(path, dtype, 2))
        assert numbers(array, dtype).ravel().tolist() == [1.5, -2.0]
    assert inputs.fill_problem(file(path, "float32", 2)) is None
    assert inputs.fill_problem(file(path, "float32", 3)) == f"{path} holds bfloat16 [2]; expected [3] of float32"


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


def test_raw_bytes_keep_the_bits_of_their_nans(tmp_path: Path) -> None:
    data = np.array([0x7FC00000, 0xFFC00001, 0x7F800001], "<u4")
    (tmp_path / "x.bin").write_bytes(data.tobytes())
    assert inputs.fill(buffer("file", "float32", 3, path=str(tmp_path / "x.bin"))).view("<u4").tolist() == data.tolist()


@pytest.mark.parametrize("text", ["import sys\nsys.exit(3)\n", "import sys\ndef make(): sys.exit(3)\n"])
def test_python_that_leaves_is_an_error_of_its_own(text: str, tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match="SystemExit: 3"):
        python(tmp_path / "x.py", text)


def test_an_array_of_an_archive() -> None:
    assert split_member("/a/x.npz:y") == (Path("/a/x.npz"), "y")
    for plain in ("/a/x.npz", "/a/x.npy:y", "/a:b/x.bin"):
        assert split_member(plain) == (Path(plain), "")


@pytest.mark.parametrize(("text", "dump"), [("# gpuregress 1 int8 [1]\n1\n", True), ("# y\n1\n", False), ("", False)])
def test_a_dump_is_known_by_its_beginning(tmp_path: Path, text: str, *, dump: bool) -> None:
    (tmp_path / "x.txt").write_text(text)
    assert (dump_header(str(tmp_path / "x.txt")) is not None) == dump

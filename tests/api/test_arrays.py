"""Arrays through the protocols that libraries share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra import numpy as numpy_arrays

from gpuregress.api import arrays


class Interface:
    """An array with `__array_interface__` alone."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self._array = array
        self.__array_interface__ = array.__array_interface__


class Exported:
    """An array with DLPack alone."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self._array = array

    def __dlpack__(self, **version: Any) -> Any:
        return self._array.__dlpack__(**version)


class OnGpu:
    """An array with `__cuda_array_interface__` alone."""

    def __init__(self, *, strides: tuple[int, ...] | None = None) -> None:
        self.__cuda_array_interface__ = {
            "shape": (2, 4), "typestr": "<f4", "data": (4096, False), "strides": strides, "version": 3
        }  # fmt: skip


class Negated(OnGpu):
    """A tensor of Torch whose memory holds the negative of its elements."""

    def is_neg(self) -> bool:
        return True


@pytest.mark.parametrize("wrapped", [lambda array: array, Interface, Exported])
def test_bytes_are_read_and_written_in_place(wrapped: Any) -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    view = arrays.view(wrapped(array))
    assert (view.dtype, view.shape, view.size, view.itemsize, view.is_read_only) == ("float32", (2, 3), 24, 4, False)
    view.write(view.read()[::-1].copy())
    assert array.tobytes() == np.arange(6, dtype=np.float32).tobytes()[::-1]


@given(numpy_arrays.arrays(np.int16, numpy_arrays.array_shapes(min_dims=0, max_dims=4, max_side=5)))
def test_an_array_of_any_shape_comes_back_as_it_is(array: np.ndarray[Any, np.dtype[np.int16]]) -> None:
    for one in (array, np.asfortranarray(array)):
        back, element = arrays.view(one).to_numpy()
        assert np.array_equal(back, one)
        assert element.name == "int16"


def test_an_array_on_a_gpu_is_copied_by_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    contents = np.arange(8, dtype=np.float32)
    written: list[tuple[int, bytes]] = []
    monkeypatch.setattr(arrays, "read", lambda _address, _size: contents.view(np.uint8).copy())
    monkeypatch.setattr(arrays, "write", lambda address, data: written.append((address, data.tobytes())))
    view = arrays.view(OnGpu())
    assert view.is_on_gpu
    assert view.to_numpy()[0].tolist() == contents.reshape(2, 4).tolist()
    view.write(np.zeros(32, np.uint8))
    assert written == [(4096, bytes(32))]


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.arange(6)[::2], "not contiguous"),
        (np.zeros((4, 4))[:, :2], "not contiguous"),
        (np.array([None]), "Python objects"),
        (np.zeros(3, ">f4"), "other byte order"),
        (np.zeros(3, "M8[s]"), r"its dtype is datetime64\[s\]: a kernel has no such type"),
        (np.array(["a"]), "its dtype is <U1: a kernel has no such type"),
        (np.zeros(3, np.longdouble), "a kernel has no such type"),
        (np.ma.masked_array([1, 2], mask=[True, False]), "a kernel has no masks"),
        (Exported(np.arange(6)[::2]), "not contiguous"),
        (OnGpu(strides=(32, 4)), "not contiguous"),
        (Negated(), r"pass resolve_neg\(\)"),
    ],
)
def test_an_array_that_no_kernel_can_read_is_refused(array: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        arrays.view(array)


def test_a_library_that_exports_nothing_is_told_in_its_own_words() -> None:
    class WithGradient:
        def __dlpack__(self, **_version: object) -> object:
            raise BufferError("use tensor.detach()")

    with pytest.raises(ValueError, match=r"WithGradient exports no memory: use tensor\.detach"):
        arrays.view(WithGradient())


def test_a_refusal_of_one_protocol_leads_to_the_next() -> None:
    class OnGpuWithGradient:
        @property
        def __cuda_array_interface__(self) -> object:
            raise RuntimeError("requires grad")

        def __dlpack__(self, **_version: object) -> object:
            raise BufferError("use tensor.detach()")

    assert arrays.is_array(OnGpuWithGradient())
    with pytest.raises(ValueError, match=r"use tensor\.detach"):
        arrays.view(OnGpuWithGradient())


def test_memory_that_an_interface_makes_anew_is_kept() -> None:
    class Image:
        @property
        def __array_interface__(self) -> dict[str, Any]:
            return {"shape": (4096,), "typestr": "|u1", "data": bytes([7]) * 4096, "version": 3}

    view = arrays.view(Image())
    others = [bytes([1]) * 4096 for _ in range(64)]  # would take its place
    assert (view.read() == 7).all(), others
    assert view.is_read_only


@pytest.mark.parametrize(
    "given",
    [np.arange(6)[::-2], np.array([5, 3, 1], ">i8"), [5, 3, 1], np.arange(6)[None, ::-2]],
)
def test_contents_are_those_of_any_array_and_of_lists(given: Any) -> None:
    array, element = arrays.contents(given)
    assert (array.tolist(), array.shape, element.name) == (np.asarray(given).tolist(), np.shape(given), "int64")
    assert array.flags.c_contiguous
    assert arrays.contents(2.5)[0].shape == ()


def test_contents_are_a_copy() -> None:
    array = np.arange(3)
    arrays.contents(array)[0][0] = 9
    assert array[0] == 0


def test_overlap_is_a_byte_in_common() -> None:
    array = np.arange(10, dtype=np.int32)
    whole, first, last, empty = (arrays.view(one) for one in (array, array[:5], array[5:], array[:0]))
    assert whole.overlaps(first)
    assert whole.overlaps(last)
    assert not first.overlaps(last)
    assert not whole.overlaps(empty)


def test_numbers_are_no_arrays_and_structures_have_no_dtype() -> None:
    assert not arrays.is_array(np.float32(1))
    assert not arrays.is_array([1, 2])
    records = np.zeros(2, [("x", "f4"), ("y", "i4")])
    assert arrays.view(records).dtype == ""
    with pytest.raises(TypeError, match="8 bytes"):
        arrays.view(records).to_numpy()


def test_torch_exports_its_tensors() -> None:
    torch = pytest.importorskip("torch", reason="the CPU wheel of Torch is too large for every run of the tests")
    tensor = torch.arange(4, dtype=torch.float32)
    view = arrays.view(tensor)
    view.write(np.array([5, 6, 7, 8], np.float32).view(np.uint8))
    assert tensor.tolist() == [5, 6, 7, 8]
    assert arrays.view(torch.zeros(2, dtype=torch.bfloat16)).dtype == "bfloat16"
    with pytest.raises(ValueError, match="exports no memory"):
        arrays.view(torch.zeros(2, requires_grad=True))

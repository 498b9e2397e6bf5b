"""What tensor maps must do on every device, by an oracle of its own: one element at a time."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from gpuregress.foundation.records import Im2col, TensorMap
from gpuregress.gpu.base import Device
from tests.devices.bench import Bench, read

Array = npt.NDArray[Any]
EXTENTS = (24, 10, 5)
"""Of a tensor, fastest axis first."""
LINE, CHUNK = 128, 16
ROWS = {"none": 0, "32B": 1, "64B": 3, "128B": 7}


def image(dtype: npt.DTypeLike = np.uint16) -> Array:
    return np.arange(np.prod(EXTENTS), dtype=dtype).reshape(EXTENTS[::-1])


def map_of(box: tuple[int, ...], type_: str = "uint16", **further: Any) -> TensorMap:
    size = 4 if "32" in type_ else 2
    strides = (EXTENTS[0] * size, EXTENTS[0] * EXTENTS[1] * size)
    return TensorMap(type_, EXTENTS, strides, box, **{"element_strides": (1, 1, 1), **further})


def placed(byte: int, swizzle: str) -> int:
    """Where a byte of a box goes in shared memory: the chunk's number in its line, xor that of the line."""
    return byte ^ ((byte // LINE & ROWS[swizzle]) * CHUNK)


def tile_of(tensor: Array, given: TensorMap, start: tuple[int, ...], outside: int = 0) -> Array:
    """A box as shared memory holds it."""
    counts = [-(-most // step) for most, step in zip(given.box, given.element_strides, strict=True)]
    flat = np.full(np.prod(counts), outside, tensor.dtype)
    for number, index in enumerate(product(*(range(count) for count in reversed(counts)))):
        steps = zip(reversed(start), index, reversed(given.element_strides), strict=True)
        place = tuple(first + step * at for first, at, step in steps)
        if all(0 <= at < extent for at, extent in zip(place, tensor.shape, strict=True)):
            flat[placed(number * tensor.itemsize, given.swizzle) // tensor.itemsize] = tensor[place]
    return flat


class TensorMapContract:
    """Subclasses give the fixture `device`."""

    @pytest.fixture
    def device(self) -> Device:
        raise NotImplementedError

    @pytest.fixture
    def bench(self, device: Device, tmp_path: Path) -> Bench:
        return Bench(device, tmp_path, "tensors")

    def loaded(self, bench: Bench, kernel: str, tensor: Array, given: TensorMap, count: int, *at: int) -> Array:
        x, y = bench.put("x", tensor), bench.put("y", np.zeros(count, tensor.dtype))
        size = count * tensor.itemsize
        data = bench.device.tensor_map(x, given)
        bench.launch(kernel, 1, 64, data, y, np.int32(size), *(np.int32(item) for item in at), shared=16384)
        return read(y, tensor.dtype)

    @pytest.mark.parametrize("start", [(0, 0, 0), (8, 3, 1), (-8, -1, -2), (16, 8, 4), (32, 0, 0)])
    @pytest.mark.parametrize(("inner", "swizzle"), [(8, "none"), (16, "32B"), (32, "64B"), (64, "128B"), (40, "none")])
    def test_a_tile_is_swizzled_and_zero_outside(
        self, bench: Bench, inner: int, swizzle: str, start: tuple[int, int, int]
    ) -> None:
        given = map_of((inner, 4, 3), swizzle=swizzle)
        wanted = tile_of(image(), given, start)
        assert self.loaded(bench, "tile", image(), given, inner * 12, *start).tolist() == wanted.tolist()

    def test_a_tile_with_steps_between_elements(self, bench: Bench) -> None:
        given = map_of((16, 5, 4), element_strides=(1, 2, 3))
        wanted = tile_of(image(), given, (8, 1, 0))
        assert self.loaded(bench, "tile", image(), given, 16 * 3 * 2, 8, 1, 0).tolist() == wanted.tolist()

    @pytest.mark.parametrize(("start", "offset"), [((0, -1, 0), 0), ((8, 3, 1), 2), ((0, 7, 4), 1)])
    def test_pixels_follow_the_bounding_box(self, bench: Bench, start: tuple[int, int, int], offset: int) -> None:
        given = map_of((), im2col=Im2col((-1,), (-1,), 8, 20))
        (channel, w, n), tensor = start, image()
        wanted = np.zeros((20, 8), np.uint16)
        for pixel in wanted:
            if 0 <= w + offset < EXTENTS[1] and n < EXTENTS[2]:
                pixel[:] = tensor[n, w + offset, channel : channel + 8]
            w, n = (w + 1, n) if w + 1 < EXTENTS[1] - 1 else (-1, n + 1)
        assert self.loaded(bench, "pixels", tensor, given, 160, *start, offset).tolist() == wanted.ravel().tolist()

    @pytest.mark.parametrize("type_", ["float32", "tfloat32"])
    def test_elements_outside_are_nan(self, bench: Bench, type_: str) -> None:
        tensor = image(np.float32) + np.float32(1 / 3)
        wanted: Array = tile_of(tensor, map_of((8, 2, 2), type_), (20, 9, 0)).view(np.uint32)
        if type_ == "tfloat32":
            wanted = wanted + 0xFFF + (wanted >> 13 & 1) & 0xFFFF_E000
        wanted[wanted == 0] = 0x7FF7_7FF7
        loaded = self.loaded(bench, "tile", tensor, map_of((8, 2, 2), type_, oob_fill="nan"), 32, 20, 9, 0)
        assert loaded.view(np.uint32).tolist() == wanted.tolist()

    def test_short_rows_of_a_swizzle_have_gaps(self, bench: Bench) -> None:
        start = (8, 2, 1)
        loaded = self.loaded(bench, "tile", image(), map_of((8, 4, 3), swizzle="64B"), 96, *start)
        rows = tile_of(image(), map_of((8, 4, 3)), start).reshape(12, 8)
        for number, row in enumerate(rows[:3]):
            place = placed(64 * number, "64B") // 2
            assert loaded[place : place + 8].tolist() == row.tolist()

    def test_slices_of_channels(self, bench: Bench) -> None:
        tensor = np.arange(3 * 4 * 6 * 8, dtype=np.uint16).reshape(3, 4, 6, 8)
        given = TensorMap("uint16", (6, 4, 3), (96, 384), (8, 9, 1), (1, 1, 1), "16B")
        wanted = np.zeros((8, 8), np.uint16)
        wanted[1:7] = tensor[1, 2]
        loaded = self.loaded(bench, "tile", tensor, given, 64, -1, 2, 1)
        assert loaded.tolist() == wanted.ravel().tolist()

    @pytest.mark.parametrize(("start", "offset"), [((-1, 2, 1), 0), ((3, 1, 2), 2)])
    def test_pixels_of_slices(self, bench: Bench, start: tuple[int, int, int], offset: int) -> None:
        tensor = np.arange(3 * 4 * 6 * 8, dtype=np.uint16).reshape(3, 4, 6, 8)
        given = TensorMap("uint16", (6, 4, 3), (96, 384), (), (1, 1, 1), "16B", im2col=Im2col((-1,), (-1,), 16, 12))
        wanted = np.zeros((12, 8), np.uint16)
        w, c, n = start
        for pixel in wanted:
            if 0 <= w + offset < 6 and n < 3:
                pixel[:] = tensor[n, c, w + offset]
            w, n = (w + 1, n) if w + 1 < 6 - 1 else (-1, n + 1)
        assert self.loaded(bench, "pixels", tensor, given, 96, *start, offset).tolist() == wanted.ravel().tolist()

    @pytest.mark.parametrize("adds", [0, 1])
    @pytest.mark.parametrize("swizzle", ["none", "64B"])
    def test_a_tile_is_stored_inside_the_tensor_only(self, bench: Bench, swizzle: str, adds: int) -> None:
        given, start = map_of((16, 4, 2), "uint32", swizzle=swizzle), (12, 8, 4)
        tensor = image(np.uint32)
        box = np.arange(1000, 1128, dtype=np.uint32)
        x, y = bench.put("x", box), bench.put("y", tensor)
        at = (np.int32(item) for item in (box.nbytes, *start, adds, 0))
        bench.launch("put", 1, 64, bench.device.tensor_map(y, given), x, *at, shared=16384)
        for number, (z, y_, x_) in enumerate(product(range(2), range(4), range(16))):
            place = (start[2] + z, start[1] + y_, start[0] + x_)
            if all(0 <= item < extent for item, extent in zip(place, tensor.shape, strict=True)):
                value = box[placed(4 * number, swizzle) // 4]
                tensor[place] = tensor[place] + value if adds else value
        assert read(y, np.uint32).tolist() == tensor.ravel().tolist()

    @pytest.mark.parametrize("adds", [0, 1])
    @pytest.mark.parametrize("swizzle", ["none", "32B"])
    @pytest.mark.parametrize("start", [(8, 3, 1), (20, 7, 4)])
    def test_pixels_are_stored_inside_the_tensor_only(
        self, bench: Bench, start: tuple[int, int, int], swizzle: str, adds: int
    ) -> None:
        given = map_of((), "uint32", swizzle=swizzle, im2col=Im2col((1,), (-2,), 8, 12))
        tensor, box = image(np.uint32), np.arange(1000, 1096, dtype=np.uint32)
        x, y = bench.put("x", box), bench.put("y", tensor)
        at = (np.int32(item) for item in (box.nbytes, *start, adds, 1))
        bench.launch("put", 1, 64, bench.device.tensor_map(y, given), x, *at, shared=16384)
        first, w, n = start
        for pixel in range(12):
            for channel in range(first, min(first + 8, EXTENTS[0]) if n < EXTENTS[2] else 0):
                value = box[placed(4 * (8 * pixel + channel - first), swizzle) // 4]
                tensor[n, w, channel] = tensor[n, w, channel] + value if adds else value
            w, n = (w + 1, n) if w + 1 < EXTENTS[1] - 2 else (1, n + 1)
        assert read(y, np.uint32).tolist() == tensor.ravel().tolist()

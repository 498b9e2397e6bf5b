"""What textures and surfaces with layers, and cubes, must do on every device: the nearest element, bit for bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pytest

from gpuregress.foundation.records import Texture
from gpuregress.gpu.base import Device
from gpuregress.gpu.descriptors import TextureDescription
from tests.devices import texture_oracle as oracle
from tests.devices.bench import Bench, read
from tests.devices.texture_contract import COUNT, MODES, coordinates, values

Array = npt.NDArray[Any]
Kind = Literal["layered", "cube", "cube-layered"]


def describe(image: Array, kind: Kind, **sampler: Any) -> TextureDescription:
    """Of an image whose last axis is the channels, the first the layers."""
    *layers, height, width, channels = (
        image.shape if kind != "layered" or image.ndim > 3 else (*image.shape[:1], 0, *image.shape[1:])
    )
    extents = (width, height, int(np.prod(layers)))
    return TextureDescription(image.dtype.name, channels, extents, Texture(kind=kind, **sampler))


def directions(seed: int, extent: int) -> tuple[Array, Array, Array]:
    """Directions of any length, none nearer than an eighth of an element to a boundary or an edge of the cube."""
    random = np.random.default_rng(seed)
    s, t = ((random.integers(0, extent, COUNT) + random.integers(1, 8, COUNT) / 8) / extent * 2 - 1 for _ in range(2))
    length, axis = random.uniform(0.25, 9, COUNT), random.integers(0, 3, COUNT)
    actual = np.array(
        [np.where(axis == 0, 1, s), np.where(axis == 1, 1, np.where(axis == 0, s, t)), np.where(axis == 2, 1, t)]
    )
    signs = np.where(np.arange(3)[:, None] == axis, random.choice([-1, 1], COUNT), 1)
    x, y, z = (actual * signs * length).astype(np.float32)
    return x, y, z


def faces(places: tuple[Array, Array, Array], extent: int) -> tuple[Array, Array, Array]:
    """Face, column and row of the element that each direction points to: the programming guide's table, row by row."""
    table = (
        ((1, 0, 0), (0, 0, -1), (0, -1, 0)),
        ((-1, 0, 0), (0, 0, 1), (0, -1, 0)),
        ((0, 1, 0), (1, 0, 0), (0, 0, 1)),
        ((0, -1, 0), (1, 0, 0), (0, 0, -1)),
        ((0, 0, 1), (1, 0, 0), (0, -1, 0)),
        ((0, 0, -1), (-1, 0, 0), (0, -1, 0)),
    )
    along = np.stack(places, 1).astype(np.float64)
    face = np.argmax(along @ np.array([row[0] for row in table]).T, 1)
    m, s, t = (np.einsum("ij,ij->i", along, np.array([row[part] for row in table])[face]) for part in range(3))
    column, row = (np.floor((part / m + 1) / 2 * extent).astype(int) for part in (s, t))
    return face, column, row


class LayerContract:
    """Subclasses give the fixture `device`."""

    @pytest.fixture
    def device(self) -> Device:
        raise NotImplementedError

    def sampled(
        self, bench: Bench, kernel: str, image: Array, description: TextureDescription, *places: Array
    ) -> Array:
        handle = np.uint64(bench.device.texture(bench.put("image", image), description))
        out = bench.put("out", np.zeros((COUNT, image.shape[-1]), image.dtype))
        bench.launch(kernel, 2, COUNT // 2, out, handle, *(bench.put("places", position) for position in places))
        return np.asarray(read(out, image.dtype)).reshape(COUNT, image.shape[-1])

    @pytest.mark.parametrize(
        ("kernel", "shape", "dtype"),
        [
            ("row<float>", (3, 8, 1), "f4"),
            ("row<uchar2>", (5, 9, 2), "u1"),
            ("plane<float>", (4, 5, 8, 1), "f4"),
            ("plane<short4>", (2, 7, 9, 4), "i2"),
        ],
    )
    @pytest.mark.parametrize("normalized", [False, True])
    @pytest.mark.parametrize("mode", MODES)
    def test_layers(
        self,
        device: Device,
        tmp_path: Path,
        mode: str,
        kernel: str,
        shape: tuple[int, ...],
        dtype: str,
        *,
        normalized: bool,
    ) -> None:
        image = values(dtype, shape, 1)
        layer = np.random.default_rng(2).integers(0, shape[0], COUNT, np.int32)
        description = describe(image, "layered", address=(mode,) * 3, normalized=normalized)
        places = coordinates(shape[-2:0:-1], normalized=normalized, seed=3)
        actual = self.sampled(Bench(device, tmp_path, "layers"), kernel, image, description, layer, *places)
        each = np.stack([oracle.sample(part, description, places) for part in image])
        assert np.array_equal(actual, each[layer, np.arange(COUNT)])

    @pytest.mark.parametrize(("kernel", "channels", "dtype"), [("cube<float>", 1, "f4"), ("cube<uchar4>", 4, "u1")])
    def test_the_faces_of_a_cube(self, device: Device, tmp_path: Path, kernel: str, channels: int, dtype: str) -> None:
        image, places = values(dtype, (6, 5, 5, channels), 4), directions(5, 5)
        actual = self.sampled(Bench(device, tmp_path, "layers"), kernel, image, describe(image, "cube"), *places)
        face, column, row = faces(places, 5)
        assert set(face) == set(range(6))
        assert np.array_equal(actual, image[face, row, column])

    @pytest.mark.parametrize(("kernel", "channels", "dtype"), [("cubes<float>", 1, "f4"), ("cubes<uint2>", 2, "u4")])
    def test_several_cubes(self, device: Device, tmp_path: Path, kernel: str, channels: int, dtype: str) -> None:
        image, places = values(dtype, (3, 6, 4, 4, channels), 6), directions(7, 4)
        which = np.random.default_rng(8).integers(0, 3, COUNT, np.int32)
        description = describe(image, "cube-layered")
        actual = self.sampled(Bench(device, tmp_path, "layers"), kernel, image, description, which, *places)
        face, column, row = faces(places, 4)
        assert np.array_equal(actual, image[which, face, row, column])

    @pytest.mark.parametrize("kernel", ["row<float>", "plane<float>", "cube<float>"])
    def test_linear_filtering_stays_in_a_layer(self, device: Device, tmp_path: Path, kernel: str) -> None:
        flat = kernel.startswith("row")
        image = np.zeros((6, 8, 1) if flat else (6, 4, 4, 1), np.float32) + np.arange(6, dtype=np.float32).reshape(
            6, *([1] * (2 if flat else 3))
        )
        kind: Kind = "cube" if kernel.startswith("cube") else "layered"
        description = describe(image, kind, filter="linear")
        if kind == "cube":
            places: tuple[Array, ...] = directions(9, 4)
            wanted = faces((places[0], places[1], places[2]), 4)[0]
        else:
            wanted = np.random.default_rng(10).integers(0, 6, COUNT, np.int32)
            places = (wanted, *coordinates(image.shape[-2:0:-1], normalized=False, seed=11))
        actual = self.sampled(Bench(device, tmp_path, "layers"), kernel, image, description, *places)
        assert np.array_equal(actual[:, 0], wanted)

    @pytest.mark.parametrize(
        ("kernel", "channels", "dtype"), [("move<float2>", 2, "f4"), ("move<unsigned char>", 1, "u1")]
    )
    def test_surfaces_with_layers(self, device: Device, tmp_path: Path, kernel: str, channels: int, dtype: str) -> None:
        bench = Bench(device, tmp_path, "layers")
        image, before = values(dtype, (3, 5, 8, channels), 12), values(dtype, (3, 5, 8, channels), 13)
        source, target = bench.put("source", image), bench.put("target", before)
        handles = [
            np.uint64(device.texture(memory, describe(image, "layered", surface=True))) for memory in (source, target)
        ]
        bench.launch(kernel, 3, (8, 5, 1), *handles, np.int32(2))
        wanted = before.copy()
        wanted[1:, 2:, 2:] = image[:-1, :-2, :-2]
        assert np.array_equal(read(target, image.dtype).reshape(image.shape), wanted)

    def test_surfaces_with_layered_rows(self, device: Device, tmp_path: Path) -> None:
        bench = Bench(device, tmp_path, "layers")
        image = values("f4", (4, 16, 1), 14)
        there, out = bench.put("image", image), bench.put("out", np.zeros((4, 16), np.float32))
        handle = np.uint64(device.texture(there, describe(image, "layered", surface=True)))
        bench.launch("lines", 4, 16, handle, out)
        after = read(there, np.float32).reshape(4, 16)
        assert np.array_equal(after[:, :12], np.tile(np.arange(11, -1, -1, dtype=np.float32), (4, 1)))
        assert np.array_equal(after[:, 12:], image[:, 12:, 0])
        actual = read(out, np.float32).reshape(4, 16)
        # One warp reads before it writes: the columns that are read and written by others are known by their row only.
        assert np.array_equal(actual[:, :2], np.repeat(actual[:, 2:3], 2, 1))

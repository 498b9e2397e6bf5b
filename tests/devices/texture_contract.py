"""What textures and surfaces must do on every device, bit for bit."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pytest

from gpuregress.foundation.records import Texture
from gpuregress.gpu.base import Device, Memory
from gpuregress.gpu.descriptors import TextureDescription
from tests.devices import texture_oracle as oracle
from tests.devices.bench import Bench, as_bytes, read

Array = npt.NDArray[Any]
MODES = ("clamp", "wrap", "mirror", "border")
COUNT = 128


def describe(image: Array, **sampler: Any) -> TextureDescription:
    """Of an image whose last axis is the channels."""
    extents = (*image.shape[-2::-1], 0, 0)[:3]
    return TextureDescription(image.dtype.name, image.shape[-1], extents, Texture(**sampler))


def coordinates(extents: tuple[int, ...], *, normalized: bool, seed: int) -> tuple[Array, ...]:
    """Places inside and around an image, none nearer than an eighth of an element to a boundary between two."""
    random = np.random.default_rng(seed)
    actual = []
    for extent in extents:
        position = random.integers(-2 * extent, 3 * extent, COUNT) + random.integers(1, 8, COUNT) / 8
        actual.append((position / (extent if normalized else 1)).astype(np.float32))
    return tuple(actual)


def anywhere(extents: tuple[int, ...], *, normalized: bool, seed: int) -> tuple[Array, ...]:
    """Places inside and around an image, half of them within some roundings of a boundary between weights."""
    random = np.random.default_rng(seed)
    actual = []
    for extent in extents:
        boundary = random.integers(-512 * extent, 768 * extent, COUNT) / 256 + random.choice([0, 1 / 512], COUNT)
        position = np.where(random.random(COUNT) < 0.5, boundary, random.uniform(-2 * extent, 3 * extent, COUNT))
        place = (position / (extent if normalized else 1)).astype(np.float32)
        beside = place.view(np.int32) + random.integers(-2, 3, COUNT, np.int32)
        actual.append(beside.view(np.float32))
    return tuple(actual)


def same_bits(actual: Array, wanted: Array) -> bool:
    """Whether two arrays of float32 have the same bits."""
    return np.array_equal(actual.astype(np.float32).view(np.uint32), wanted.astype(np.float32).view(np.uint32))


def values(dtype: npt.DTypeLike, shape: tuple[int, ...], seed: int) -> Array:
    """Random elements, over the whole range of integers."""
    kind, random = np.dtype(dtype), np.random.default_rng(seed)
    if kind.kind == "f":
        return random.normal(0, 100, shape).astype(kind)
    limits = np.iinfo(kind)
    actual = random.integers(limits.min, limits.max, shape, kind, endpoint=True)
    actual.reshape(-1)[:2] = limits.min, limits.max
    return actual


class TextureContract:
    """Subclasses give the fixture `device`."""

    @pytest.fixture
    def device(self) -> Device:
        raise NotImplementedError

    def sampled(
        self, bench: Bench, kernel: str, image: Array, description: TextureDescription, places: tuple[Array, ...]
    ) -> Array:
        """What a kernel that samples finds: (COUNT, channels), of the type that it reads."""
        there = self.put(bench, image)
        handle = np.uint64(bench.device.texture(there, description))
        floats = description.sampler.read != "element" or image.dtype.kind == "f"
        result = np.dtype(np.float32) if floats else image.dtype
        out = bench.put("out", np.zeros((COUNT, image.shape[-1]), result))
        bench.launch(kernel, 2, COUNT // 2, out, handle, *(bench.put("places", position) for position in places))
        return np.asarray(read(out, result)).reshape(COUNT, image.shape[-1])

    @staticmethod
    def put(bench: Bench, image: Array) -> Memory:
        return bench.put("image", image)

    # --- the nearest element: every bit -------------------------------------------------------------------------------

    @pytest.mark.parametrize("normalized", [False, True])
    @pytest.mark.parametrize("mode", MODES)
    @pytest.mark.parametrize("axes", [1, 2, 3])
    def test_point(self, device: Device, tmp_path: Path, axes: int, mode: str, *, normalized: bool) -> None:
        image = values(np.float32, (*(4, 5, 8)[3 - axes :], 1), axes)
        description = describe(image, address=(mode,) * 3, normalized=normalized)
        places = coordinates(image.shape[-2::-1], normalized=normalized, seed=axes)
        actual = self.sampled(Bench(device, tmp_path, "textures"), f"sample{axes}<float>", image, description, places)
        assert np.array_equal(actual, oracle.sample(image, description, places))

    def test_each_axis_has_a_mode_of_its_own(self, device: Device, tmp_path: Path) -> None:
        bench = Bench(device, tmp_path, "textures")
        image = values(np.int16, (4, 5, 8, 2), 3)
        for modes in product(("clamp", "wrap", "border"), repeat=3):
            description = describe(image, address=modes, normalized=True)
            places = coordinates((8, 5, 4), normalized=True, seed=5)
            actual = self.sampled(bench, "sample3<short2>", image, description, places)
            assert np.array_equal(actual, oracle.sample(image, description, places)), modes

    @pytest.mark.parametrize(
        ("kernel", "dtype", "channels"),
        [
            ("sample2<uchar1>", np.uint8, 1),
            ("sample2<char2>", np.int8, 2),
            ("sample2<ushort4>", np.uint16, 4),
            ("sample2<short1>", np.int16, 1),
            ("sample2<uint2>", np.uint32, 2),
            ("sample2<int4>", np.int32, 4),
            ("sample2<float>", np.float16, 1),
            ("sample2<float4>", np.float16, 4),
            ("sample2<float2>", np.float32, 2),
            ("sample2<float4>", np.float32, 4),
        ],
    )
    def test_formats(self, device: Device, tmp_path: Path, kernel: str, dtype: npt.DTypeLike, channels: int) -> None:
        image = values(dtype, (7, 9, channels), channels)
        if image.dtype == np.float16:
            image.reshape(-1)[:4] = 6e-8, -0.0, np.inf, 65504
        description, places = describe(image), coordinates((9, 7), normalized=False, seed=1)
        actual = self.sampled(Bench(device, tmp_path, "textures"), kernel, image, description, places)
        assert np.array_equal(actual, oracle.sample(image, description, places))

    @pytest.mark.parametrize(
        ("dtype", "kernel", "channels"),
        [
            (np.uint8, "sample2<float>", 1),
            (np.int8, "sample2<float4>", 4),
            (np.uint16, "sample2<float2>", 2),
            (np.int16, "sample2<float>", 1),
        ],
    )
    def test_integers_as_normalized_floats(
        self, device: Device, tmp_path: Path, dtype: npt.DTypeLike, kernel: str, channels: int
    ) -> None:
        image = values(dtype, (16, 16, channels), 2)
        description = describe(image, read="normalized_float")
        places = coordinates((16, 16), normalized=False, seed=2)
        actual = self.sampled(Bench(device, tmp_path, "textures"), kernel, image, description, places)
        assert np.array_equal(actual, oracle.sample(image, description, places))

    @pytest.mark.parametrize(
        ("kernel", "dtype", "channels"), [("fetch<float4>", np.float32, 4), ("fetch<uchar2>", np.uint8, 2)]
    )
    def test_linear_memory(
        self, device: Device, tmp_path: Path, kernel: str, dtype: npt.DTypeLike, channels: int
    ) -> None:
        image = values(dtype, (100, channels), 4)
        index = np.arange(-14, COUNT - 14, dtype=np.int32)
        description = describe(image, memory="linear")
        actual = self.sampled(Bench(device, tmp_path, "textures"), kernel, image, description, (index,))
        wanted = np.where(((index >= 0) & (index < 100))[:, None], image[np.clip(index, 0, 99)], 0)
        assert np.array_equal(actual, wanted)

    def test_gather(self, device: Device, tmp_path: Path) -> None:
        bench = Bench(device, tmp_path, "textures")
        for kernel, dtype, channels, channel in (
            ("gather<float4, 0>", np.float32, 1, 0),
            ("gather<uint4, 1>", np.uint32, 2, 1),
        ):
            image = values(dtype, (8, 8, channels), 6)
            description = describe(image)
            x, y = (position + np.float32(0.5) for position in coordinates((8, 8), normalized=False, seed=6))
            handle = np.uint64(device.texture(self.put(bench, image), description))
            out = bench.put("out", np.zeros((COUNT, 4), dtype))
            bench.launch(kernel, 2, COUNT // 2, out, handle, bench.put("x", x), bench.put("y", y))
            wanted = oracle.gather(image, description, x, y, channel)
            assert np.array_equal(read(out, dtype).reshape(COUNT, 4), wanted)

    # --- linear filtering ---------------------------------------------------------------------------------------------

    @pytest.mark.parametrize("normalized", [False, True])
    @pytest.mark.parametrize("mode", MODES)
    @pytest.mark.parametrize("axes", [1, 2, 3])
    def test_linear(self, device: Device, tmp_path: Path, axes: int, mode: str, *, normalized: bool) -> None:
        random, shape = np.random.default_rng(7), (*(4, 5, 7)[3 - axes :], 1)
        image = np.ldexp(random.uniform(-2, 2, shape), random.integers(-12, 13, shape)).astype(np.float32)
        description = describe(image, filter="linear", address=(mode,) * 3, normalized=normalized)
        places = anywhere(image.shape[-2::-1], normalized=normalized, seed=8)
        actual = self.sampled(Bench(device, tmp_path, "textures"), f"sample{axes}<float>", image, description, places)
        assert same_bits(actual, oracle.sample(image, description, places))

    @pytest.mark.parametrize("normalized", [False, True])
    @pytest.mark.parametrize(("kernel", "axes"), [("sample2<float>", 2), ("sample3<float>", 3)])
    def test_the_nearest_element_beside_boundaries(
        self, device: Device, tmp_path: Path, kernel: str, axes: int, *, normalized: bool
    ) -> None:
        image = np.arange(5 * 7 * 9, dtype=np.float32).reshape(*(5, 7, 9)[: axes - 1], -1, 1)
        for mode in MODES:
            description = describe(image, address=(mode,) * 3, normalized=normalized)
            places = anywhere(image.shape[-2::-1], normalized=normalized, seed=20)
            actual = self.sampled(Bench(device, tmp_path, "textures"), kernel, image, description, places)
            assert same_bits(actual, oracle.sample(image, description, places)), mode

    @pytest.mark.parametrize(
        ("kernel", "dtype", "shape"),
        [
            ("sample1<float>", np.int8, (64, 1)),
            ("sample2<float4>", np.uint8, (8, 8, 4)),
            ("sample2<float2>", np.uint16, (8, 8, 2)),
            ("sample2<float4>", np.int8, (8, 8, 4)),
            ("sample3<float>", np.int16, (4, 5, 6, 1)),
            ("sample3<float>", np.uint8, (4, 5, 6, 1)),
            ("sample3<float>", np.int8, (4, 5, 6, 1)),
            ("sample2<float4>", np.float16, (8, 8, 4)),
            ("sample3<float>", np.float16, (4, 5, 6, 1)),
            ("sample2<float4>", np.float32, (8, 8, 4)),
        ],
    )
    def test_linear_filtering_of_each_format(
        self, device: Device, tmp_path: Path, kernel: str, dtype: npt.DTypeLike, shape: tuple[int, ...]
    ) -> None:
        image = values(dtype, shape, 9)
        read_as = "element" if image.dtype.kind == "f" else "normalized_float"
        description = describe(image, filter="linear", read=read_as, address=("border",) * 3)
        places = anywhere(shape[-2::-1], normalized=False, seed=9)
        actual = self.sampled(Bench(device, tmp_path, "textures"), kernel, image, description, places)
        assert same_bits(actual, oracle.sample(image, description, places))

    @pytest.mark.parametrize("dtype", [np.float32, np.float16])
    @pytest.mark.parametrize(("kernel", "axes"), [("sample2<float>", 2), ("sample3<float>", 3)])
    def test_linear_filtering_of_special_numbers(
        self, device: Device, tmp_path: Path, dtype: npt.DTypeLike, kernel: str, axes: int
    ) -> None:
        image, random = values(dtype, (*(6, 7, 8)[3 - axes :], 1), 21), np.random.default_rng(22)
        info = np.finfo(np.dtype(dtype))
        some = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, info.max, info.smallest_subnormal, -info.tiny], dtype)
        chosen = random.random(image.shape) < 0.4
        image[chosen] = random.choice(some, chosen.sum())
        description = describe(image, filter="linear", address=("wrap", "mirror", "border"), normalized=True)
        places = anywhere(image.shape[-2::-1], normalized=True, seed=23)
        actual = self.sampled(Bench(device, tmp_path, "textures"), kernel, image, description, places)
        assert same_bits(actual, oracle.sample(image, description, places))

    def test_a_gather_takes_the_elements_of_linear_filtering(self, device: Device, tmp_path: Path) -> None:
        bench = Bench(device, tmp_path, "textures")
        for image, options in (
            (
                np.arange(63, dtype=np.float32).reshape(7, 9, 1),
                {"normalized": True, "address": ("wrap", "mirror", "clamp")},
            ),
            (values(np.int8, (7, 9, 1), 24), {"read": "normalized_float"}),
            (np.full((7, 9, 1), 1e-40, np.float32), {}),
        ):
            description = describe(image, **options)
            x, y = anywhere((9, 7), normalized=bool(options.get("normalized")), seed=25)
            handle = np.uint64(device.texture(self.put(bench, image), description))
            out = bench.put("out", np.zeros((COUNT, 4), np.float32))
            bench.launch("gather<float4, 0>", 2, COUNT // 2, out, handle, bench.put("x", x), bench.put("y", y))
            wanted = oracle.gather(image, description, x, y, 0)
            assert same_bits(read(out, np.float32).reshape(COUNT, 4), wanted)

    def test_the_middle_of_an_element_is_that_element(self, device: Device, tmp_path: Path) -> None:
        image = values(np.float32, (COUNT, 1), 10)
        description: TextureDescription = describe(image, filter="linear")
        places = (np.arange(COUNT, dtype=np.float32) + np.float32(0.5),)
        actual = self.sampled(Bench(device, tmp_path, "textures"), "sample1<float>", image, description, places)
        assert np.array_equal(actual, image)

    @pytest.mark.parametrize("filtered", ["point", "linear"])
    def test_there_is_one_level(self, device: Device, tmp_path: Path, filtered: Literal["point", "linear"]) -> None:
        bench = Bench(device, tmp_path, "textures")
        image = values(np.float32, (8, 8, 1), 11)
        handle = np.uint64(device.texture(self.put(bench, image), describe(image, filter=filtered)))
        out = bench.put("out", np.zeros((COUNT, 3), np.float32))
        places = (bench.put("places", position) for position in coordinates((8, 8), normalized=False, seed=11))
        bench.launch("levels", 2, COUNT // 2, out, handle, *places)
        level, gradient, plain = read(out, np.float32).reshape(COUNT, 3).T
        assert np.array_equal(level, plain)
        assert np.array_equal(gradient, plain)

    # --- surfaces -----------------------------------------------------------------------------------------------------

    @pytest.mark.parametrize("mode", ["Clamp", "Zero"])
    def test_surfaces_of_two_axes(self, device: Device, tmp_path: Path, mode: str) -> None:
        bench = Bench(device, tmp_path, "textures")
        image, before = values(np.float32, (5, 8, 2), 12), values(np.float32, (5, 8, 2), 13)
        source, target = self.put(bench, image), self.put(bench, before)
        handles = [np.uint64(device.texture(memory, describe(image, surface=True))) for memory in (source, target)]
        bench.launch(f"shift<float2, cudaBoundaryMode{mode}>", 5, 8, *handles, np.int32(2))
        after = read(target, np.float32).reshape(before.shape)
        wanted = before.copy()
        for y in range(5):
            for x in range(2 if mode == "Zero" else 3, 8):
                inside = x + 2 < 8 and y >= 2
                position = (max(y - 2, 0), min(x + 2, 7))
                wanted[y, x - 2] = image[position] if mode == "Clamp" or inside else 0
        rows, columns = np.indices((5, 8))
        # Under clamp, threads 0 to 2 of a row write its first element: which of them is last is the device's choice.
        decided = (columns > 0) | (mode == "Zero")
        assert np.array_equal(after[decided], wanted[decided])
        choices = {image[max(row - 2, 0), min(x + 2, 7)].tobytes() for row in range(5) for x in range(3)}
        assert mode == "Zero" or all(after[row, 0].tobytes() in choices for row in rows[:, 0])
        assert np.array_equal(read(source, np.float32).reshape(image.shape), image)

    def test_surfaces_of_one_and_three_axes(self, device: Device, tmp_path: Path) -> None:
        bench = Bench(device, tmp_path, "textures")
        line, brick = values(np.int16, (16, 4), 14), values(np.uint8, (3, 4, 8, 1), 15)
        line_there, brick_there = self.put(bench, line), self.put(bench, brick)
        handle = device.texture(line_there, describe(line, surface=True))
        bench.launch("lines", 1, 16, np.uint64(handle), np.int32(10))
        line[:10, 1] = np.arange(10)
        assert np.array_equal(read(line_there, np.int16).reshape(16, 4), line)
        handle = device.texture(brick_there, describe(brick, surface=True))
        bench.launch("bricks", 1, (8, 4, 3), np.uint64(handle))
        z, y, _, _ = np.indices(brick.shape)
        wanted = (brick + 16 * z + 4 * y).astype(np.uint8)
        assert np.array_equal(read(brick_there, np.uint8).reshape(brick.shape), wanted)

    def test_what_is_written_between_launches_is_sampled(self, device: Device, tmp_path: Path) -> None:
        bench = Bench(device, tmp_path, "textures")
        first, second = values(np.float32, (8, 8, 1), 16), values(np.float32, (8, 8, 1), 17)
        there = self.put(bench, first)
        handle = np.uint64(device.texture(there, describe(first)))
        places = coordinates((8, 8), normalized=False, seed=16)
        out = bench.put("out", np.zeros(COUNT, np.float32))
        for image in (first, second):
            there.write(as_bytes(image))
            bench.launch("sample2<float>", 2, COUNT // 2, out, handle, *(bench.put("place", item) for item in places))
            wanted = oracle.sample(image, describe(image), places)[:, 0]
            assert np.array_equal(read(out, np.float32), wanted)

    def test_extents_can_be_asked(self, device: Device, tmp_path: Path) -> None:
        bench = Bench(device, tmp_path, "textures")
        image, brick = values(np.float32, (3, 7, 1), 18), values(np.uint8, (3, 4, 8, 1), 19)
        handles = (
            np.uint64(device.texture(self.put(bench, image), describe(image))),
            np.uint64(device.texture(self.put(bench, brick), describe(brick, surface=True))),
        )
        out = bench.put("out", np.zeros(3, np.int32))
        bench.launch("extents", 1, 1, out, *handles)
        assert read(out, np.int32).tolist() == [7, 3, 3]

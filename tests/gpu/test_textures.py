"""Textures and surfaces on each device that this machine has, and what the CPU device says of wrong ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from gpuregress.execution import device_registry as registry
from gpuregress.foundation.errors import DeviceError, KernelFault, UnsupportedError
from gpuregress.gpu.base import Device
from tests.devices.bench import Bench
from tests.devices.texture_contract import TextureContract, coordinates, describe, values

pytestmark = pytest.mark.usefixtures("without_llvm_passes")


class TestCpu(TextureContract):
    @pytest.fixture
    def device(self) -> Iterator[Device]:
        with registry.open_device("cpu") as device:
            yield device

    @pytest.mark.parametrize(
        ("at", "row", "kind", "words"),
        [
            (32, 1, "out-of-bounds", "surface write of 4 bytes at image(x = byte 32, y = 1) (image has 32 bytes x 4)"),
            (-4, 1, "out-of-bounds", "image(x = byte -4, y = 1)"),
            (0, 4, "out-of-bounds", "image(x = byte 0, y = 4)"),
            (0, -1, "out-of-bounds", "image(x = byte 0, y = -1)"),
            (6, 1, "misaligned", "misaligned surface write of 4 bytes at image(x = byte 6, y = 1)"),
        ],
    )
    def test_a_surface_names_its_faults(
        self, device: Device, tmp_path: Path, at: int, row: int, kind: str, words: str
    ) -> None:
        bench = Bench(device, tmp_path, "textures")
        image = values(np.float32, (4, 8, 1), 1)
        there = self.put(bench, image)
        handle = np.uint64(device.texture(there, describe(image, surface=True)))
        bench.launch("bytes_of", 1, 1, handle, np.int32(28), np.int32(3))
        assert there.read(-4 + image.nbytes, 4).tolist() == [7, 0, 0, 0]
        kept = there.read()
        with pytest.raises(KernelFault) as caught:
            bench.launch("bytes_of", 1, 1, handle, np.int32(at), np.int32(row))
        assert caught.value.kind == kind
        assert words in str(caught.value)
        assert "thread (0,0,0) of block (0,0,0), textures.cu:" in str(caught.value)
        assert np.array_equal(there.read(), kept)

    def test_a_misaligned_place_is_rounded_down_where_nothing_traps(self, device: Device, tmp_path: Path) -> None:
        bench = Bench(device, tmp_path, "textures")
        image = values(np.int32, (4, 8, 1), 1)
        there = self.put(bench, image)
        handle = np.uint64(device.texture(there, describe(image, surface=True)))
        bench.launch("bytes_near", 1, 1, handle, np.int32(6), np.int32(9))
        image[3, 1] = 7
        assert np.array_equal(there.read().view(np.int32).reshape(image.shape), image)

    def test_an_object_of_another_kind_is_named(self, device: Device, tmp_path: Path) -> None:
        bench = Bench(device, tmp_path, "textures")
        image = values(np.float32, (4, 8, 1), 1)
        there, out = self.put(bench, image), bench.put("out", np.zeros(128, np.float32))
        places = [bench.put("places", position) for position in coordinates((8, 4), normalized=False, seed=1)]
        texture = device.texture(there, describe(image))
        line = device.texture(there, describe(image.reshape(32, 1), memory="linear"))
        surface = device.texture(there, describe(image, surface=True))
        for kernel, handle, words in (
            ("sample1<float>", texture, "tex.1d.v4.f32.f32 of image, a texture of 2 axes"),
            ("sample1<float>", line, "of image, a texture of 1 axis in linear memory"),
            ("sample2<float>", surface, "of image, a surface of 2 axes"),
            ("sample2<float>", 12345, "of 0x3039, no texture or surface"),
            ("sample2<float>", 0, "of 0x0, no texture or surface"),
            ("sample2<float>", there.address, "no texture or surface"),
        ):
            with pytest.raises(KernelFault) as caught:
                bench.launch(kernel, 1, 64, out, np.uint64(handle), *places[: 1 + kernel.startswith("sample2")])
            assert caught.value.kind == "illegal-access"
            assert words in str(caught.value)
        with pytest.raises(KernelFault, match="of image, a texture of 2 axes"):
            bench.launch("bytes_of", 1, 1, np.uint64(texture), np.int32(0), np.int32(0))

    def test_objects_end_with_their_case(self, device: Device, tmp_path: Path) -> None:
        bench = Bench(device, tmp_path, "textures")
        image = values(np.float32, (4, 8, 1), 1)
        handle = device.texture(self.put(bench, image), describe(image, surface=True))
        device.free_all()
        bench = Bench(device, tmp_path, "textures")
        with pytest.raises(KernelFault, match="no texture or surface"):
            bench.launch("bytes_of", 1, 1, np.uint64(handle), np.int32(0), np.int32(0))

    def test_what_is_not_there_is_refused_with_instruction_and_line(self, device: Device, tmp_path: Path) -> None:
        bench = Bench(device, tmp_path, "textures")
        mangled = bench.program.entries["whole"].mangled
        with pytest.raises(UnsupportedError, match=r"tex\.2d\.v4\.f32\.s32 at textures\.cu:\d+ is not supported"):
            bench.module.kernel(mangled)

    def test_a_coordinate_that_is_no_number_counts_as_zero(self, device: Device, tmp_path: Path) -> None:
        image = values(np.float32, (128, 1), 1)
        places = np.full(128, np.nan, np.float32)
        places[1], places[2] = np.inf, -np.inf
        actual = self.sampled(Bench(device, tmp_path, "textures"), "sample1<float>", image, describe(image), (places,))
        assert actual[:4, 0].tolist() == [image[0, 0], image[127, 0], image[0, 0], image[0, 0]]

    def test_a_buffer_that_is_too_small_is_refused(self, device: Device) -> None:
        image = values(np.float32, (4, 8, 1), 1)
        with pytest.raises(DeviceError, match="small has 100 bytes; its texture has 128"):
            device.texture(device.allocate("small", 100), describe(image))


@pytest.mark.gpu
class TestCuda(TextureContract):
    @pytest.fixture
    def device(self, gpu: str) -> Iterator[Device]:
        with registry.open_device(gpu) as device:
            yield device

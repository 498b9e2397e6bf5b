"""Layers and cubes on each device that this machine has, and what the CPU device says of wrong ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from gpuregress.execution import device_registry as registry
from gpuregress.foundation.errors import KernelFault
from gpuregress.foundation.records import Buffer, Texture
from gpuregress.gpu.base import Device
from gpuregress.virtual_gpu.module import CpuModule
from tests.devices.bench import Bench
from tests.devices.layer_contract import LayerContract, describe
from tests.devices.texture_contract import COUNT, values


class TestCpu(LayerContract):
    @pytest.fixture
    def device(self) -> Iterator[Device]:
        with registry.open_device("cpu") as device:
            yield device

    @pytest.mark.parametrize(
        ("x", "y", "layer", "words"),
        [
            (0, 1, 3, "image(x = byte 0, y = 1, layer = 3) (image has 32 bytes x 4 x 3 layers)"),
            (0, 1, -1, "image(x = byte 0, y = 1, layer = -1)"),
            (32, 1, 2, "surface write of 4 bytes at image(x = byte 32, y = 1, layer = 2)"),
            (0, 4, 0, "image(x = byte 0, y = 4, layer = 0)"),
        ],
    )
    def test_a_surface_names_its_faults(
        self, device: Device, tmp_path: Path, x: int, y: int, layer: int, words: str
    ) -> None:
        bench = Bench(device, tmp_path, "layers")
        image = values(np.int32, (3, 4, 8, 1), 1)
        there = bench.put("image", image)
        handle = np.uint64(device.texture(there, describe(image, "layered", surface=True)))
        bench.launch("one", 1, 1, handle, np.int32(28), np.int32(3), np.int32(2))
        assert there.read(image.nbytes - 4, 4).tolist() == [7, 0, 0, 0]
        with pytest.raises(KernelFault) as caught:
            bench.launch("one", 1, 1, handle, np.int32(x), np.int32(y), np.int32(layer))
        assert caught.value.kind == "out-of-bounds"
        assert words in str(caught.value)

    def test_an_object_of_another_kind_is_named(self, device: Device, tmp_path: Path) -> None:
        bench = Bench(device, tmp_path, "layers")
        image = values(np.float32, (6, 4, 4, 1), 2)
        there, out = bench.put("image", image), bench.put("out", np.zeros(COUNT, np.float32))
        layers, cube = (device.texture(there, describe(image, kind)) for kind in ("layered", "cube"))
        places = [bench.put("places", np.zeros(COUNT, np.float32)) for _ in range(3)]
        for kernel, handle, words in (
            ("plane<float>", cube, "of image, a cube texture"),
            ("cube<float>", layers, "of image, a layered texture of 2 axes"),
            ("row<float>", layers, "tex.a1d.v4.f32.f32 of image, a layered texture of 2 axes"),
        ):
            with pytest.raises(KernelFault) as caught:
                bench.launch(kernel, 1, 32, out, np.uint64(handle), *places[: 2 + (kernel[0] != "r")])
            assert caught.value.kind == "illegal-access"
            assert words in str(caught.value)

    def test_a_layer_outside_is_the_last(self, device: Device, tmp_path: Path) -> None:
        image = values(np.float32, (3, 8, 1), 3)
        layer = np.where(np.arange(COUNT) % 2, 3, -1).astype(np.int32)
        places = np.full(COUNT, 2.5, np.float32)
        bench = Bench(device, tmp_path, "layers")
        actual = self.sampled(bench, "row<float>", image, describe(image, "layered"), layer, places)
        assert (actual == image[2, 2]).all()

    def test_a_surface_with_layers_is_not_cut_for_several_cores(self, device: Device, tmp_path: Path) -> None:
        bench = Bench(device, tmp_path, "layers")
        assert isinstance(bench.module, CpuModule)
        assert bench.module.facts(bench.program.entries["move<float2>"].mangled).footprint is None


@pytest.mark.parametrize(
    ("kind", "shape", "extents", "axes"),
    [
        ("plain", (4, 5, 6), (6, 5, 4), 3),
        ("plain", (5,), (5, 0, 0), 1),
        ("layered", (4, 6), (6, 0, 4), 1),
        ("layered", (4, 5, 6), (6, 5, 4), 2),
        ("cube", (6, 5, 5), (5, 5, 6), 2),
        ("cube-layered", (3, 6, 5, 5), (5, 5, 18), 2),
    ],
)
def test_a_shape_becomes_extents(
    kind: Literal["plain", "layered", "cube", "cube-layered"],
    shape: tuple[int, ...],
    extents: tuple[int, int, int],
    axes: int,
) -> None:
    actual = Buffer("image", "float2", shape, texture=Texture(kind=kind)).texture_description
    assert actual is not None
    assert (actual.extents, actual.axes, actual.channels) == (extents, axes, 2)
    assert extents[0] * actual.rows == np.prod(shape)


@pytest.mark.gpu
class TestCuda(LayerContract):
    @pytest.fixture
    def device(self, gpu: str) -> Iterator[Device]:
        with registry.open_device(gpu) as device:
            yield device

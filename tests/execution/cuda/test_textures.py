"""Texture and surface objects through the driver's calls, with a fake driver behind them that keeps arrays as bytes."""

from __future__ import annotations

import ctypes
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

from gpuregress.execution.cuda import textures
from gpuregress.execution.cuda.memory import CudaMemory
from gpuregress.execution.cuda.textures import CudaTexture
from gpuregress.foundation.records import Texture
from gpuregress.gpu.descriptors import TextureDescription
from tests.execution.cuda.fake_api import FakeApi

ARRAY, OBJECT = 0x1000, 0x77
IMAGE = TextureDescription("float16", 2, (5, 3, 0), Texture("linear", ("border", "clamp", "clamp")))
SIZE = 5 * 3 * 4


class FakeDriver:
    """Answers the calls that `CudaTexture` makes; `refuse` names one that fails."""

    def __init__(self, api: FakeApi, refuse: str = "") -> None:
        self.api, self.refuse = api, refuse
        self.names: list[str] = []
        self.given: dict[str, list[Any]] = {}
        self.array = np.zeros(SIZE, np.uint8)

    def __call__(self, name: str, *arguments: Any) -> None:
        self.names.append(name)
        if name == self.refuse:
            raise self.api.Error(f"{name} failed: invalid argument")
        inner = [getattr(argument, "_obj", argument) for argument in arguments]
        self.given[name] = inner
        if name == "cuArray3DCreate_v2":
            inner[0].value = ARRAY
        elif name in ("cuTexObjectCreate", "cuSurfObjectCreate"):
            inner[0].value = OBJECT
        elif name == "cuMemcpy3D_v2":
            self._copy(inner[0])

    def _copy(self, copy: Any) -> None:
        size = copy.width * copy.height * copy.depth
        ends = [self._end(end, size, copy.width) for end in (copy.source, copy.target)]
        ends[1][:] = ends[0]

    def _end(self, end: Any, size: int, width: int) -> Any:
        if end.kind == 3:
            assert end.array == ARRAY
            return self.array[:size]
        assert (end.kind, end.pitch) == (2, width)
        return self.api.memory[end.device : end.device + size]


def _memory(api: FakeApi) -> CudaMemory:
    def staging() -> Any:
        raise AssertionError

    return CudaMemory("image", SIZE, 4096, 4, False, api, lambda _: nullcontext(), staging)


def test_structures_are_as_large_as_those_of_the_header() -> None:
    sizes = [
        ctypes.sizeof(kind)
        for kind in (textures._ArrayDescriptor, textures._Resource, textures._Sampler, textures._Copy)
    ]
    assert sizes == [40, 144, 104, 200]


@pytest.mark.parametrize(
    ("texture", "extents", "flags", "sampled"),
    [
        (Texture(kind="layered"), (5, 3, 4), 0x01, 0),
        (Texture(kind="layered"), (5, 0, 4), 0x01, 0),
        (Texture(kind="layered", surface=True), (5, 3, 4), 0x03, None),
        (Texture(kind="cube"), (4, 4, 6), 0x04, 2),
        (Texture(kind="cube-layered"), (4, 4, 18), 0x05, 2),
    ],
)
def test_layers_and_cubes_are_said_to_the_driver(
    texture: Texture, extents: tuple[int, int, int], flags: int, sampled: int | None
) -> None:
    api = FakeApi()
    call, memory = FakeDriver(api), _memory(api)
    CudaTexture(memory, TextureDescription("float32", 1, extents, texture), call)
    form = call.given["cuArray3DCreate_v2"][1]
    assert (form.width, form.height, form.depth, form.flags) == (*extents, flags)
    assert sampled is None or call.given["cuTexObjectCreate"][2].flags == sampled


def test_a_texture_samples_an_array_that_follows_its_buffer() -> None:
    api = FakeApi()
    call, memory = FakeDriver(api), _memory(api)
    texture = CudaTexture(memory, IMAGE, call)
    assert texture.handle == OBJECT
    form = call.given["cuArray3DCreate_v2"][1]
    assert (form.width, form.height, form.depth, form.format, form.channels, form.flags) == (5, 3, 0, 0x10, 2, 0x08)
    _, resource, sampler, view = call.given["cuTexObjectCreate"]
    assert (resource.kind, resource.of.array.handle, view) == (0, ARRAY, None)
    assert (list(sampler.address), sampler.filter, sampler.flags) == ([3, 1, 1], 1, 0)
    for content in (np.arange(SIZE, dtype=np.uint8), np.full(SIZE, 9, np.uint8)):
        memory.write(content)
        texture.before_launch()
        texture.before_launch()
        texture.after_launch()
        assert np.array_equal(call.array, content)
    assert call.names.count("cuMemcpy3D_v2") == 2
    texture.free()
    assert call.names[-2:] == ["cuTexObjectDestroy", "cuArrayDestroy"]
    texture.free()
    assert call.names.count("cuArrayDestroy") == 1


def test_what_kernels_write_through_a_surface_comes_back_into_its_buffer() -> None:
    api = FakeApi()
    call, memory = FakeDriver(api), _memory(api)
    surface = CudaTexture(memory, TextureDescription("uint8", 4, (5, 3, 0), Texture(surface=True)), call)
    assert call.given["cuArray3DCreate_v2"][1].flags == 0x02
    memory.write(np.arange(SIZE, dtype=np.uint8))
    surface.before_launch()
    call.array += 1
    surface.after_launch()
    assert np.array_equal(memory.read(), np.arange(1, SIZE + 1))
    surface.before_launch()
    assert np.array_equal(call.array, np.arange(1, SIZE + 1))
    surface.free()
    assert call.names[-2:] == ["cuSurfObjectDestroy", "cuArrayDestroy"]


def test_linear_memory_is_the_buffer_itself() -> None:
    api = FakeApi()
    call, memory = FakeDriver(api), _memory(api)
    texture = CudaTexture(memory, TextureDescription("int16", 2, (15, 0, 0), Texture(memory="linear")), call)
    texture.before_launch()
    texture.after_launch()
    assert call.names == ["cuTexObjectCreate"]
    _, resource, sampler, _ = call.given["cuTexObjectCreate"]
    linear = resource.of.linear
    assert (resource.kind, linear.address, linear.format, linear.channels, linear.size) == (2, 4096, 0x09, 2, SIZE)
    assert sampler.flags == 0x01
    texture.free()
    assert call.names[1:] == ["cuTexObjectDestroy"]


@pytest.mark.parametrize(
    ("format_", "sampler", "flags"),
    [
        ("uint8", Texture(read="normalized_float", normalized=True), 0x02),
        ("uint8", Texture(normalized=True), 0x03),
        ("float32", Texture(), 0x00),
    ],
)
def test_flags_of_the_sampler(format_: str, sampler: Texture, flags: int) -> None:
    call = FakeDriver(FakeApi())
    CudaTexture(_memory(call.api), TextureDescription(format_, 1, (5, 3, 0), sampler), call)
    assert call.given["cuTexObjectCreate"][2].flags == flags


@pytest.mark.parametrize(("extents", "modes"), [((6, 0, 0), [3, 1, 1]), ((3, 2, 0), [3, 3, 1]), ((3, 2, 1), [3, 3, 3])])
def test_an_axis_that_is_not_there_is_clamped(extents: tuple[int, int, int], modes: list[int]) -> None:
    call = FakeDriver(FakeApi())
    sampler = Texture(filter="linear", address=("border",) * 3)
    CudaTexture(_memory(call.api), TextureDescription("float32", 1, extents, sampler), call)
    assert list(call.given["cuTexObjectCreate"][2].address) == modes


def test_an_array_does_not_outlive_an_object_that_was_refused() -> None:
    api = FakeApi()
    call = FakeDriver(api, refuse="cuTexObjectCreate")
    with pytest.raises(api.Error):
        CudaTexture(_memory(api), IMAGE, call)
    assert call.names == ["cuArray3DCreate_v2", "cuTexObjectCreate", "cuArrayDestroy"]

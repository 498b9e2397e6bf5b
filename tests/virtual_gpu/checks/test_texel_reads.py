"""The texels that a fetch reads: those whose write in the same launch is reported."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpuregress.foundation.records import Texture
from gpuregress.gpu.descriptors import TextureDescription
from tests.virtual_gpu.running import Running

FETCHES = {
    "line": "tex1D<float>(image, u)",
    "plane": "tex2D<float>(image, u, v)",
    "space": "tex3D<float>(image, u, v, w)",
    "layer": "tex2DLayered<float>(image, u, v, int(w))",
    "cube": "texCubemap<float>(image, u, v, w)",
    "gather": "tex2Dgather<float4>(image, u, v, 0).x",
    "element": "tex1Dfetch<float>(image, int(u))",
    "vector": "tex1Dfetch<float4>(image, int(u)).w",
}
KERNEL = """
extern "C" __global__ void {}(cudaTextureObject_t image, float* y, int i, float u, float v, float w, float* z)
{{
    if (i >= 0) y[i] = 1;
    z[0] = {};
}}
"""
LINEAR = {"filter": "linear"}
CASES: list[tuple[str, dict[str, Any], tuple[float, float, float], set[int]]] = [
    ("line", LINEAR, (1.25, 0, 0), {0, 1}),
    ("plane", {}, (1.25, 2.25, 0), {9}),
    ("plane", LINEAR, (1.25, 2.5, 0), {8, 9}),
    ("plane", LINEAR, (1.25, 2.25, 0), {4, 5, 8, 9}),
    ("plane", LINEAR, (0.5 + 1 / 256, 0.5 + 1 / 256, 0), {0, 1, 4, 5}),  # one weight is 1 / 65536, rounded to 0
    ("plane", LINEAR, (9, 9, 0), {15}),
    ("plane", {**LINEAR, "address": ("border",) * 3}, (-0.25, 0.5, 0), {0}),
    ("plane", {"address": ("border",) * 3}, (-0.25, 0.5, 0), set()),
    ("plane", {**LINEAR, "normalized": True, "address": ("wrap",) * 3}, (0, 0.125, 0), {0, 3}),
    ("space", LINEAR, (1, 1, 1), {0, 1, 4, 5, 16, 17, 20, 21}),
    ("layer", {"kind": "layered"}, (0.5, 1.5, 2), {36}),
    ("layer", {**LINEAR, "kind": "layered"}, (1, 0.5, 9), {48, 49}),
    ("cube", {"kind": "cube"}, (0, 0, -1), {90}),
    ("cube", {**LINEAR, "kind": "cube"}, (1, 0, 0), {5, 6, 9, 10}),
    ("gather", {}, (1, 1, 0), {0, 1, 4, 5}),
    ("element", {"memory": "linear"}, (5, 0, 0), {5}),
    ("element", {"memory": "linear"}, (-1, 0, 0), set()),
    ("vector", {"memory": "linear"}, (1, 0, 0), {4, 5, 6, 7}),
]
EXTENTS = {"line": (96, 0, 0), "space": (4, 4, 6), "layer": (4, 4, 4), "cube": (4, 4, 6), "plane": (4, 4, 0)}
COUNT = 96


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Running:
    text = "".join(KERNEL.format(name, fetch) for name, fetch in FETCHES.items())
    return Running(tmp_path_factory.mktemp("texels"), text, is_small=True, checks=("races", "uninitialized"))


@pytest.mark.parametrize(("kernel", "sampler", "place", "expected"), CASES)
def test_writes_of_the_texels_that_a_fetch_reads_are_reported(
    program: Running, kernel: str, sampler: dict[str, Any], place: tuple[float, float, float], expected: set[int]
) -> None:
    y, z = program.put("y", np.zeros(COUNT, np.float32)), program.put("z", np.zeros(1, np.float32))
    channels = 4 if kernel == "vector" else 1
    shape = {"gather": (4, 4, 0), "element": (96, 0, 0), "vector": (24, 0, 0)} | EXTENTS
    handle = program.device.texture(y, TextureDescription("float32", channels, shape[kernel], Texture(**sampler)))
    coordinates = [np.float32(value) for value in place]
    found = set()
    for index in range(-1, COUNT):
        report = program.launch(kernel, 1, 1, np.uint64(handle), y, np.int32(index), *coordinates, z)
        assert report.unwatched == ""
        if report.findings:
            assert f"data race on `y[{index}]`" in report.findings[0].message
            found.add(index)
    assert found == expected


def test_unwritten_texels_are_reported(program: Running) -> None:
    y, z = program.put("y", np.zeros(COUNT, np.float32)), program.put("z", np.zeros(1, np.float32))
    program.device.leave_unwritten(y)
    handle = program.device.texture(y, TextureDescription("float32", 1, (4, 4, 0), Texture(filter="linear")))
    place = (np.float32(2), np.float32(0.5), np.float32(0))
    (finding,) = program.launch("plane", 1, 1, np.uint64(handle), y, np.int32(-1), *place, z).findings
    assert finding.message == (
        "`y[1]` (x 1, y 0) is read and was never written: texture fetch by thread (0,0,0) of block (0,0,0) at k.cu:11"
    )
    assert finding.count == 2

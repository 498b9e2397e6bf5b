"""What becomes of `texture:` and `surface:`, and how `show` tells it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.foundation.records import Buffer, Case, Texture, from_json, to_json
from gpuregress.jobs import plan
from gpuregress.jobs.plan.explain import explain
from tests.jobs.plan.projects import project

JOB = """
source: ../kernels/reduce.cu
buffers:
  x:   {dtype: DTYPE, shape: SHAPE, fill: ones, KEY}
  sum: {dtype: float32, shape: [8], surface: true}
launches:
  - {kernel: block_sum<float>, grid: [1], block: [8], args: [sum, x, {int32: 8}]}
"""


def _x(folder: Path, key: str, dtype: str = "float32", shape: str = "[4, 8]") -> tuple[Case, Buffer]:
    text = JOB.replace("KEY", key).replace("DTYPE", dtype).replace("SHAPE", shape)
    (case,) = plan.make(project(folder, job=text), []).cases
    assert case.buffers["sum"].texture == Texture(surface=True)
    assert from_json(Case, to_json(case)) == case
    return case, case.buffers["x"]


@pytest.mark.parametrize(
    ("key", "dtype", "shape", "texture", "shown"),
    [
        ("texture: {}", "uchar4", "[9]", Texture(), "texture (point, clamp)"),
        (
            "texture: {filter: linear, address: border}",
            "float16",
            "[4, 8]",
            Texture("linear", ("border", "border", "clamp")),
            "texture (linear, border border)",
        ),
        (
            "texture: {address: [wrap, mirror, clamp], normalized: true, read: normalized_float}",
            "short2",
            "[2, 4, 8]",
            Texture("point", ("wrap", "mirror", "clamp"), normalized=True, read="normalized_float"),
            "texture (point, wrap mirror clamp, normalized coordinates, read as normalized_float)",
        ),
        ("texture: {memory: linear}", "float4", "[99]", Texture(memory="linear"), "texture (linear memory)"),
        (
            "texture: {kind: layered, address: [border, clamp]}",
            "uchar4",
            "[3, 4, 8]",
            Texture(address=("border", "clamp", "clamp"), kind="layered"),
            "texture (layered, point, border clamp)",
        ),
        ("texture: {kind: layered}", "float16", "[3, 8]", Texture(kind="layered"), "texture (layered, point, clamp)"),
        ("texture: {kind: cube}", "float2", "[6, 4, 4]", Texture(kind="cube"), "texture (cube, point, clamp)"),
        (
            "texture: {kind: cube-layered, filter: linear}",
            "float32",
            "[2, 6, 4, 4]",
            Texture("linear", kind="cube-layered"),
            "texture (cube-layered, linear, clamp)",
        ),
        ("surface: layered", "float32", "[3, 4, 8]", Texture(surface=True, kind="layered"), "layered surface"),
        ("surface: true", "complex64", "[2, 2]", Texture(surface=True), "surface"),
    ],
)
def test_textures(tmp_path: Path, key: str, dtype: str, shape: str, texture: Texture, shown: str) -> None:
    case, buffer = _x(tmp_path, key, dtype, shape)
    assert buffer.texture == texture
    (line,) = (line for line in explain(case) if line.lstrip().startswith("x: "))
    assert line.endswith(f", {shown}")


def test_plain_memory_is_no_texture(tmp_path: Path) -> None:
    assert _x(tmp_path, "surface: false")[1].texture is None

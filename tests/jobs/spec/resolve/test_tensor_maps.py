"""What becomes of `tensormap:`, and the rule that a wrong one breaks."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.foundation.errors import JobErrors
from gpuregress.foundation.records import Case, Im2col, TensorMap, from_json, to_json
from gpuregress.jobs import plan
from gpuregress.jobs.plan.explain import explain
from tests.jobs.plan.projects import project

JOB = """
source: ../kernels/reduce.cu
buffers:
  x:   {dtype: DTYPE, shape: SHAPE, fill: ones, tensormap: MAP}
  sum: {dtype: float32, shape: [8]}
launches:
  - {kernel: block_sum<float>, grid: [1], block: [8], args: [sum, ARGUMENT, {int32: 8}]}
"""


def _job(given: str, dtype: str, shape: str, argument: str = "x") -> str:
    text = JOB.replace("MAP", given).replace("DTYPE", dtype).replace("SHAPE", shape)
    return text.replace("ARGUMENT", argument)


@pytest.mark.parametrize(
    ("given", "dtype", "shape", "resolved", "shown"),
    [
        (
            "{box: [4, 64], swizzle: 128B, l2_promotion: 128B, oob_fill: nan}",
            "float16",
            "[6, 128]",
            TensorMap("float16", (128, 6), (256,), (64, 4), (1, 1), "none", "128B", "128B", "nan"),
            "tensor map (box 4x64, swizzle 128B, L2 promotion 128B, fill nan)",
        ),
        (
            "{box: [2, 3, 16], shape: [4, 5, 20], strides: [1024, 32], element_strides: [1, 2, 1]}",
            "int8",
            "[4096]",
            TensorMap("uint8", (20, 5, 4), (32, 1024), (16, 3, 2), (1, 2, 1)),
            "tensor map (box 2x3x16, shape 4x5x20)",
        ),
        (
            "{type: tfloat32, im2col: {lower: [-1, -2], upper: [1, 2], channels: 8, pixels: 16}}",
            "float32",
            "[2, 4, 5, 8]",
            TensorMap(
                "tfloat32", (8, 5, 4, 2), (32, 160, 640), (), (1, 1, 1, 1), im2col=Im2col((-2, -1), (2, 1), 8, 16)
            ),
            "tensor map (im2col, 16 pixels of 8)",
        ),
        (
            "{box: [228, 2, 256]}",
            "float16",
            "[256, 2, 256]",
            TensorMap("float16", (256, 2, 256), (512, 1024), (256, 2, 228), (1, 1, 1)),
            "tensor map (box 228x2x256)",
        ),
        (
            "{im2col: {lower: [-1], upper: [-2], channels: 8, pixels: 1}, interleave: 16B}",
            "float16",
            "[2, 3, 4, 8]",
            TensorMap("float16", (4, 3, 2), (64, 192), (), (1, 1, 1), "16B", im2col=Im2col((-1,), (-2,), 8, 1)),
            "tensor map (im2col, 1 pixels of 8",
        ),
        (
            "{box: [1, 1, 8], interleave: 32B, swizzle: 32B}",
            "float16",
            "[2, 4, 5, 16]",
            TensorMap("float16", (5, 4, 2), (160, 640), (8, 1, 1), (1, 1, 1), "32B", "32B"),
            "tensor map (box 1x1x8, shape 2x4x5, swizzle 32B, interleave 32B)",
        ),
    ],
)
def test_tensor_maps(given: str, dtype: str, shape: str, resolved: TensorMap, shown: str, tmp_path: Path) -> None:
    (case,) = plan.make(project(tmp_path, job=_job(given, dtype, shape)), []).cases
    assert case.buffers["x"].tensor_map == resolved
    assert case.launches[0].args[1].as_map
    assert from_json(Case, to_json(case)) == case
    assert shown in "\n".join(explain(case))


def test_an_argument_may_be_the_address(tmp_path: Path) -> None:
    text = _job("{box: [8]}", "float32", "[64]", "{pointer: x}")
    (case,) = plan.make(project(tmp_path, job=text), []).cases
    assert not case.launches[0].args[1].as_map


def test_a_map_may_be_in_memory(tmp_path: Path) -> None:
    text = _job("{box: [8]}", "float32", "[64]", "{pointer: {tensormap: x}}")
    (case,) = plan.make(project(tmp_path, job=text), []).cases
    argument = case.launches[0].args[1]
    assert argument.as_map
    assert argument.maps_in_memory == ("x",)
    assert "map in memory x=<256>" in "\n".join(explain(case))


def test_a_map_in_memory_needs_a_map(tmp_path: Path) -> None:
    text = _job("{box: [8]}", "float32", "[64]", "{pointer: {tensormap: sum}}")
    with pytest.raises(JobErrors, match=r"args\[1\]: sum has no tensor map: give it `tensormap:`"):
        plan.make(project(tmp_path, job=text), [])


@pytest.mark.parametrize(
    ("given", "dtype", "shape", "message"),
    [
        (
            "{box: [64, 128], swizzle: 128B}",
            "float16",
            "[256, 256]",
            (
                ".yaml:4: buffers.x.tensormap.box: 128 float16 along the last axis are 256 bytes: with swizzle 128B at "
                "most 128; axes are slowest first, as in shape: did you mean [128, 64]?"
            ),
        ),
        (
            "{box: [4, 4]}",
            "float16",
            "[8, 8]",
            "4 float16 along the last axis are 8 bytes: they must be a multiple of 16",
        ),
        ("{box: [257, 8]}", "float16", "[512, 8]", "tensormap.box[0]: is 257: a box must be at most 256"),
        ("{box: [8]}", "float16", "[8, 8]", "tensormap.box: has 1 numbers and the tensor 2 axes, slowest first"),
        (
            "{box: [229, 2, 256]}",
            "float16",
            "[256, 2, 256]",
            "tensormap.box: a copy has 234496 bytes: at most 233472 (228 KiB, the shared memory of a GPU)",
        ),
        (
            "{im2col: {lower: [0], upper: [0], channels: 256, pixels: 457}}",
            "float16",
            "[2, 8, 256]",
            "tensormap.im2col: a copy has 233984 bytes: at most 233472",
        ),
        ("{box: [8]}", "float4", "[8]", "buffers.x.dtype: float4: a tensor map holds one of uint8"),
        (
            "{box: [8, 8]}",
            "float16",
            "[8, 12]",
            "tensormap: the stride of axis 0 is 24 bytes ([12] of float16): it must be a multiple of 16",
        ),
        (
            "{box: [8, 8], strides: [24]}",
            "float16",
            "[8, 12]",
            "tensormap.strides[0]: the stride of axis 0 is 24 bytes: it must be a multiple of 16",
        ),
        ("{box: [8, 8], strides: [64]}", "float16", "[8, 16]", "tensormap.strides: the tensor reaches 480 bytes"),
        ("{box: [8, 8], shape: [9, 16]}", "float16", "[8, 16]", "tensormap.shape: the tensor reaches 288 bytes"),
        ("{box: [1, 1, 1, 1, 1, 8]}", "float16", "[1, 1, 1, 1, 1, 8]", "6"),
        ("{box: [8, 8], element_strides: [9, 1]}", "float16", "[8, 8]", "a step must be at most 8"),
        ("{box: [8, 8], oob_fill: nan}", "int32", "[8, 8]", "nan is for floating-point elements, and int32 is not one"),
        ("{box: [8, 8], type: tfloat32}", "int32", "[8, 8]", "tfloat32 is for a buffer of float32, not int32"),
        (
            "{box: [1, 1, 4], interleave: 16B}",
            "float16",
            "[2, 4, 5, 8]",
            "box: 4 float16 along the last axis are 8 bytes: they must be a multiple of 16",
        ),
        (
            "{box: [1, 1, 8], shape: [2, 4, 5], interleave: 16B}",
            "float16",
            "[2, 4, 5, 7]",
            "tensormap.shape: the tensor reaches 640 bytes and the buffer has 560",
        ),
        ("{box: [8, 8], interleave: 16B}", "int32", "[8, 8]", "16B needs a tensor of at least 3 axes; this one has 2"),
        ("{box: [8, 8, 8], interleave: 32B}", "int32", "[8, 8, 8, 8]", "interleave 32B needs swizzle 32B, not none"),
        (
            "{im2col: {lower: [0], upper: [0], channels: 8, pixels: 4}}",
            "float16",
            "[8, 8]",
            "the tensor has 2 axes: expected 3, 4 or 5 ([n, w, c] to [n, d, h, w, c])",
        ),
        (
            "{im2col: {lower: [0, 0], upper: [0], channels: 8, pixels: 4}}",
            "float16",
            "[4, 4, 8]",
            "tensormap.im2col.lower: has 2 numbers; a tensor of 3 axes has 1 between n and c",
        ),
        (
            "{im2col: {lower: [2], upper: [-2], channels: 8, pixels: 4}}",
            "float16",
            "[4, 4, 8]",
            "the bounding box is empty along axis 1: from 2 to 1",
        ),
        (
            "{im2col: {lower: [2], upper: [-2], channels: 8, pixels: 4}, interleave: 16B}",
            "float16",
            "[2, 9, 4, 8]",
            "the bounding box is empty along axis 2: from 2 to 1",
        ),
        (
            "{im2col: {lower: [0, 0], upper: [0], channels: 8, pixels: 4}, interleave: 16B}",
            "float16",
            "[2, 9, 4, 8]",
            "tensormap.im2col.lower: has 2 numbers; a tensor of 3 axes has 1 behind n and c",
        ),
        (
            "{im2col: {lower: [0, -129], upper: [0, 0], channels: 8, pixels: 4}}",
            "float16",
            "[4, 4, 4, 8]",
            "a corner must be at least -128",
        ),
        ("{box: [8]}, texture: {}", "float32", "[8]", "a buffer is a texture, a surface or a tensor map"),
        (
            "{box: [8]}, symbol: s",
            "float32",
            "[8]",
            "the buffer is the variable s: kernels find it without a tensor map",
        ),
    ],
)
def test_wrong_tensor_maps_are_refused_with_the_rule(
    given: str, dtype: str, shape: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(JobErrors) as caught:
        plan.make(project(tmp_path, job=_job(given, dtype, shape)), [])
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("first", "second"), [("tensormap: {box: [8]}", ""), ("tensormap: {box: [8]}", "tensormap: {box: [4]}")]
)
def test_buffers_swap_only_with_equal_maps(first: str, second: str, tmp_path: Path) -> None:
    text = f"""
source: ../kernels/reduce.cu
buffers:
  x: {{dtype: float32, shape: [64], fill: ones, {first}}}
  y: {{dtype: float32, shape: [64], fill: ones, {second}}}
dump: [y]
launches:
  - {{kernel: block_sum<float>, grid: [1], block: [8], args: [y, x, {{int32: 8}}], swap: [[x, y]]}}
"""
    with pytest.raises(JobErrors, match="'x' and 'y' have different tensor maps"):
        plan.make(project(tmp_path, job=text), [])

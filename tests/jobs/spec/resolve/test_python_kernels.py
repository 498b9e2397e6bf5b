from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.foundation.errors import JobErrors
from gpuregress.foundation.records import PythonKernel
from gpuregress.jobs import plan
from tests.jobs.plan.projects import only, project

KERNEL = """\
@triton.heuristics({"EVEN": lambda args: True})
def even(y, EVEN: tl.constexpr): ...
def scale(y, x, n, BLOCK: tl.constexpr, KIND: tl.constexpr = 0): ...
def array(y, a): ...
"""
JOB = """\
source: ../kernels/k.py:scale
language: triton
signature: {x: "*fp16", y: "*fp32", n: "i32:16"}
constants: {BLOCK: 2 * block}
num_warps: block // 32
parameters: {block: [128]}
buffers:
  y: {dtype: float32, shape: [64]}
  x: {dtype: float16, shape: [64], fill: ones}
launches:
  - grid: [1]
    args: [y, x, {int32: 64}]
"""
NUMBA = """\
source: ../kernels/k.py:array
language: numba
signature: {y: "float32[:, ::1]", a: float64}
buffers:
  y: {dtype: float32, shape: [4, 8]}
launches:
  - {grid: [1], block: [4], args: [y, {float64: 2}]}
"""


def errors(root: Path, text: str) -> str:
    made = project(root, job=text)
    (root / "kernels" / "k.py").write_text(KERNEL)
    (root / "kernels" / "k.cu").write_text("")
    with pytest.raises(JobErrors) as caught:
        plan.make(made, [])
    return str(caught.value)


def test_a_kernel_of_a_case(tmp_path: Path) -> None:
    made = project(tmp_path, job=JOB)
    (tmp_path / "kernels" / "k.py").write_text(KERNEL)
    case = only(made, "job/block=128")
    types = {"y": "*fp32", "x": "*fp16", "n": "i32:16"}
    assert case.source.python == PythonKernel("triton", "scale", types, {"BLOCK": 256}, {"num_warps": 4})
    assert list(case.source.python.signature) == ["y", "x", "n"], "in the function's order"
    (launch,) = case.launches
    assert (launch.kernel, launch.block) == ("scale", (128, 1, 1))
    assert case.source_names == ("k.py:scale",)


def test_launches_with_kernels_of_their_own(tmp_path: Path) -> None:
    more = """\
  - source: ../kernels/k.py:scale
    constants: {BLOCK: 64, KIND: true}
    num_warps: 1
    grid: [1]
    args: [y, x, {int32: 32}]
"""
    made = project(tmp_path, job=JOB + more)
    (tmp_path / "kernels" / "k.py").write_text(KERNEL)
    case = only(made, "job/block=128")
    first, second = (source.python for source in case.sources)
    assert first is not None
    assert second is not None
    assert (first.constants, second.constants) == ({"BLOCK": 256}, {"BLOCK": 64, "KIND": True})
    assert [launch.block for launch in case.launches] == [(128, 1, 1), (32, 1, 1)]
    assert [launch.source for launch in case.launches] == [0, 1]


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('x: "*fp16"', 'x: "*half"', "job.yaml:3: signature.x: unknown type '*half'"),
        (
            'x: "*fp16"',
            'x: "*float16"',
            "job.yaml:3: signature.x: unknown type '*float16'; Triton's name of it is 'fp16'",
        ),
        ('x: "*fp16"', 'x: "tensordesc<fp16>"', "job.yaml:3: signature.x: unknown descriptor 'tensordesc<fp16>'"),
        ('x: "*fp16"', 'x: "tensordesc<fp32[8]>"', "x is float16, and signature.x is tensordesc<fp32[8]>"),
        ('x: "*fp16"', 'x: "tensordesc<fp16[8,8]>"', "x has 1 axes, and signature.x is tensordesc<fp16[8,8]>"),
        (
            'x: "*fp16"',
            'x: "tensordesc<fp16[4]>"',
            "buffers.x.tensormap.box: 4 float16 along",
        ),
        ('n: "i32:16"', 'n: "tensordesc<fp16[8]>"', "int32 is a number: name a buffer"),
        ('x: "*fp16"', 'x: "*fp64"', "launches[0].args[1]: x is float16, and signature.x is *fp64"),
        ('x: "*fp16"', "x: fp16", "launches[0].args[1]: x is a buffer: write {float16: …}, and signature.x is fp16"),
        ('x: "*fp16", ', "", "job.yaml:3: signature: parameter 'x' of scale has no type: signature: {x: '*fp32'}"),
        ('x: "*fp16"', 'z: "*fp16"', "job.yaml:3: signature.z: scale has no parameter 'z'"),
        ("BLOCK: 2", "BLOKC: 2", "job.yaml:4: constants.BLOKC: scale has no parameter 'BLOKC'; did you mean 'BLOCK'?"),
        ("constants: {BLOCK: 2 * block}", "constants: {}", "parameter 'BLOCK' of scale has no value"),
        ("BLOCK: 2 * block", "BLOCK: {deep: 1}", "job.yaml:4: constants.BLOCK: expected a number"),
        ('n: "i32:16"', "n: i32, KIND: i32", "signature.KIND: parameter 'KIND' of scale is a tl.constexpr"),
        ("BLOCK: 2 * block", "BLOCK: 2, n: 3", "signature.n: 'n' is in constants, too: leave one out"),
        ("block // 32", "3", "job.yaml:5: num_warps: is 3: num_warps must be a power of two"),
        ("block // 32", "a b", "job.yaml:5: num_warps: invalid expression"),
        ("block // 32", "64", "job.yaml:5: num_warps: is 64: num_warps must be at most 32"),
        ("{int32: 64}", "{int32: 63}", "args[2]: is 63, and signature.n promises a multiple of 16 (:16)"),
        ("{int32: 64}", "{int64: 64}", "args[2]: int64 is given: write {int32: …}, and signature.n is i32:16"),
        (", {int32: 64}", "", "launches[0].args: scale takes 3 arguments (y, x, n), not 2"),
        ("    args", "    block: [64]\n    args", "launches[0].block: is filled in by Triton"),
        ("k.py:scale", "k.py:scael", "has no function 'scael'; did you mean 'scale'?"),
        ("k.py:scale", "k.py", "job.yaml:1: source: names no function: write ../kernels/k.py:FUNCTION"),
        ("language: triton", "card: ''", "language: missing key: triton, numba or warp"),
        ("language: triton", "language: julia", "language: expected one of triton, numba, warp; got 'julia'"),
        ("k.py:scale", "k.cu", "job.yaml:2: language: is for kernels in Python, and the source is k.cu"),
        ("num_warps:", "compile: {defines: {A: 1}}\nnum_warps:", "compile.defines: has no effect: k.py is in Python"),
    ],
)
def test_mistakes_with_triton(tmp_path: Path, before: str, after: str, message: str) -> None:
    assert before in JOB
    assert message in errors(tmp_path, JOB.replace(before, after, 1))


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("float32[:, ::1]", "float32[", "job.yaml:3: signature.y: unknown type 'float32['"),
        ("float32[:, ::1]", "float32[:]", "launches[0].args[0]: y has 2 axes, and signature.y is float32[:]"),
        ("float32[:, ::1]", "int32[:, :]", "launches[0].args[0]: y is float32, and signature.y is int32[:, :]"),
        ("language: numba", "language: numba\nnum_warps: 4", "num_warps: is for language: triton, and this is numba"),
        ("block: [4], ", "", "launches[0].block: missing key"),
    ],
)
def test_mistakes_with_numba(tmp_path: Path, before: str, after: str, message: str) -> None:
    assert before in NUMBA
    assert message in errors(tmp_path, NUMBA.replace(before, after, 1))


@pytest.mark.parametrize(
    ("type_of_y", "message"),
    [
        ("*fp32:16", "offset 4 is not a multiple of 16, and signature.y is *fp32:16"),
        ("tensordesc<fp32[8]>", "offset 4 is given: an array or a descriptor is a whole buffer"),
    ],
)
def test_an_address_inside_of_a_buffer(tmp_path: Path, type_of_y: str, message: str) -> None:
    text = JOB.replace("*fp32", type_of_y).replace("[y, x,", "[{pointer: y, offset: 4}, x,")
    assert f"job.yaml:12: launches[0].args[0]: {message}" in errors(tmp_path / "triton", text)


def test_an_address_inside_of_an_array(tmp_path: Path) -> None:
    text = NUMBA.replace("[y, {", "[{pointer: y, offset: 4}, {")
    assert "args[0]: offset 4 is given: an array or a descriptor is a whole buffer" in errors(tmp_path, text)


def test_an_offset_where_heuristics_see_the_arguments(tmp_path: Path) -> None:
    inside = "launches: [{grid: [1], args: [{pointer: y, offset: 16}]}]"
    own = f'{{source: ../kernels/k.py:even, signature: {{y: "*fp32"}}, {inside}}}'
    text = f"{JOB}reference: {{y: {own}}}\n"
    message = "job.yaml:13: reference.y.launches[0].args[0]: offset 16 is given, and heuristics of even see whole"
    assert message in errors(tmp_path, text)


def test_options_of_the_compiler(tmp_path: Path) -> None:
    text = JOB.replace("num_warps:", "compile: {options: [--maxnreg=128, --enable-fp-fusion=false]}\nnum_warps:")
    made = project(tmp_path, job=text)
    (tmp_path / "kernels" / "k.py").write_text(KERNEL)
    kernel = only(made, "job/block=128").source.python
    assert kernel is not None
    assert kernel.settings == {"num_warps": 4, "maxnreg": 128, "enable_fp_fusion": False}


def test_a_function_that_returns_ptx_gets_the_parameters(tmp_path: Path) -> None:
    text = "source: {python: ../kernels/k.py:array}\n" + JOB[JOB.index("parameters") :].replace(
        "grid: [1]", "kernel: k\n    grid: [1]\n    block: [8]"
    )
    made = project(tmp_path, job=text)
    (tmp_path / "kernels" / "k.py").write_text(KERNEL)
    assert only(made, "job/block=128").source.python == PythonKernel("python", "array", constants={"block": 128})

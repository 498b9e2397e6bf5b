"""Jobs whose kernels are written in Triton or Numba, or come from a function, from the file to the verdict."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gpuregress.toolchain.python_kernels import compiler
from tests.workshop import RUN, Workshop

ROOT = Path(__file__).parents[2]
NUMBA = """\
from numba import cuda


@cuda.jit
def rows(out, x, a):
    i, j = cuda.grid(2)
    if i < x.shape[0] and j < x.shape[1]:
        out[j, i] = a * x[i, j]


@cuda.jit
def beyond(out):
    out[cuda.grid(1) + 1] = 1
"""
ROWS = """\
source: ../kernels/rows.py:rows
language: numba
signature: {out: "float32[:, ::1]", x: "float32[:, :]", a: float32}
buffers:
  x: {dtype: float32, shape: [5, 7], fill: arange}
  out: {dtype: float32, shape: [7, 5]}
launches:
  - {grid: [1, 1], block: [8, 8], args: [out, x, {float32: 2}]}
"""
BEYOND = """\
source: ../kernels/rows.py:beyond
language: numba
signature: {out: "float32[::1]"}
buffers:
  out: {dtype: float32, shape: [64]}
launches:
  - {grid: [1], block: [64], args: [out]}
"""
TRITON = """\
import triton
import triton.language as tl


@triton.jit
def twice(out, x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at) * 2)
"""
TWICE = """\
source: ../kernels/twice.py:twice
language: triton
signature: {out: "*fp32", x: "*fp32", n: i32}
constants: {BLOCK: 64}
num_warps: 1
buffers:
  x: {dtype: float32, shape: [100], fill: arange}
  out: {dtype: float32, shape: [100]}
launches:
  - {grid: [2], args: [out, x, {int32: 100}]}
infeasible: skip
"""


def results(shop: Workshop) -> dict[str, tuple[str, str]]:
    document = json.loads((shop.root / "runs/latest/results.json").read_text())
    return {case["case"]: (case["verdict"], case["reason"]) for case in document["cases"]}


@pytest.mark.slow
@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_the_triton_jobs_agree_with_their_baselines(shop: Workshop, device: str) -> None:
    pytest.importorskip("triton", reason="Triton is not installed: pip install 'gpuregress[triton]'")
    shutil.rmtree(shop.root / "configs")
    for name in ("configs/triton", "kernels/triton"):
        shutil.copytree(ROOT / name, shop.root / name)
    for folder in (ROOT / "baselines").glob("triton-*"):
        shutil.copytree(folder, shop.root / "baselines" / folder.name)
    assert shop.call("run", "--device", device).exit_code == 0
    reached = results(shop)
    assert {verdict for verdict, _ in reached.values()} == {"pass"}
    jobs = ("vector-add", "softmax", "layer-norm", "matmul", "matmul-fp8", "matmul-descriptors", "attention")
    assert {name.partition("/")[0] for name in reached} == {f"triton-{one}" for one in jobs}


def test_a_fault_names_the_line_of_the_triton_kernel(shop: Workshop) -> None:
    pytest.importorskip("triton", reason="Triton is not installed: pip install 'gpuregress[triton]'")
    shop.write("kernels/twice.py", TRITON)
    shop.write("configs/twice.yaml", TWICE)
    assert shop.call(*RUN, "twice").exit_code == 3
    verdict, reason = results(shop)["twice"]
    assert verdict == "fault"
    assert "out-of-bounds read of 4 bytes at x[100] (x has 100)" in reason
    assert "twice.py:8" in reason


HIDE = """\
import importlib.metadata as m
old = m.version
def version(name):
    if name == "triton":
        raise m.PackageNotFoundError(name)
    return old(name)
m.version = version
"""
"""Of the Python that starts with it: Triton is not installed."""


@pytest.mark.slow
def test_a_case_is_skipped_where_triton_is_not_installed(shop: Workshop) -> None:
    shop.write("hidden/sitecustomize.py", HIDE)
    shop.write("kernels/twice.py", TRITON)
    shop.write("configs/twice.yaml", TWICE)
    path = f"{shop.root / 'hidden'}:{ROOT}"
    environment = {**os.environ, "PYTHONPATH": path, "GPUREGRESS_CACHE": str(shop.root / "cache")}
    command = [sys.executable, "-m", "gpuregress", "-C", str(shop.root), *RUN, "twice"]
    assert subprocess.run(command, env=environment, check=False, capture_output=True).returncode == 5  # nothing ran
    verdict, reason = results(shop)["twice"]
    assert verdict == "skip"
    assert "twice.py needs triton, which is not installed: pip install 'gpuregress[triton]'" in reason
    shop.write("configs/twice.yaml", TWICE.replace("infeasible: skip\n", ""))
    assert subprocess.run(command, env=environment, check=False, capture_output=True).returncode == 3


@pytest.mark.slow
def test_a_numba_kernel_gets_the_fields_of_its_arrays(shop: Workshop) -> None:
    pytest.importorskip("numba_cuda", reason="numba-cuda is not installed: pip install 'gpuregress[numba]'")
    shop.write("kernels/rows.py", NUMBA)
    shop.write("configs/rows.yaml", ROWS)
    shop.write("configs/beyond.yaml", BEYOND)
    shop.call(*RUN, "rows", "beyond")
    reached = results(shop)
    assert reached["rows"][0] == "new"
    (dump,) = (shop.root / "runs/latest/dumps/rows").glob("out.*")
    assert dump.read_text().splitlines()[1:6] == ["0.0", "14.0", "28.0", "42.0", "56.0"]
    assert reached["beyond"][0] == "fault"
    assert "out[64] (out has 64)" in reached["beyond"][1]
    assert "rows.py:13" in reached["beyond"][1]


COPY = """\
import triton
import triton.language as tl


@triton.jit
def copy(y, x, ROWS: tl.constexpr):
    row = tl.program_id(0) * ROWS
    y.store([row, 0], x.load([row, 0]))
"""
COPIED = """\
source: ../kernels/copy.py:copy
language: triton
signature: {y: "tensordesc<fp16[{rows},64]>", x: "tensordesc<fp16[{rows},64]>"}
constants: {ROWS: rows}
parameters: {rows: [16]}
buffers:
  x: {dtype: float16, shape: [20, 72], fill: {normal: {}}}
  y: {dtype: float16, shape: [20, 72], fill: zeros, tensormap: {box: [rows, 64], shape: [20, 40], strides: [144]}}
launches: [{grid: [2], args: [y, x]}]
dump: [y]
reference: {y: reference.py:copied}
"""
EXPECTED = "def copied(inputs, case):\n    y = inputs['x'].copy()\n    y[:, 40:] = 0\n    return y\n"


@pytest.mark.slow
@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("options", ["", "compile: {options: [--arch=sm80]}\n"])
def test_descriptors_that_the_host_makes(shop: Workshop, device: str, options: str) -> None:
    pytest.importorskip("triton", reason="Triton is not installed: pip install 'gpuregress[triton]'")
    shop.write("kernels/copy.py", COPY)
    shop.write("configs/copy.yaml", options + COPIED)
    shop.write("configs/reference.py", EXPECTED)
    result = shop.call("run", "--device", device, "copy")
    assert result.exit_code == 0, result.output
    assert results(shop)["copy/rows=16"][0] == "pass"


@pytest.mark.slow
def test_trusted_kernels_of_another_language(shop: Workshop) -> None:
    pytest.importorskip("triton", reason="Triton is not installed: pip install 'gpuregress[triton]'")
    shop.write(
        "kernels/twice.py",
        TRITON.replace("tl.load(x + at)", "tl.load(x + at, mask=at < n)").replace("* 2)", "* 2, mask=at < n)"),
    )
    shop.write(
        "kernels/plain.cu", "__global__ void plain(float *y, const float *x) { y[threadIdx.x] = 2 * x[threadIdx.x]; }"
    )
    cxx = "source: ../kernels/plain.cu, launches: [{kernel: plain, grid: [1], block: [100], args: [out, x]}]"
    shop.write("configs/twice.yaml", f"{TWICE}reference: {{out: {{{cxx}}}}}\n")
    buffers = TWICE[TWICE.index("buffers") : TWICE.index("launches")]
    signature = 'language: triton, signature: {out: "*fp32", x: "*fp32", n: i32}, constants: {BLOCK: 128}'
    triton = (
        f"source: ../kernels/twice.py:twice, {signature}, launches: [{{grid: [1], args: [out, x, {{int32: 100}}]}}]"
    )
    job = f"{cxx.replace(', launches', chr(10) + 'launches')}\n{buffers}reference: {{out: {{{triton}}}}}\n"
    shop.write("configs/plain.yaml", job)
    result = shop.call(*RUN, "plain", "twice")
    assert (result.exit_code, {verdict for verdict, _ in results(shop).values()}) == (0, {"pass"})
    shop.write(
        "kernels/plain.cu", "__global__ void plain(float *y, const float *x) { y[threadIdx.x] = 3 * x[threadIdx.x]; }"
    )
    assert shop.call(*RUN, "plain", "twice").exit_code == 1
    assert {verdict for verdict, _ in results(shop).values()} == {"differ"}, "the reference is what is compared with"


@pytest.mark.gpu
def test_a_numba_kernel_on_a_card(shop: Workshop) -> None:
    if not compiler.version("numba"):
        pytest.skip("numba-cuda is not installed (numba.cuda of Numba alone does not do): gpuregress[numba]")
    imported = subprocess.run([sys.executable, "-c", "import numba.cuda"], capture_output=True, text=True, check=False)
    if imported.returncode:
        pytest.skip(f"the installed Numba cannot be imported: {imported.stderr.splitlines()[-1]}")
    shop.write("kernels/rows.py", NUMBA)
    shop.write("configs/rows.yaml", ROWS)
    shop.call(*RUN, "rows")
    for command in (("accept", "--all"), ("run", "--device", "cuda", "rows")):
        result = shop.call(*command)
        assert result.exit_code == 0, result.output


def test_the_program_of_a_function_is_that_of_its_text(shop: Workshop) -> None:
    kernel = (
        "def ptx(arch, n):\n    return f'''.version 8.0\n.target {arch}\n.address_size 64\n"
        ".visible .entry k(.param .u64 p) "
        "{{ .reg .b32 %r<3>; .reg .b64 %rd<3>; mov.u32 %r2, %tid.x; mov.u32 %r1, {n}; ld.param.u64 %rd1, [p]; "
        "mad.wide.u32 %rd2, %r2, 4, %rd1; st.global.u32 [%rd2], %r1; ret; }}'''\n"
    )
    job = (
        "source: {python: ../kernels/build.py:ptx}\nparameters: {n: [3, 4]}\n"
        "buffers: {y: {dtype: uint32, shape: [32]}}\nchecks: {y: [{sum: 32 * n}]}\n"
        "launches: [{kernel: k, grid: [1], block: [32], args: [y]}]\n"
    )
    shop.write("kernels/build.py", kernel)
    shop.write("configs/build.yaml", job)
    shop.call(*RUN, "build")
    assert [verdict for verdict, _ in results(shop).values()] == ["new", "new"]
    shop.write("kernels/build.py", kernel.replace("{n}", "{n + 1}"))
    assert shop.call(*RUN, "build").exit_code == 1
    assert {"differ"} >= {verdict for verdict, _ in results(shop).values()} - {"new"}

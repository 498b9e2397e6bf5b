from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from gpuregress.lab.drafts import new_python

TRITON = """
import triton
import triton.language as tl

@triton.jit
def helper(x):
    return x + 1

@triton.autotune(configs=[], key=[])
@triton.jit
def kernel(out, x_ptr, total, n, eps, BLOCK: tl.constexpr, FAST: tl.constexpr = True):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    address = x_ptr + at
    tl.store(out + at, helper(tl.load(address, mask=at < n)) + eps)
    tl.atomic_add(total, 1.0)

def plain(x): ...
"""
NUMBA = """
from numba import cuda

@cuda.jit
def rows(y, x, alpha):
    i, j = cuda.grid(2)
    y[i] += alpha * x[i, j]
"""


CUBE = """
from numba import cuda

@cuda.jit
def cube(y, x):
    i, j, k = cuda.grid(3)
    y[i, j, k] = x[i, j, k]
"""


def draft(folder: Path, text: str, **siblings: str) -> new_python.PythonDraft:
    path = folder / "k.py"
    path.write_text(text)
    for name, sibling in siblings.items():
        (folder / f"{name}.py").write_text(sibling)
    return new_python.PythonDraft(new_python.kernels(text)[0], path, "k.py")


def drafted(folder: Path, text: str, **siblings: str) -> dict[str, object]:
    job = yaml.safe_load("\n".join(draft(folder, text, **siblings).lines(["other"])))
    assert isinstance(job, dict)
    return job


def test_a_triton_kernel(tmp_path: Path) -> None:
    assert [one.name for one in new_python.kernels(TRITON)] == ["kernel", "helper"], "what others call comes last"
    job = drafted(tmp_path, TRITON)
    assert (job["source"], job["language"]) == ("k.py:kernel", "triton")
    assert job["signature"] == {"out": "*fp32", "x_ptr": "*fp32", "total": "*fp32", "n": "i32", "eps": "fp32"}
    assert job["constants"] == {"BLOCK": 128, "FAST": True}
    buffers = job["buffers"]
    assert isinstance(buffers, dict)
    assert {name: "fill" in given for name, given in buffers.items()} == {"out": False, "x_ptr": True, "total": True}
    assert job["dump"] == ["out", "total"]
    assert job["launches"] == [
        {"grid": ["ceil(n / 128)"], "args": ["out", "x_ptr", "total", {"int32": "n"}, {"float32": 1.0}]}
    ]


def test_a_numba_kernel(tmp_path: Path) -> None:
    job = drafted(tmp_path, NUMBA)
    assert job["signature"] == {"y": "float32[::1]", "x": "float32[:, ::1]", "alpha": "float32"}
    grid = ["ceil(n / 16)", "ceil(n / 16)"]
    assert job["launches"] == [{"grid": grid, "block": [16, 16], "args": ["y", "x", {"float32": 1.0}]}]
    assert job["dump"] == ["y"]


def test_three_axes_of_a_numba_kernel(tmp_path: Path) -> None:
    job = drafted(tmp_path, CUBE)
    assert job["parameters"] == {"n": [10, 40]}
    grid = ["ceil(n / 4)", "ceil(n / 8)", "ceil(n / 8)"]
    assert job["launches"] == [{"grid": grid, "block": [4, 8, 8], "args": ["y", "x"]}]


ROWS = """
import torch
import triton
import triton.language as tl
from .settings import settings_of

@triton.autotune(configs=[triton.Config({"GROUP": g}, num_warps=w) for g in SIZES for w in [2, 4]], key=[])
@triton.heuristics({"WIDE": lambda args: args["columns"] > 64})
@triton.jit
def rows(y, x, w, b, stride, columns, eps, scale, BLOCK: tl.constexpr, GROUP: tl.constexpr, WIDE: tl.constexpr,
         KIND: tl.constexpr, BIASED: tl.constexpr):
    at = tl.arange(0, BLOCK)
    values = tl.load(x + tl.program_id(0) * stride + at) * tl.load(w + at) + tl.load(b + at)
    tl.store(y + tl.program_id(0) * stride + at, values)

SIZES = [8, 16]
"""
HOST = """
import torch
import triton
from .k import rows

def forward(x: torch.Tensor, w, b=None, eps: float = 1e-6, kind: str = "plain"):
    shape = x.shape
    x = x.reshape(-1, shape[-1])
    n_rows, n_cols = x.shape
    if x.shape[1] != w.shape[0]:
        raise ValueError("another width")
    block = settings_of(n_cols)
    y = torch.empty((n_rows, n_cols), dtype=torch.float16, device=x.device)
    if x.device.type == "xpu":
        block = 7
    grid = lambda meta: (triton.cdiv(n_rows, meta["GROUP"]), 1 if b is None else 2)
    with torch.cuda.device(x.device):
        rows[grid](y, x, w, b, x.stride(0), n_cols, eps, 0.5 if kind == "half" else 1, BLOCK=block, KIND=kind,
                   BIASED=b is not None, num_warps=8)
    return y.view(*shape)

def settings_of(n):
    block = triton.next_power_of_2(n)
    if block > 65536:
        raise RuntimeError("too wide")
    return block
"""


def test_the_host_code_of_a_triton_kernel(tmp_path: Path) -> None:
    written = draft(tmp_path, ROWS, layers=HOST)
    assert written.is_launched
    assert written.needed == ()
    assert written.guessed_sizes == ()
    job = drafted(tmp_path, ROWS, layers=HOST)
    types = {"y": "*fp16", "x": "*fp32", "w": "*fp32", "stride": "i32", "columns": "i32", "eps": "fp32", "scale": "i32"}
    assert job["signature"] == types
    constants = {"b": None, "BLOCK": "2 ** ceil(log2(n_cols))", "GROUP": 8, "KIND": {"text": "plain"}, "BIASED": False}
    assert job["constants"] == constants, "WIDE is that of the heuristic"
    assert (job["num_warps"], job["autotune"]) == (8, False)
    assert job["parameters"] == {"n_rows": [32], "n_cols": [128]}
    assert job["buffers"] == {
        "y": {"dtype": "float16", "shape": ["n_rows", "n_cols"]},
        "x": {"dtype": "float32", "shape": ["n_rows", "n_cols"], "fill": {"normal": {"std": 1.0}}},
        "w": {"dtype": "float32", "shape": ["n_cols"], "fill": {"normal": {"std": 1.0}}},
    }
    numbers = [{"int32": "n_cols"}, {"int32": "n_cols"}, {"float32": 1e-6}, {"int32": 1}]
    assert job["launches"] == [{"grid": ["ceil(n_rows / 8)", 1], "args": ["y", "x", "w", *numbers]}]


def test_what_the_host_code_of_a_triton_kernel_does_not_tell(tmp_path: Path) -> None:
    host = """
def forward(x, w, tune):
    y = torch.zeros_like(x)
    n, m = tune.sizes()
    k[(n,)](x, w, y, m, tune(3), SIZE=tune.size)

k = triton.jit(k)
"""
    kernel = """
def k(x, w, y, m, factor, SIZE: tl.constexpr):
    tl.store(y, tl.load(x) + tl.load(w))
"""
    written = draft(tmp_path, kernel + host)
    assert written.is_launched
    assert written.guessed_sizes == ("w",)
    place = "k.py:8 does not give it"
    assert sorted(written.needed) == sorted(
        [f"the value of {name}: {place}" for name in ("m", "factor", "SIZE")] + [f"the grid: {place}"]
    )
    text = "\n".join(written.lines(()))
    assert "  w: {dtype: float32, shape: [x_1], fill: {normal: {std: 1.0}}}  # NEEDED: its size, " in text
    assert "  y: {dtype: float32, shape: [x_0, x_1], fill: zeros}" in text


def test_files_without_a_kernel() -> None:
    assert new_python.kernels("def plain(x): ...") == ()
    with pytest.raises(SyntaxError):
        new_python.kernels("def (")


def test_host_code_that_cannot_be_read(tmp_path: Path) -> None:
    text = "SIZE = SIZE\n@triton.jit\ndef k(x):\n    tl.store(x, 1)\ndef forward(x):\n    k[(SIZE,)](x)\n"
    written = draft(tmp_path, text)
    assert not written.is_launched
    assert written.needed[0].startswith("all that the host code gives: it could not be read (RecursionError")
    assert "source: k.py:k" in list(written.lines(()))

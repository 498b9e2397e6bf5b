from __future__ import annotations

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


def drafted(text: str) -> dict[str, object]:
    first, *others = new_python.kernels(text)
    job = yaml.safe_load("\n".join(new_python.lines(first, "k.py", [one.name for one in others])))
    assert isinstance(job, dict)
    return job


def test_a_triton_kernel() -> None:
    assert [one.name for one in new_python.kernels(TRITON)] == ["kernel", "helper"], "what others call comes last"
    job = drafted(TRITON)
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


def test_a_numba_kernel() -> None:
    job = drafted(NUMBA)
    assert job["signature"] == {"y": "float32[::1]", "x": "float32[:, ::1]", "alpha": "float32"}
    assert job["launches"] == [{"grid": ["ceil(n / 128)"], "block": [128], "args": ["y", "x", {"float32": 1.0}]}]
    assert job["dump"] == ["y"]


def test_files_without_a_kernel() -> None:
    assert new_python.kernels("def plain(x): ...") == ()
    with pytest.raises(SyntaxError):
        new_python.kernels("def (")

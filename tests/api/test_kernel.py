"""Kernels called from Python on the CPU device; tests/devices/gpu has the same on a card."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpuregress
from gpuregress.api import kernel
from tests import float_environments

SOURCE = """\
__constant__ float scale[2];
__device__ int counter = 5;
struct Pair { float *y; int n; float a; };
extern "C" __global__ void axpy(float *y, const float *x, float a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}
extern "C" __global__ void beyond(int *y, int at) { y[at + threadIdx.x] = 1; }
extern "C" __global__ void scaled(float *y) { y[threadIdx.x] *= scale[threadIdx.x % 2]; atomicAdd(&counter, 1); }
extern "C" __global__ void reversed(int *y)
{
    extern __shared__ int part[];
    part[threadIdx.x] = y[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = part[blockDim.x - 1 - threadIdx.x];
}
extern "C" __global__ void ranks(unsigned *y)
{
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(y[blockIdx.x]));
}
extern "C" __global__ void filled(Pair pair) { if (threadIdx.x < pair.n) pair.y[threadIdx.x] = pair.a; }
extern "C" __global__ void endless(volatile int *y, int n) { for (int i = 0; i < n; ++i) y[0] = y[0] * 3 + 1; }
extern "C" __global__ void checked(int n) { assert(n < 3); printf("n is %d\\n", n); }
"""
SOURCE = "#include <cassert>\n#include <cstdio>\n" + SOURCE


@pytest.fixture(scope="module", autouse=True)
def _processes() -> Iterator[None]:
    yield
    kernel.close()


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("kernels") / "several.cu"
    path.write_text(SOURCE)
    return path


def test_a_launch_updates_arrays_in_place(source: Path) -> None:
    axpy = gpuregress.Kernel(source, "axpy")
    assert repr(axpy) == "<gpuregress.Kernel axpy(float* y, const float* x, float a, int n) on cpu>"
    x, y = np.arange(100, dtype=np.float32), np.ones(100, np.float32)
    done = axpy(4, 32, y, x, 2.0, np.int64(100))
    assert np.array_equal(y, 1 + 2 * np.arange(100, dtype=np.float32))
    assert done.instructions
    axpy((4,), (32, 1, 1), y, x, 2, 100)
    assert y[1] == 5
    y[:], x[:] = 0, 1
    with float_environments.left_behind():
        axpy(4, 32, y, x, 1e-40, 100)
    assert y[99] == np.float32(1e-40)


def test_a_fault_tells_its_place_and_the_next_launch_is_well(source: Path) -> None:
    beyond = gpuregress.Kernel(source, "beyond")
    y = np.zeros(10, np.int32)
    with pytest.raises(gpuregress.KernelFault, match=r"out-of-bounds write of 4 bytes at y\[10\]") as caught:
        beyond(1, 4, y, 8)
    fault = caught.value
    assert (fault.kind, fault.buffer, fault.index, fault.thread, fault.block) == (
        "out-of-bounds", "y", 10, (2, 0, 0), (0, 0, 0)
    )  # fmt: skip
    assert (fault.location.file, fault.line) == ("several.cu", 11)
    assert (fault.location.elements, fault.location.size) == (10, 4)
    assert not y.any()
    beyond(1, 4, y, 3)
    assert y.tolist() == [0, 0, 0, 1, 1, 1, 1, 0, 0, 0]


def test_constants_and_variables_are_given_by_name(source: Path) -> None:
    scaled = gpuregress.Kernel(source, "scaled")
    y, counter = np.ones(4, np.float32), np.array([10], np.int32)
    table = np.array([2, 3], np.float32)
    scaled(1, 4, y, constants={"scale": table}, variables={"counter": counter})
    assert (y.tolist(), counter.tolist(), table.tolist()) == ([2, 3, 2, 3], [14], [2, 3])
    for wrong in (table[:1], np.ones(3, np.float32)):
        with pytest.raises(gpuregress.GpuregressError, match=r"the variable scale has 8 bytes; \d+ were given"):
            scaled(1, 4, y, constants={"scale": wrong})
    with pytest.raises(TypeError, match=r"the variable counter is int, and an array of int64 was given; pass it as"):
        scaled(1, 4, y, constants={"counter": np.int64(1)})
    with pytest.raises(TypeError, match="the variable scale is float, and an array of int32 was given"):
        scaled(1, 4, y, constants={"scale": np.ones(2, np.int32)})
    with pytest.raises(ValueError, match="scale is in constants and in variables"):
        scaled(1, 4, y, constants={"scale": table}, variables={"scale": table})
    with pytest.raises(TypeError, match=r"counter: pass an array, or a number as numpy.float32"):
        scaled(1, 4, y, constants={"counter": 1})
    with pytest.raises(gpuregress.CompileError, match="has no variable 'count'"):
        scaled(1, 4, y, variables={"count": counter})


def test_shared_memory_clusters_and_structs(source: Path) -> None:
    y = np.arange(8, dtype=np.int32)
    gpuregress.Kernel(source, "reversed")(1, 8, y, shared=32)
    assert y.tolist() == [*range(7, -1, -1)]
    ranks = gpuregress.Kernel(source, "ranks")
    blocks = np.zeros(8, np.uint32)
    ranks(8, 1, blocks, cluster=4)
    assert blocks.tolist() == [0, 1, 2, 3, 0, 1, 2, 3]
    ranks(8, 1, blocks)
    assert not blocks.any()
    z = np.zeros(6, np.float32)
    gpuregress.Kernel(source, "filled")(1, 8, (z, np.int32(4), np.float32(1.5)))
    assert z.tolist() == [1.5] * 4 + [0, 0]


def test_what_a_kernel_prints_and_asserts(source: Path) -> None:
    checked = gpuregress.Kernel(source, "checked")
    assert checked(1, 1, 2).output == "n is 2\n"
    with pytest.raises(gpuregress.KernelFault, match="assertion `n < 3` failed") as caught:
        checked(1, 1, 3)
    assert (caught.value.kind, caught.value.line, caught.value.block) == ("assert", 26, (0, 0, 0))


def test_a_kernel_that_hangs_is_killed_and_the_next_launch_is_well(source: Path) -> None:
    endless = gpuregress.Kernel(source, "endless", timeout=0.3)
    y = np.zeros(1, np.int32)
    with pytest.raises(gpuregress.KernelTimeout, match=r"endless was killed at its limit of 0\.3 s"):
        endless(1, 1, y, 2_000_000_000)
    endless(1, 1, y, 2)
    assert y.tolist() == [4]


def test_a_launch_over_the_limits_is_refused(source: Path) -> None:
    axpy = gpuregress.Kernel(source, "axpy")
    x = np.zeros(4, np.float32)
    with pytest.raises(gpuregress.DeviceError, match="1025"):
        axpy(1, 1025, x, x.copy(), 1.0, 4)
    with pytest.raises(ValueError, match="grid is 0: expected one to three numbers of at least 1"):
        axpy(0, 32, x, x.copy(), 1.0, 4)


@pytest.mark.parametrize(
    ("keywords", "error", "words"),
    [({"shared": 1.5}, TypeError, "shared is 1.5"), ({"shared": -1}, ValueError, "shared is -1"),
     ({"heap": -1}, ValueError, "heap is -1"), ({"timeout": 0}, ValueError, "timeout: invalid time limit 0"),
     ({"cluster": "2"}, TypeError, "cluster is '2'"), ({"constants": [1]}, TypeError, r"constants is \[1\]")],
)  # fmt: skip
def test_a_keyword_that_means_nothing_is_named(source: Path, keywords: Any, error: Any, words: str) -> None:
    axpy, x = gpuregress.Kernel(source, "axpy"), np.zeros(4, np.float32)
    with pytest.raises(error, match=words):
        axpy(1, 4, x, x.copy(), 1.0, 4, **keywords)


def test_ptx_text_without_names_is_launched() -> None:
    ptx = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry put(.param .u64 y, .param .u32 value)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [y];
    ld.param.u32 %r1, [value];
    st.global.u32 [%rd1], %r1;
    ret;
}
"""
    y = np.zeros(2, np.uint32)
    gpuregress.Kernel(ptx, "put")(1, 1, y, 7)
    assert y.tolist() == [7, 0]


def test_a_kernel_is_called_from_threads_and_after_a_fork(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    axpy = gpuregress.Kernel(source, "axpy")
    results = [np.zeros(64, np.float32) for _ in range(4)]
    ones = np.ones(64, np.float32)
    threads = [threading.Thread(target=axpy, args=(2, 32, y, ones, float(n), 64)) for n, y in enumerate(results)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [y[0] for y in results] == [0, 1, 2, 3]
    if (child := os.fork()) == 0:
        monkeypatch.undo()  # the server that forks workers is the parent's
        y = np.zeros(64, np.float32)
        axpy(2, 32, y, ones, 9.0, 64)
        kernel.close()
        os._exit(int(y[5]))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    axpy(2, 32, results[0], ones, 3.0, 64)
    assert results[0][0] == 3


@pytest.mark.parametrize(
    ("options", "words"),
    [({"contract": "fused"}, "say pinned or native"), ({"arch": "sm_12"}, "unknown architecture"),
     ({"device": "tpu"}, "no device is called")],
)  # fmt: skip
def test_an_option_that_means_nothing_is_refused(source: Path, options: dict[str, str], words: str) -> None:
    with pytest.raises(gpuregress.UsageError, match=words):
        gpuregress.Kernel(source, "axpy", **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [((3, "k"), {}, "source is 3"), (("k(){}", 3), {}, "name is 3"), (("k(){}", "k", 3), {}, "device is 3"),
     (("k(){}", "k"), {"options": 3}, "options is 3"), (("k(){}", "k"), {"include": [3]}, "include is"),
     (("k(){}", "k"), {"defines": ["N"]}, "defines is"), (("k(){}", "k"), {"timeout": None}, "timeout is None"),
     (("k(){}", "k"), {"arch": 90}, "arch is 90")],
)  # fmt: skip
def test_an_argument_of_another_type_is_named(arguments: Any, options: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        gpuregress.Kernel(*arguments, **options)


def test_a_source_that_does_not_compile_tells_the_line() -> None:
    with pytest.raises(gpuregress.CompileError, match=r"kernel.cu:2"):
        gpuregress.Kernel('extern "C" __global__ void k(int *x) {\n  *x = oops; }', "k")
    with pytest.raises(gpuregress.CompileError, match="has no kernel 'other'; it has k"):
        gpuregress.Kernel('extern "C" __global__ void k(int *x) { *x = 1; }', "other")


def test_a_mistake_in_ptx_names_the_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "odd.ptx"
    path.write_text(".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n  mov.u32 %r1 3;\n}\n")
    with pytest.raises(gpuregress.CompileError, match=r"odd\.ptx:6: expected ';', found '3'"):
        gpuregress.Kernel(path, "k")(1, 1)

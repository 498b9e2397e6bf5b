"""Rows of threads that are proven to need no checks give the same bytes and the same faults as checked ones."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gpuregress.foundation.errors import KernelFault
from gpuregress.foundation.records import Dim3
from gpuregress.virtual_gpu import device, module
from gpuregress.virtual_gpu.compilation import translate
from gpuregress.virtual_gpu.compilation.object_cache import compiled
from gpuregress.virtual_gpu.ptx.parser import parse
from gpuregress.virtual_gpu.runtime import llvm_backend
from gpuregress.virtual_gpu.runtime.program import Schedule
from gpuregress.virtual_gpu.schedule import lockstep, vectorised_rows
from tests.virtual_gpu.running import Running, ptx_of

SOURCE = """
extern "C" __global__ void k(int* y, const int* x, int n, int a, int b) {{
  __shared__ int box[128];
  const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t, row = threadIdx.y + blockDim.y * blockIdx.y;
  const unsigned u = i;
  box[t] = t * a;
  {body}
}}
"""
SIZE = 400
LARGE = 1 << 30


@pytest.fixture(scope="module")
def llvm_passes() -> None:
    """With them: they act on what we tell LLVM about proven rows."""


def _outcome(
    body: str, grid: Dim3, block: Dim3, numbers: tuple[int, int, int], shift: int, *, proven: bool
) -> tuple[str, bytes]:
    """What the kernel leaves, or what the fault says, and what was written before it.

    The checked rows, which are compared with, are not optimised: that takes a third of the time.
    """
    text = SOURCE.format(body=body)
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        schedule = Schedule(proven_rows=proven)
        patch.setattr(
            module, "compiled", lambda text, kernels, _, **_options: translate.compile_module(text, kernels, schedule)
        )
        if not proven:
            patch.setattr(llvm_backend, "OPTIMISATION", 0)
        running = Running(Path(folder), text, is_small=False)
        data = running.put("data", np.random.default_rng(3).integers(-99, 99, 2 * SIZE).astype(np.int32))
        second = (data.address + 4 * shift).to_bytes(8, "little")  # x begins inside y's buffer: they overlap
        message = ""
        try:
            running.launch("k", grid, block, data, second, *(np.int32(number) for number in numbers))
        except KernelFault as fault:
            message = str(fault)
        return message, data.read().tobytes()


def _rows(body: str) -> list[bool]:
    """For each region of the kernel, whether it has proven rows."""
    actual: list[bool] = []
    plan = vectorised_rows.plan

    def watch(*arguments: object) -> object:
        planned = plan(*arguments)  # type: ignore[arg-type]  # handed through
        actual.append(planned is not None)
        return planned

    text = ptx_of(SOURCE.format(body=body))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lockstep, "plan", watch)
        translate.translate(parse(text), ["k"])
    return actual


_CONSTANTS = st.sampled_from([-3, -1, 0, 1, 2, 5, 64, 399, 0x7FFFFFF0, -0x7FFFFFF0])
_INDEXES = st.one_of(
    st.sampled_from(
        ["i", "t", "u", "n - 1 - i", "row * n + i", "i * 2", "i + a", "u + a", "u - b", "i * a", "(i - a) * 3"]
    ),
    st.builds("i + {0}".format, _CONSTANTS),
    st.builds("(long long)i + {0}LL".format, _CONSTANTS),
    st.builds("u + {0}u".format, st.sampled_from([1, 0xFFFFFFF0, 0xFFFFFFFF, 0x80000000])),
    st.builds("(i << {0}) + row".format, st.sampled_from([1, 3, 28, 31])),
    st.builds("(short)i + {0}".format, _CONSTANTS),
    st.builds("(i & {0})".format, st.sampled_from([63, -4, 1])),
)
_GUARDS = st.one_of(
    st.sampled_from(
        ["i < n", "i >= a", "u < n", "i <= n && row < a", "i < n || t > b", "t != b", "i * 3 < n", "u - b > a"]
    ),
    st.builds("i + {0} < n".format, _CONSTANTS),
    st.builds("(long long)i * {0} < n".format, _CONSTANTS),
    st.builds("(unsigned long long)(u + {0}u) < n".format, st.sampled_from([1, 0xFFFFFFF0])),
    st.builds("x[{0}] > 3".format, _INDEXES),
)
_WRITES = st.one_of(
    st.builds("y[{0}] = x[{1}] + i;".format, _INDEXES, _INDEXES),
    st.builds("y[{0}] += 3 * x[{1}] + box[t];".format, _INDEXES, _INDEXES),
    st.builds("y[{0}] = box[127 - t] ^ y[{1}];".format, _INDEXES, _INDEXES),
    st.builds("((short*)y)[{0}] = i; ((longlong2*)y)[t].x += x[{1}];".format, _INDEXES, _INDEXES),
    st.builds("__syncthreads(); box[t] += box[{0} & 127]; __syncthreads();".format, _INDEXES),
)  # fmt: skip
_BODIES = st.one_of(
    st.builds("if ({0}) {{ {1} }}".format, _GUARDS, _WRITES.filter(lambda text: "sync" not in text)),
    st.builds("if (!({0})) return; {1}".format, _GUARDS, _WRITES.filter(lambda text: "sync" not in text)),
    st.builds("{0} {1}".format, _WRITES, _WRITES),
)
_NUMBERS = st.tuples(
    st.sampled_from([0, 1, 70, 100, 128, 400, 2**31 - 1]),
    st.sampled_from([-7, 0, 1, 3, 50, LARGE]),
    st.sampled_from([0, 5]),
)


@settings(max_examples=5)
@given(
    body=_BODIES,
    grid=st.sampled_from([(1, 1, 1), (3, 1, 1), (2, 2, 1)]),
    block=st.sampled_from([(128, 1, 1), (32, 1, 1), (40, 2, 1), (17, 3, 1), (16, 1, 2), (3, 4, 1)]),
    numbers=_NUMBERS,
    shift=st.sampled_from([0, 1, 3, 16, SIZE]),
)
@example("y[i] = x[i + 0x7fffffc0] + i;", (1, 1, 1), (128, 1, 1), (1, 1, 1), 0)
@example("y[u + 0xffffffc0u] = 1;", (1, 1, 1), (128, 1, 1), (1, 1, 1), 0)
@example("if (i + 0x7fffffc0 < n) y[i] = 1;", (1, 1, 1), (128, 1, 1), (5, 1, 1), 0)
@example("y[i + 1] = y[i];", (2, 1, 1), (128, 1, 1), (5, 1, 1), 0)
@example("y[i] = x[i + 200] + x[i + 60] + x[i - 1];", (2, 1, 1), (128, 1, 1), (5, 1, 1), 0)
@example("y[i + 300] = 1; y[i + 150] = 2; y[i] = x[n - i + 3] + x[n - i];", (1, 1, 1), (128, 1, 1), (400, 1, 1), 0)
@example("if (t != 5) y[i] = t;", (2, 1, 1), (128, 1, 1), (5, 1, 1), 0)
@example("__syncthreads(); y[i] += box[threadIdx.y];", (1, 1, 1), (32, 4, 1), (5, 7, 1), SIZE)
@example("__syncthreads(); y[i] += box[threadIdx.z];", (1, 1, 1), (32, 1, 4), (5, 7, 1), SIZE)
@example(
    "__syncthreads(); box[t] = 3 * box[t] + 1; __syncthreads(); y[i] = box[t];", (2, 1, 1), (32, 1, 1), (5, 7, 1), 0
)
def test_proof_changes_nothing(body: str, grid: Dim3, block: Dim3, numbers: tuple[int, int, int], shift: int) -> None:
    checked = _outcome(body, grid, block, numbers, shift, proven=False)
    assert _outcome(body, grid, block, numbers, shift, proven=True) == checked


@pytest.mark.parametrize(
    "body",
    [
        "if (i < n) y[i] = a * x[i] + y[i];",
        "if (row < a && i < n) y[row * n + i] = x[n - 1 - i];",
        "y[u] = x[(long long)i * 2 + b];",
        "if (x[i] > 3) y[i] = 1;",
    ],
)
def test_what_can_be_proven(body: str) -> None:
    assert _rows(body) == [True]


@pytest.mark.parametrize(
    "body",
    [
        "y[x[i]] = 1;",
        "for (int j = 0; j < n; ++j) y[i] += j;",
        "atomicAdd(y + i, 1);",
        "y[i & 7] = 1;",
        "y[i * n] = 1;",
    ],
)
def test_what_cannot(body: str) -> None:
    assert _rows(body) == [False]


def test_the_last_row_runs_into_the_end_as_ever() -> None:
    message, data = _outcome("y[i] = i;", (7, 1, 1), (128, 1, 1), (1, 1, 1), 0, proven=True)
    assert "out-of-bounds write of 4 bytes at data[800] (data has 800), thread (32,0,0) of block (6,0,0)" in message
    assert np.array_equal(np.frombuffer(data, np.int32), np.arange(2 * SIZE))


def test_few_threads_get_no_code_for_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    running = Running(tmp_path, SOURCE.format(body="y[i] = x[i];"), is_small=False)
    schedules: list[Schedule] = []

    def watched(text: str, kernels: tuple[str, ...], schedule: Schedule, **_options: object) -> object:
        schedules.append(schedule)
        return translate.compile_module(text, kernels, schedule)

    monkeypatch.setattr(module, "compiled", watched)
    for threads in (None, device.FEW_THREADS + 1, device.FEW_THREADS):
        running.device.load(running.program, threads)
    assert [schedule.proven_rows for schedule in schedules] == [True, True, False]


def test_a_schedule_decides_the_code() -> None:
    text = ptx_of(SOURCE.format(body="y[i] = x[i];"))
    codes = [compiled(text, ("k",), Schedule(proven_rows=proven)).code for proven in (True, False, True)]
    assert codes[0] == codes[2] != codes[1]

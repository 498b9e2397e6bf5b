"""Loops that a row of threads runs together give the same bytes, counts and faults as those of single threads."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

from gpuregress.foundation.errors import KernelFault
from gpuregress.foundation.records import Dim3
from gpuregress.virtual_gpu import module
from gpuregress.virtual_gpu.compilation import translate
from gpuregress.virtual_gpu.runtime import llvm_backend
from gpuregress.virtual_gpu.runtime.program import Schedule
from tests.virtual_gpu.running import Running

SOURCE = """
extern "C" __global__ void k(int* y, const int* x, float* f, int n, int a, int b) {{
  __shared__ int box[128];
  const int t = threadIdx.x, g = blockIdx.x * blockDim.x + t, stride = gridDim.x * blockDim.x;
  const int row = threadIdx.y + blockDim.y * blockIdx.y;
  int s = 0; float q = 0;
  if (t < 128) box[t] = t * a;
  __syncthreads();
  {body}
  __syncthreads();
  if (g < n && t < 128) f[g] = s + q + box[t];
}}
"""
SIZE = 3000
LARGEST = 2**31 - 1
_LEAVES = re.compile(r"[xy]\[(i|i [+-] \w+|n - 1 - i|2 \* i)\]")
"""An index that a loop over all numbers takes out of the buffer."""


@pytest.fixture(scope="module")
def llvm_passes() -> None:
    """With them: they act on what we tell LLVM about proven rows."""


def _outcome(
    body: str,
    grid: Dim3,
    block: Dim3,
    numbers: tuple[int, int, int],
    shift: int,
    *,
    proven: bool,
    is_optimised: bool = False,
) -> tuple[str, bytes, int | None]:
    """What the kernel leaves, or what the fault says, and how many instructions were counted."""
    text = SOURCE.format(body=body)
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        schedule = Schedule(proven_rows=proven)
        patch.setattr(
            module, "compiled", lambda text, kernels, _, **_options: translate.compile_module(text, kernels, schedule)
        )
        if not is_optimised:
            patch.setattr(llvm_backend, "OPTIMISATION", 0)
        running = Running(Path(folder), text, is_small=False)
        data = running.put("data", np.random.default_rng(3).integers(0, 127, 2 * SIZE).astype(np.int32))
        sums = running.put("sums", np.zeros(SIZE, np.float32))
        second = (data.address + 4 * shift).to_bytes(8, "little")  # x begins inside y's buffer: they overlap
        try:
            numbers_ = (np.int32(number) for number in numbers)
            report = running.launch("k", grid, block, data, second, sums, *numbers_)
        except KernelFault as fault:
            return str(fault), b"", None
        return "", data.read().tobytes() + sums.read().tobytes(), report.instructions


_INDEXES = st.sampled_from(["i", "i + 1", "i + b", "n - 1 - i", "2 * i", "i - 5", "t", "t + row", "box[t]", "i & 127"])
_STATEMENTS = st.one_of(
    st.builds("y[{0}] = {1} * a + s;".format, _INDEXES, st.sampled_from(["3", "i", "row", "t"])),
    st.builds("y[{0}] = x[{1}] + 1;".format, _INDEXES, _INDEXES),
    st.builds("y[{0}] += 2;".format, _INDEXES),
    st.builds("s += x[{0}];".format, _INDEXES),
    st.builds("q = q * 0.5f + x[{0}];".format, _INDEXES),
    st.builds("atomicAdd(&box[x[{0}]], 1);".format, _INDEXES),
    st.builds("atomicMax(&box[x[{0}] + b], i);".format, _INDEXES),
    st.builds("s ^= x[x[{0}]];".format, _INDEXES),
    st.builds("box[t & 127] += x[{0}];".format, _INDEXES),
    st.just("if (x[t] > 60) break;"),
)
_HEADS = st.sampled_from(
    [
        "for (int i = g; i < n; i += stride)",
        "for (int i = g; i < n; i += stride + b)",
        "for (int i = g; i <= n - 1; i += blockDim.x)",
        "for (unsigned i = g; i < (unsigned)n; i += stride)",
        "for (long long i = g; i < n; i += stride)",
        "for (int i = 0; i < a; ++i)",
        "for (int i = n - 1 - g; i >= 0; i -= stride)",
        "for (int i = t; i < 128; i += 64)",
        "for (int i = g; i < n + t; i += stride)",
        "#pragma unroll 1\n  for (int i = g; i < n; i += stride)",
    ]
)
_BODIES = st.builds(
    "{0} {{ {1} {2} }} {3}".format,
    _HEADS,
    _STATEMENTS,
    st.one_of(st.just(""), _STATEMENTS),
    st.one_of(st.just(""), st.sampled_from(["y[g] = s;", "s += y[t];", "for (int i = 0; i < b; ++i) s += x[t + i];"])),
)


Case = tuple[str, Dim3, Dim3, tuple[int, int, int], int]
CASES: list[Case] = [
    ("for (int i = g; i < n; i += stride) y[i] = a * x[i] + y[i];", (3, 1, 1), (64, 1, 1), (2500, 3, 0), 0),
    ("for (int i = g; i < n; i += stride) y[i] = x[i + 1];", (1, 1, 1), (64, 1, 1), (2500, 3, 0), 0),
    ("for (int i = g; i < n; i += stride) y[i] = x[i];", (1, 1, 1), (64, 1, 1), (2500, 3, 0), 64),
    ("for (int i = 0; i < 20; ++i) y[t + i] += 3;", (1, 1, 1), (64, 1, 1), (2500, 3, 0), 0),
    ("for (int i = 0; i < a; ++i) y[t] = y[t] * 3 + i;", (1, 1, 1), (64, 1, 1), (2500, 50, 0), 0),
    ("for (int i = g; i < n; i += stride) atomicAdd(&box[x[i]], 1);", (2, 1, 1), (64, 1, 1), (2900, 3, 0), SIZE),
    ("for (int i = g; i < n; i += stride) atomicAdd(&box[x[i] + b], 1);", (2, 1, 1), (64, 1, 1), (2900, 3, 5), 64),
    ("for (int i = g; i < n; i += 256) atomicAdd(&box[x[i]], 1);", (1, 1, 1), (256, 1, 1), (2900, 3, 0), SIZE),
    ("for (int i = n - 1 - g; i >= 0; i -= stride) y[i] += i;", (1, 2, 1), (40, 2, 1), (2900, 3, 5), SIZE),
    ("for (int i = g; i < n; i += stride) y[i] = i;", (1, 1, 1), (128, 1, 1), (2**31 - 1, 3, 5), SIZE),
    ("for (int i = g; i < a; ++i) { s += x[i]; }", (1, 1, 1), (64, 1, 1), (100, 50, 5), 0),
    ("for (int i = g; i < n; i += 2 << 28) y[i] = i;", (1, 1, 1), (128, 1, 1), (2**31 - 1, 3, 5), SIZE),
    (
        "for (int i = g; i < n; i += stride) { y[i] += 2; y[n - 1 - i] = 3 * a; }",
        (1, 1, 1),
        (40, 2, 1),
        (999, -7, 0),
        0,
    ),
    ("for (int i = g; i < n; i += stride) s += x[i]; y[g] = s;", (1, 1, 1), (128, 1, 1), (1, -7, 0), 1),
    ("for (int i = g; i < n; i += stride) s += x[i]; y[0] = g;", (1, 1, 1), (64, 1, 1), (5, 3, 0), SIZE),
    ("for (int i = 0; i < 9; ++i) y[2 * t + (i & 1)] += i;", (1, 1, 1), (128, 1, 1), (500, 3, 5), SIZE),
]
"""Body, grid, block, `n a b`, and where x begins in the buffer of y."""


def _same(case: Case, *, is_optimised: bool) -> None:
    checked = _outcome(*case, proven=False)
    assert _outcome(*case, proven=True, is_optimised=is_optimised) == checked


@pytest.mark.parametrize(("number", "case"), list(enumerate(CASES)), ids=[case[0] for case in CASES])
def test_interchange_changes_nothing(number: int, case: Case) -> None:
    """One of four with LLVM's optimisation, which takes most of the time."""
    _same(case, is_optimised=number % 4 == 0)


@settings(max_examples=4, phases=(Phase.generate,))
@given(
    body=_BODIES,
    grid=st.sampled_from([(1, 1, 1), (3, 1, 1), (2, 2, 1)]),
    block=st.sampled_from([(160, 1, 1), (128, 1, 1), (64, 1, 1), (40, 2, 1), (17, 3, 1), (3, 4, 1)]),
    numbers=st.tuples(
        st.sampled_from([0, 1, 70, 1000, 2048, SIZE, 2 * SIZE, LARGEST]),
        st.sampled_from([-7, 0, 1, 3, 50]),
        st.sampled_from([0, 1, 5]),
    ),
    shift=st.sampled_from([0, 1, 3, 64, SIZE]),
)
def test_interchange_changes_nothing_in_other_loops(
    body: str, grid: Dim3, block: Dim3, numbers: tuple[int, int, int], shift: int
) -> None:
    # Without a fault, the counter of a loop up to the largest number overflows, and the loop never ends.
    assume(numbers[0] < LARGEST or _LEAVES.search(body.split(";", 2)[2].partition("}")[0]))
    _same((body, grid, block, numbers, shift), is_optimised=False)


def test_a_fault_is_that_of_the_lowest_thread_and_what_it_wrote_before_is_there(tmp_path: Path) -> None:
    text = SOURCE.format(body="for (int i = g; i < n; i += stride) y[i] = i + 1;")
    running = Running(tmp_path, text, is_small=False)
    data = running.put("data", np.zeros(SIZE, np.int32))
    other = running.put("other", np.zeros(SIZE, np.float32))
    with pytest.raises(KernelFault) as caught:
        running.launch("k", 1, 64, data, other, other, np.int32(SIZE + 4), np.int32(0), np.int32(0))
    assert f"out-of-bounds write of 4 bytes at data[{SIZE}]" in str(caught.value)
    assert f"thread ({SIZE % 64},0,0)" in str(caught.value)
    left = data.read().view(np.int32)
    of_lower_threads = np.arange(SIZE) % 64 <= SIZE % 64
    assert np.array_equal(left[of_lower_threads], np.arange(SIZE)[of_lower_threads] + 1)


def test_no_thread_waits_at_a_loop_that_few_threads_enter(tmp_path: Path) -> None:
    """A row in which some threads skip the loop, and one too short to be worth it."""
    text = SOURCE.format(body="if (t != 5) for (int i = g; i < n; i += stride) y[i] = i + 1;")
    running = Running(tmp_path, text, is_small=False)
    for block in ((64, 1, 1), (8, 2, 1)):
        data = running.put("data", np.zeros(SIZE, np.int32))
        other = running.put("other", np.zeros(SIZE, np.float32))
        running.launch("k", 2, block, data, other, other, np.int32(SIZE), np.int32(0), np.int32(0))
        index = np.arange(SIZE)
        assert np.array_equal(data.read().view(np.int32), np.where(index % block[0] == 5, 0, index + 1))

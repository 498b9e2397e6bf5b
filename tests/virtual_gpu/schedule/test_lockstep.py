"""Kernels in lockstep give the same bytes and the same faults as when each thread's place is kept track of."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuregress.foundation.errors import KernelFault
from gpuregress.foundation.records import Dim3
from gpuregress.virtual_gpu import module
from gpuregress.virtual_gpu.analysis.control_flow_graph import ControlFlowGraph
from gpuregress.virtual_gpu.analysis.uniformity import Uniformity
from gpuregress.virtual_gpu.compilation import kernel, translate
from gpuregress.virtual_gpu.ptx.parser import parse
from gpuregress.virtual_gpu.runtime import llvm_backend
from tests.virtual_gpu.running import Running, ptx_of

HEAD = """
extern "C" __global__ void k(int* y, const int* x, int n) {
  __shared__ int box[64];
  int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  int threads = blockDim.x * blockDim.y * blockDim.z, u = blockIdx.x + n, v = x[t] + 3 * t;
  int pair[4] = {t, u, v, n}, rounds = 0;
  box[t] = v; __syncthreads();
"""
TAIL = "  y[blockIdx.x * threads + t] = v + 7 * u + pair[v & 3];\n}"


@contextmanager
def _built(*, lockstep: bool) -> Iterator[None]:
    """Compile with or without lockstep; what is compared with is not optimised, which takes a third of the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel, "LOCKSTEP", lockstep)
        patch.setattr(module, "compiled", lambda *arguments, **_options: translate.compile_module(*arguments))
        patch.setattr(llvm_backend, "OPTIMISATION", 2 if lockstep else 0)
        yield


def _outcome(text: str, block: Dim3, *, lockstep: bool) -> str | bytes:
    """What the kernel leaves, or what the fault says."""
    with tempfile.TemporaryDirectory() as folder, _built(lockstep=lockstep):
        running = Running(Path(folder), text, is_small=False)
        threads = block[0] * block[1] * block[2]
        x = running.put("x", np.random.default_rng(7).integers(-99, 99, threads).astype(np.int32))
        y = running.put("y", np.zeros(3 * threads, np.int32))
        try:
            report = running.launch("k", 3, block, y, x, np.int32(5))
        except KernelFault as fault:
            return str(fault)
        return y.read().tobytes() + repr((report.output, report.counters)).encode()


def _is_lockstep(body: str) -> bool:
    (function,) = parse(ptx_of(HEAD + body + TAIL)).functions
    return Uniformity(ControlFlowGraph(function), {item.name for item in function.parameters}).lockstep


_NUMBERS = st.integers(0, 40)
_LEAVES = st.one_of(
    st.builds("v = v * {0} + t;".format, _NUMBERS),
    st.builds("u = u * 3 + {0};".format, _NUMBERS),
    st.builds("if ((v & 7) > {0} % 7) {{ v -= u; pair[v & 3] += v; }} else v ^= {0};".format, _NUMBERS),
    st.builds("for (int j = 0; j < (v & 7); ++j) v += pair[j & 3] + {0};".format, _NUMBERS),
    st.builds("box[(t + {0}) % threads] = v; __syncthreads(); v += box[t ^ {0} % 2 ? 0 : t]; __syncthreads();".format,
              _NUMBERS),
    st.builds("v += __shfl_down_sync(~0u, v, {0} & 31);".format, _NUMBERS),
    st.builds("v += __shfl_xor_sync(~0u, v, {0} & 31) + __shfl_up_sync(~0u, u, {0} & 7);".format, _NUMBERS),
    st.builds("v ^= __ballot_sync(~0u, v & 1) + __any_sync(~0u, v > {0});".format, _NUMBERS),
    st.builds("v += __match_any_sync(~0u, v & 3) + __activemask() + {0};".format, _NUMBERS),
    st.builds("v += __reduce_max_sync(~0u, v % ({0} + 1)); __syncwarp();".format, _NUMBERS),
    st.builds("u += __syncthreads_count(v & 1) + {0} * __syncthreads_or(v == 3);".format, _NUMBERS),
    st.builds("if (u % 3 == {0} % 3) __syncthreads();".format, _NUMBERS),
    st.builds("if (t == 3) v += box[(v & 127) + {0}];".format, _NUMBERS),
    st.builds("if (v % 50 == {0}) return;".format, _NUMBERS),
    st.builds("if ((t & 32) == {0} % 2 * 32) {{ __syncwarp(); v += {0}; }}".format, _NUMBERS),
)  # fmt: skip


def _nested(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    body = st.lists(inner, min_size=1, max_size=3).map("\n  ".join)
    return st.one_of(
        st.builds("for (int i{1} = 0; i{1} < (u & 3); ++i{1}) {{ {0} }}".format, body, st.integers(0, 999)),
        st.builds("if (u & {1}) {{ {0} }}".format, body, st.integers(1, 4)),
        st.builds("do {{ {0} u = u * 5 + 1; }} while (u % {1} && ++rounds < 6);".format, body, st.integers(2, 4)),
    )


_BODIES = st.lists(st.recursive(_LEAVES, _nested, max_leaves=4), min_size=1, max_size=5).map("\n  ".join)
_BLOCKS = st.sampled_from([(64, 1, 1), (40, 1, 1), (7, 5, 1), (2, 3, 4), (1, 1, 1)])


@settings(max_examples=4)
@given(body=_BODIES, block=_BLOCKS)
def test_lockstep_changes_nothing(body: str, block: Dim3) -> None:
    text = HEAD + body + TAIL
    assert _outcome(text, block, lockstep=True) == _outcome(text, block, lockstep=False)


@pytest.mark.parametrize(
    "body",
    [
        "for (int i = 0; i < n; ++i) { if (t < i) v += box[i]; __syncthreads(); }",
        "if (u > 3) __syncthreads();",
        "if (v > 3) pair[1] = 2; __syncthreads();",
        "v += __shfl_down_sync(~0u, v, 3);",
        "v += __shfl_down_sync(__activemask(), v, 3);",
        "do { v /= 2; } while (__syncthreads_or(v > 0));",
        "if (v == -12345) __trap(); __syncthreads();",
    ],
)
def test_waits_that_all_threads_reach_together(body: str) -> None:
    assert _is_lockstep(body)


@pytest.mark.parametrize(
    "body",
    [
        "if (v > 3) return; __syncthreads();",
        "if (v > 3) __syncthreads();",
        "for (int i = 0; i < v; ++i) __syncthreads();",
        "for (int i = 0; i < 9; ++i) { if (x[t + i] > 3) break; __syncthreads(); }",
        "if (t < 32) v += __shfl_down_sync(~0u, v, 3);",
        "v += __shfl_down_sync(0xffff, v, 3);",
        'asm volatile("bar.sync 1, 32;" ::: "memory");',
        "while (atomicAdd(y, 0) < 3) { atomicAdd(y, 1); __syncthreads(); }",
        "int s = 0; for (int i = 0; i < n; ++i) { if (v & 1) { s = i; break; } } if (s) __syncthreads();",
    ],
)
def test_waits_that_some_threads_may_not_reach(body: str) -> None:
    assert not _is_lockstep(body)


def test_a_fault_names_the_same_thread() -> None:
    text = HEAD + "__syncthreads(); u *= 2; __syncthreads(); if (t == 17) v += box[u + 100];" + TAIL
    message = _outcome(text, (64, 1, 1), lockstep=True)
    assert message == _outcome(text, (64, 1, 1), lockstep=False)
    assert "out-of-bounds read of 4 bytes at box[110]" in str(message)
    assert "thread (17,0,0) of block (0,0,0)" in str(message)


def test_the_code_of_a_region_does_not_grow_with_the_number_of_regions() -> None:
    def size(count: int) -> int:
        numbers = range(count)
        starts = "".join(f"add.u32 %r{n + 2}, %r1, {n}; shl.b32 %s{n}, %r{n + 2}, 2;" for n in numbers)
        steps = "".join(f"st.shared.u32 [%s{n}], %r{n + 2}; bar.sync 0;" for n in numbers)
        return len(
            translate.llvm_text(
                ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() {"
                f".reg .b32 %r<99>; .reg .b32 %s<99>; mov.u32 %r1, %tid.x; {starts} {steps} ret; }}",
                ("k",),
            )
        )

    small, middle, large = (size(count) for count in (10, 20, 40))
    assert large - middle < 2.2 * (middle - small)

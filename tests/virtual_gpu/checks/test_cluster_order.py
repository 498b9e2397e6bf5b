"""Order in a cluster: its barrier, with and without release, and shared memory of other blocks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.virtual_gpu.running import Running

_HEAD = """
#define ARRIVE asm volatile("barrier.cluster.arrive.release;" ::: "memory")
#define RELAXED asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory")
#define FENCE asm volatile("fence.acq_rel.cluster;" ::: "memory")
#define WAIT asm volatile("barrier.cluster.wait.acquire;" ::: "memory")
#define SYNC ARRIVE; WAIT
__device__ unsigned at(const void* here, unsigned rank) {
    unsigned there, own = (unsigned)__cvta_generic_to_shared(here);
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(own), "r"(rank));
    return there;
}
__device__ int get(unsigned there) {
    int v; asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(v) : "r"(there) : "memory"); return v;
}
"""
_PUT = 's[t] = i; asm volatile("" ::: "memory");'
_SWAP = "z[i] = get(at(&s[31 - t], 1 - rank)); SYNC;"
_ADD = 'asm volatile("red.relaxed.{}.shared::cluster.add.u32 [%0], 1;" :: "r"(at(&s[0], 0)) : "memory");'
_LATE = "while (!atomicAdd(&z[200 + b], 0)) {} z[i] = get(at(&s[31 - t], 0));"
_GO = "if (!rank && !t) atomicExch(&z[201 + b], 1);"
BODIES: dict[str, tuple[str, str]] = {
    "behind_barrier": (f"{_PUT} SYNC; {_SWAP}", ""),
    "block_only_racy": (f"SYNC; {_PUT} __syncthreads(); {_SWAP}", "of block rank "),
    "relaxed_racy": (f"{_PUT} RELAXED; WAIT; {_SWAP}", "in two blocks of a cluster that nothing orders"),
    "relaxed_behind_fence": (f"{_PUT} FENCE; RELAXED; WAIT; {_SWAP}", ""),
    "relaxed_behind_another_phase": (f"{_PUT} SYNC; RELAXED; WAIT; {_SWAP}", ""),
    "fenced_by_another_thread": (f"{_PUT} __syncthreads(); if (!t) FENCE; RELAXED; WAIT; {_SWAP}", ""),
    "fenced_too_early_racy": (f"FENCE; {_PUT} __syncthreads(); RELAXED; WAIT; {_SWAP}", "of block rank"),
    "one_phase_late": (f"{_PUT} SYNC; ARRIVE; if (rank) {{ {_LATE} }} WAIT; ARRIVE; {_GO} WAIT; SYNC;", ""),
    "one_phase_late_racy": (
        f"SYNC; {_PUT} ARRIVE; if (rank) {{ {_LATE} }} WAIT; ARRIVE; {_GO} WAIT; SYNC;",
        "of block",
    ),
    "written_behind_arrival_racy": (f"ARRIVE; {_PUT} WAIT; {_SWAP}", "(shared) of block rank"),
    "own_block": ("s[t] = i; SYNC; z[i] = s[31 - t];", ""),
    "own_block_racy": ("s[t] = i; SYNC; s[t] = t; z[i] = s[31 - t]; SYNC;", "relies on a converged warp"),
    "global": ("z[i] = t; SYNC; z[128 + i] = z[64 * (b / 2) + 32 * (1 - rank) + t];", ""),
    "global_racy": ("SYNC; z[i] = t; z[128 + i] = z[64 * (b / 2) + 32 * (1 - rank) + t];", "of a cluster"),
    "other_cluster_racy": ("z[i] = t; SYNC; z[128 + i] = z[(i + 64) % 128];", "in two blocks that nothing orders"),
    "phases": (f"for (int k = 0; k < 4; ++k) {{ {_PUT} SYNC; {_SWAP} }}", ""),
    "phase_missing_racy": (
        f"for (int k = 0; k < 4; ++k) {{ {_PUT} SYNC; z[i] = get(at(&s[31 - t], 1 - rank)); if (k != 2) {{ SYNC; }} }}",
        "of a cluster",
    ),
    "atomics": (f"if (!t) s[0] = 0; SYNC; {_ADD.format('cluster')} SYNC; z[i] = s[0];", ""),
    "atomics_of_block_racy": (f"if (!t) s[0] = 0; SYNC; {_ADD.format('cta')} SYNC; z[i] = s[0];", "atomic access by"),
}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Running:
    head = "__shared__ int s[32]; int t = threadIdx.x, b = blockIdx.x, rank = b % 2, i = 32 * b + t;"
    signature = 'extern "C" __global__ void __cluster_dims__(2, 1, 1) {}(int* z) {{ '
    text = _HEAD + "\n".join(f"{signature.format(name)} {head} {body} }}" for name, (body, _) in BODIES.items())
    return Running(tmp_path_factory.mktemp("clusters"), text, is_small=True, checks=("races", "uninitialized"))


@pytest.mark.parametrize("kernel", BODIES)
def test_the_barrier_of_the_cluster_orders_what_is_released(program: Running, kernel: str) -> None:
    z = program.put("z", np.zeros(256, np.int32))
    report = program.launch(kernel, 4, 32, z)
    messages = [finding.message for finding in report.findings if finding.kind == "race"]
    assert bool(messages) == kernel.endswith("racy"), messages
    assert all(BODIES[kernel][1] in message for message in messages[:1])
    assert report.unwatched == ""


def test_the_memory_of_another_block_may_be_unwritten(tmp_path: Path) -> None:
    text = (
        _HEAD
        + """extern "C" __global__ void __cluster_dims__(2, 1, 1) empty(int* z) {
        __shared__ int s[32]; if (threadIdx.x > 3) s[threadIdx.x] = 1; SYNC;
        z[32 * blockIdx.x + threadIdx.x] = get(at(&s[threadIdx.x], 1 - blockIdx.x % 2)); SYNC; }"""
    )
    program = Running(tmp_path, text, is_small=True, checks=("uninitialized",))
    (finding,) = program.launch("empty", 2, 32, program.put("z", np.zeros(64, np.int32))).findings
    assert finding.count == 8
    assert finding.message.startswith("`s[0]` (shared) of block rank 1 is read and was never written")

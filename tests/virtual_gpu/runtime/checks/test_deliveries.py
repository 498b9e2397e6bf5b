"""Arrivals of bulk copies: a wait of the reader's own, or one of a thread that it comes behind."""

from __future__ import annotations

import numpy as np
import pytest

from tests.checks.planted import detection
from tests.virtual_gpu.running import Running
from tests.virtual_gpu.runtime.checks.test_bulk_notes import _HEAD

ARRIVE = 'asm volatile("{.reg .b64 s; mbarrier.arrive.shared.b64 s, [%0];}" :: "r"(AT(&next)) : "memory");'
BODIES = {
    "own_wait": "wait(&bar, 0); z[t] = s[95 - t];",
    "none_racy": "if (t < 32) wait(&bar, 0); z[t] = s[95 - t];",
    "behind_barrier": "if (t == 70) wait(&bar, 0); __syncthreads(); z[t] = s[95 - t];",
    "behind_the_warp": "if (t % 32 == 7) wait(&bar, 0); __syncwarp(); z[t] = s[95 - t];",
    "behind_another_mbarrier": f"if (t < 32) {{ wait(&bar, 0); {ARRIVE} }} else wait(&next, 0); z[t] = s[95 - t];",
    "behind_arrival_of_none_racy": f"if (t < 32) {{ {ARRIVE} wait(&bar, 0); }} else wait(&next, 0); z[t] = s[95 - t];",
    "overwritten_racy": "if (t < 32) wait(&bar, 0); s[95 - t] = t; z[t] = s[95 - t];",
}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Running:
    head = (
        "__shared__ __align__(128) int s[96]; __shared__ __align__(8) long long bar, next; int t = threadIdx.x;"
        'if (!t) { init(&bar); asm volatile("mbarrier.init.shared.b64 [%0], 32;" :: "r"(AT(&next)) : "memory"); }'
        "s[t] = 0; __syncthreads(); if (t == 40) load(s + 32, x, &bar);"
    )
    signature = 'extern "C" __global__ void {}(int* z, const int* x) {{ '
    text = _HEAD + "\n".join(f"{signature.format(name)} {head} {body} }}" for name, body in BODIES.items())
    return Running(tmp_path_factory.mktemp("deliveries"), text, is_small=True, checks=("races",))


@pytest.mark.parametrize("kernel", BODIES)
def test_a_thread_comes_behind_a_wait(program: Running, kernel: str) -> None:
    z = program.put("z", np.zeros(96, np.int32))
    x = program.put("x", np.arange(64, dtype=np.int32))
    messages = [finding.message for finding in program.launch(kernel, 1, 96, z, x).findings]
    assert bool(messages) == kernel.endswith("racy"), messages


def test_the_text_names_the_thread_that_has_issued_the_copy() -> None:
    (said,) = detection.run("copies", planted=True, names=("copies_bulk_other_waits",), checks=("races",))
    (finding,) = said[1]
    assert "asynchronous copy by thread (0,0,0) of block (0,0,0)" in finding.text
    assert "with no wait for the copy" in finding.text


_CLUSTER = r"""
#define MEET asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory")
#define THERE(p, rank) ([&] {                                                                                          \
    unsigned there;                                                                                                    \
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(AT(p)), "r"(rank));                                 \
    return there; }())
#define MULTICAST(bar) asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"                \
    ".multicast::cluster [%0], [%1], 256, [%2], %3;" :: "r"(AT(s)), "l"(x), "r"(AT(bar)), "h"((short)3) : "memory")
#define EXPECT(bar) asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 256;" :: "r"(AT(bar)) : "memory")
#define RELEASE asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" :: "r"(THERE(&next, 0)) : "memory")
#define READ(v) asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(v) : "r"(THERE(s + t, 1)) : "memory")
"""
_CLUSTER_HEAD = (
    "__shared__ __align__(128) int s[64]; __shared__ __align__(8) long long bar[2], next;"
    "int t = threadIdx.x, v = 0; bool first = blockIdx.x == 0; if (!t) { init(bar); init(bar + 1); init(&next); } MEET;"
    "if (!t) { EXPECT(bar); EXPECT(bar + 1); } if (!t && first) MULTICAST(bar); wait(bar, 0);"
)
_AGAIN = "if (!t && first) { wait(&next, 0); MULTICAST(bar + 1); } wait(bar + 1, 0); MEET;"
CLUSTER_BODIES = {
    "copied_again": f"if (t == 40 && !first) RELEASE; {_AGAIN}",
    "copied_again_too_early_racy": f"if (t == 40 && first) RELEASE; {_AGAIN}",
    "read": "if (t == 40 && !first) RELEASE; if (first) { wait(&next, 0); READ(v); } MEET;",
    "read_too_early_racy": "if (t == 40 && first) RELEASE; if (first) { wait(&next, 0); READ(v); } MEET;",
    "read_behind_barrier": "MEET; if (first) READ(v); MEET;",
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Running:
    signature = 'extern "C" __global__ void __cluster_dims__(2, 1, 1) {}(int* z, const int* x) {{ '
    text = (
        _HEAD
        + _CLUSTER
        + "\n".join(
            f"{signature.format(name)} {_CLUSTER_HEAD} {body} z[t + 64 * blockIdx.x] = v; }}"
            for name, body in CLUSTER_BODIES.items()
        )
    )
    return Running(tmp_path_factory.mktemp("cluster"), text, is_small=True, checks=("races",))


@pytest.mark.parametrize("kernel", CLUSTER_BODIES)
def test_another_block_comes_behind_any_wait_of_the_memorys_block(cluster: Running, kernel: str) -> None:
    """The thread that releases has waited, but not as the first one: CUTLASS spreads its signals over the warps."""
    z = cluster.put("z", np.zeros(128, np.int32))
    x = cluster.put("x", np.arange(64, dtype=np.int32))
    messages = [finding.message for finding in cluster.launch(kernel, 2, 64, z, x).findings]
    assert bool(messages) == kernel.endswith("racy"), messages

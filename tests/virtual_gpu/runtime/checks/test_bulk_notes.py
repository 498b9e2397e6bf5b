"""Races of bulk copies: their writes until they arrive, their reads until they are waited for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.virtual_gpu.running import Running

_HEAD = """
#define AT(p) (unsigned)__cvta_generic_to_shared(p)
#define INIT asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(AT(bar)) : "memory")
#define FENCED(kind) asm volatile("fence." kind ";" ::: "memory")
__device__ void bare(void* bar) { INIT; }
__device__ void init(void* bar) { INIT; FENCED("mbarrier_init.release.cluster"); }
__device__ void drop(void* bar) { asm volatile("mbarrier.inval.shared.b64 [%0];" :: "r"(AT(bar)) : "memory"); }
__device__ void load(void* to, const void* from, void* bar) {
    asm volatile("{.reg .b64 s; mbarrier.arrive.expect_tx.shared.b64 s, [%0], 256;}" :: "r"(AT(bar)) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];"
        :: "r"(AT(to)), "l"(from), "r"(AT(bar)) : "memory");
}
__device__ void wait(void* bar, int phase) {
    asm volatile("{.reg .pred p; again: mbarrier.try_wait.parity.shared.b64 p, [%0], %1; @!p bra again;}"
        :: "r"(AT(bar)), "r"(phase) : "memory");
}
__device__ void save(void* to, const void* from) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256; cp.async.bulk.commit_group;"
        :: "l"(to), "r"(AT(from)) : "memory");
}
#define READ asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory")
#define FENCE asm volatile("fence.proxy.async;" ::: "memory")
"""
_BEGIN = "if (!t) init(&bar); __syncthreads();"
_BARE = "if (!t) { bare(&bar); %s } __syncthreads(); if (!t) load(s, x, &bar); wait(&bar, 0); z[t] = s[t];"
_SIGNALS = "which signals it, with no fence.mbarrier_init or fence.proxy.async between"
_ONCE = "if (!t) load(s, x, &bar); wait(&bar, 0); z[t] = s[t]; __syncthreads();"
_SAVED = "s[t] = t; %s __syncthreads(); if (!t) { save(z, s); READ; } __syncthreads(); s[t] = 0;"
_OVER = f"{_BEGIN} s[t] = t; __syncthreads(); z[t] = s[63 - t];"
_LOAD = "if (t == 63) load(s, x, &bar); wait(&bar, 0);"
BODIES: dict[str, tuple[str, str]] = {
    "loaded": (f"{_BEGIN} if (!t) load(s, x, &bar); wait(&bar, 0); z[t] = s[63 - t];", ""),
    "unarrived_racy": (f"{_BEGIN} if (!t) load(s, x, &bar); z[t] = s[t]; wait(&bar, 0);", "before the copy was waited"),
    "behind_barrier_racy": (
        f"{_BEGIN} if (!t) load(s, x, &bar); __syncthreads(); z[t] = s[t]; wait(&bar, 0);",
        "asynchronous copy by thread (0,0,0) of block (0,0,0)",
    ),
    "over_reads_racy": (f"{_OVER} {_LOAD}", "and asynchronous copy by thread (63,0,0)"),
    "over_reads_behind_barrier": (f"{_OVER} __syncthreads(); {_LOAD}", ""),
    "over_writes_racy": (f"{_BEGIN} s[t] = t; if (t == 63) load(s, x, &bar); wait(&bar, 0); z[t] = s[t];", "`s["),
    "saved": ("s[t] = t; FENCE; __syncthreads(); if (!t) { save(z, s); READ; } __syncthreads(); s[t] = 0;", ""),
    "saved_behind_a_fence_of_global_racy": (_SAVED % 'FENCED("proxy.async.global");', "with no fence.proxy.async"),
    "saved_behind_a_fence_of_mbarriers_racy": (
        _SAVED % 'FENCED("mbarrier_init.release.cluster");',
        "fence.proxy.async",
    ),
    "signalled_unfenced_racy": (_BARE % "", _SIGNALS),
    "signalled": (_BARE % 'FENCED("proxy.async.shared::cta");', ""),
    "signalled_behind_a_fence_of_global_racy": (_BARE % 'FENCED("proxy.async.global");', _SIGNALS),
    "signalled_by_the_thread_of_the_fence": (
        "if (!t) bare(&bar); __syncthreads(); if (t == 32) { FENCE; load(s, x, &bar); } wait(&bar, 0); z[t] = s[t];",
        "",
    ),
    "signalled_again_racy": (
        f"{_BEGIN} {_ONCE} if (!t) {{ drop(&bar); bare(&bar); }} __syncthreads(); {_ONCE}",
        _SIGNALS,
    ),
    "signalled_element_racy": (
        f"__shared__ long long bars[3]; {(_BARE % '').replace('&bar', '&bars[2]')}",
        "`bars[2]`",
    ),
    "signalled_of_a_library": (_BARE.replace("bare", "init_of_library") % "", ""),
    "unwritten_source_racy": ("s[63 - t] = t; FENCE; if (t == 32) { save(z, s); READ; }", "asynchronous copy by"),
    "source_not_waited_for_racy": (
        "s[t] = t; FENCE; __syncthreads(); if (!t) save(z, s); __syncthreads(); s[t] = 0; if (!t) READ;",
        "asynchronous copy by thread (0,0,0) of block",
    ),
    "source_without_barrier_racy": (
        "s[t] = t; FENCE; __syncthreads(); if (t == 63) { save(z, s); READ; } s[63 - t] = 0;",
        "asynchronous copy by thread (63,0,0)",
    ),
}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Running:
    head = "__shared__ __align__(128) int s[64]; __shared__ __align__(8) long long bar; int t = threadIdx.x;"
    signature = 'extern "C" __global__ void {}(int* z, const int* x) {{ '
    kernels = "\n".join(f"{signature.format(name)} {head} {body} }}" for name, (body, _) in BODIES.items())
    library = '#line 1 "cuda/__barrier/barrier_block_scope.h"'
    text = f'{_HEAD}{library}\n__device__ void init_of_library(void* bar) {{ INIT; }}\n#line 1 "k.cu"\n{kernels}'
    return Running(tmp_path_factory.mktemp("bulk"), text, is_small=True, checks=("races",))


@pytest.mark.parametrize("kernel", BODIES)
def test_a_copy_races_until_it_is_waited_for(program: Running, kernel: str) -> None:
    z = program.put("z", np.zeros(64, np.int32))
    x = program.put("x", np.arange(64, dtype=np.int32))
    messages = [finding.message for finding in program.launch(kernel, 1, 64, z, x).findings]
    assert bool(messages) == kernel.endswith("racy"), messages
    assert all(BODIES[kernel][1] in message for message in messages[:1])


_CLUSTER = r"""
#define MEET asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory")
#define EXPECT(bar) asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 256;" :: "r"(AT(bar)) : "memory")
__device__ unsigned first_of(void* p) {
    unsigned there;
    asm("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(there) : "r"(AT(p)));
    return there;
}
#define ADD(bar) asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 "        \
    "[%0], %1, [%2];" :: "r"(first_of(&sum)), "r"(t), "r"(first_of(bar)) : "memory")
#define COPY asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes "                    \
    "[%0], [%1], 256, [%2];" :: "r"(first_of(s)), "r"(AT(own)), "r"(first_of(bar)) : "memory")
"""
_SUM = "if (t == 0) { EXPECT(bar); EXPECT(bar + 1); sum = 0; } MEET; ADD(bar + WHICH); if (!first) { MEET; return; } "
_BY_BLOCK, _BY_THREAD = _SUM.replace("WHICH", "(first ? 0 : 1)"), _SUM.replace("WHICH", "t % 2")
_BOTH = "wait(bar, 0); wait(bar + 1, 0); z[t] = sum; MEET;"
CLUSTER_BODIES = {
    "sums": _BY_BLOCK + _BOTH,
    "sums_mixed": _BY_THREAD + _BOTH,
    "half_a_sum_racy": _BY_BLOCK + "wait(bar + 1, 0); z[t] = sum; wait(bar, 0); MEET;",
    "half_a_sum_mixed_racy": _BY_THREAD + "wait(bar, 0); z[t] = sum; wait(bar + 1, 0); MEET;",
    "next_sum": f"{_BY_BLOCK} {_BOTH} __syncthreads(); if (t == 0) sum = 1; __syncthreads(); z[t] += sum;",
    "unwritten_sum_racy": _BY_BLOCK.replace("sum = 0;", "") + _BOTH,
    "overwritten_sum_racy": _BY_BLOCK + "if (t == 0) sum = 1; " + _BOTH,
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Running:
    head = (
        "__shared__ int sum; __shared__ __align__(8) long long bar[2]; int t = threadIdx.x;"
        "bool first = blockIdx.x % 2 == 0; if (!t) { init(bar); init(bar + 1); } __syncthreads();"
    )
    signature = 'extern "C" __global__ void __cluster_dims__(2, 1, 1) {}(int* z) {{ '
    text = (
        _HEAD
        + _CLUSTER
        + "\n".join(f"{signature.format(name)} {head} {body} }}" for name, body in CLUSTER_BODIES.items())
    )
    return Running(tmp_path_factory.mktemp("sums"), text, is_small=True, checks=("races", "uninitialized"))


@pytest.mark.parametrize("kernel", CLUSTER_BODIES)
def test_asynchronous_sums_race_until_the_last_term_arrives(cluster: Running, kernel: str) -> None:
    """Terms arrive in any order, some while others are still to be issued; each cluster has a sum of its own."""
    z = cluster.put("z", np.zeros(64, np.int32))
    messages = [finding.message for finding in cluster.launch(kernel, 4, 64, z).findings]
    messages = [message for message in messages if "`z[" not in message]
    assert bool(messages) == kernel.endswith("racy"), messages
    if not messages:
        assert set(z.read().view(np.int32)) == {2 * sum(range(64)) + (kernel == "next_sum")}


_SOURCE = """
extern "C" __global__ void __cluster_dims__(2, 1, 1) source(int* z, int ends)
{
    __shared__ __align__(16) int s[64], own[64];
    __shared__ __align__(8) long long bar[1];
    int t = threadIdx.x;
    if (!t) init(bar);
    own[t] = t;
    FENCE;
    MEET;
    if (!t && blockIdx.x == 0) EXPECT(bar);
    if (!t && blockIdx.x == 1) COPY; // copied
    if (blockIdx.x == 1 && ends) return;
    if (blockIdx.x == 0) wait(bar, 0);
    if (blockIdx.x == 0) z[t] = s[63 - t];
    if (!ends) MEET;
}
"""


@pytest.mark.parametrize("ends", [0, 1])
def test_a_block_does_not_end_before_its_shared_memory_is_copied(tmp_path: Path, ends: int) -> None:
    running = Running(tmp_path, _HEAD + _CLUSTER + _SOURCE, is_small=True, checks=("races",))
    z = running.put("z", np.zeros(64, np.int32))
    found = running.launch("source", 2, 64, z, np.int32(ends)).findings
    assert [(one.kind, one.count) for one in found] == [("race", 1)] * ends
    for one in found:
        assert "`own[0]` (shared) of block rank 1: asynchronous copy by thread (0,0,0) of block (1,0,0)" in one.message
        assert "and the end of block (1,0,0), which frees its shared memory" in one.message
    assert list(z.read().view(np.int32)) == list(range(64))[::-1]

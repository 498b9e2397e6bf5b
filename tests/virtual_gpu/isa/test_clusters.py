"""Clusters of several blocks: each other's shared memory, the cluster's barrier, and what can go wrong with them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpuregress.foundation.errors import DeviceError, KernelFault, UnsupportedError
from tests.virtual_gpu.running import Running, ints

SOURCE = r"""
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
__device__ unsigned where(void* p) { return (unsigned)__cvta_generic_to_shared(p); }

extern "C" __global__ void __cluster_dims__(4, 1, 1) ring(const int* x, int* y, int rounds)
{
    __shared__ int box[64];
    auto cluster = cg::this_cluster();
    int t = threadIdx.x, kept = x[blockIdx.x * blockDim.x + t];
    for (int round = 0; round < rounds; ++round) {
        box[t] = kept;
        cluster.sync();
        kept = *cluster.map_shared_rank(&box[63 - t], (cluster.block_rank() + 1) % cluster.num_blocks());
        cluster.sync();
    }
    y[blockIdx.x * blockDim.x + t] = kept;
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) histogram(const unsigned* x, int* counts, int n)
{
    extern __shared__ int bins[];                       // 16 bins in each of the two blocks
    auto cluster = cg::this_cluster();
    for (int i = threadIdx.x; i < 16; i += blockDim.x) bins[i] = 0;
    cluster.sync();
    for (int i = cg::this_grid().thread_rank(); i < n; i += gridDim.x * blockDim.x) {
        int bin = x[i] % 32;
        atomicAdd(cluster.map_shared_rank(bins, bin / 16) + bin % 16, 1);
    }
    cluster.sync();
    for (int i = threadIdx.x; i < 16; i += blockDim.x) atomicAdd(&counts[16 * cluster.block_rank() + i], bins[i]);
}

extern "C" __global__ void __cluster_dims__(2, 2, 2) numbers(int* y)
{
    auto cluster = cg::this_cluster();
    int* to = y + 16 * (blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z));
    dim3 at = cluster.block_index(), sides = cluster.dim_blocks(), which, all;
    asm("mov.u32 %0, %%clusterid.x;" : "=r"(which.x)); asm("mov.u32 %0, %%nclusterid.x;" : "=r"(all.x));
    asm("mov.u32 %0, %%clusterid.y;" : "=r"(which.y)); asm("mov.u32 %0, %%nclusterid.y;" : "=r"(all.y));
    asm("mov.u32 %0, %%clusterid.z;" : "=r"(which.z)); asm("mov.u32 %0, %%nclusterid.z;" : "=r"(all.z));
    to[0] = at.x; to[1] = at.y; to[2] = at.z; to[3] = sides.x; to[4] = sides.y; to[5] = sides.z;
    to[6] = which.x; to[7] = which.y; to[8] = which.z; to[9] = all.x; to[10] = all.y; to[11] = all.z;
    to[12] = cluster.block_rank(); to[13] = cluster.num_blocks(); to[14] = __clusterDimIsSpecified();
}

extern "C" __global__ void __cluster_dims__(4, 1, 1) spaces(int* y)
{
    __shared__ int box[4];
    auto cluster = cg::this_cluster();
    int own = cluster.block_rank(), other = own ^ 1, *far = cluster.map_shared_rank(box, other), *to = y + 8 * own;
    unsigned near, rank, in_own, in_cluster, far_own, far_cluster;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(near) : "r"(where(box)), "r"(other));
    asm volatile("getctarank.shared::cluster.u32 %0, %1;" : "=r"(rank) : "r"(near));
#define ASK(space, to, p) \
    asm volatile("{.reg .pred p; isspacep.shared::" space " p, %1; selp.u32 %0, 1, 0, p;}" : "=r"(to) : "l"(p))
    ASK("cta", in_own, box); ASK("cluster", in_cluster, box);
    ASK("cta", far_own, far); ASK("cluster", far_cluster, far);
    if (threadIdx.x == 0) {
        to[0] = rank; to[1] = cluster.query_shared_rank(far); to[2] = cluster.query_shared_rank(box);
        to[3] = in_own; to[4] = in_cluster; to[5] = far_own; to[6] = far_cluster;
    }
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) halves(int* y)
{
    __shared__ int box;
    auto cluster = cg::this_cluster();
    if (threadIdx.x == 0) box = 10 + cluster.block_rank();
    auto token = cluster.barrier_arrive();
    y[2 * blockIdx.x] = blockIdx.x;                     // between the two: what needs no one else
    cluster.barrier_wait(std::move(token));
    y[2 * blockIdx.x + 1] = *cluster.map_shared_rank(&box, 1 - cluster.block_rank());
    cluster.sync();
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) uneven(int* y)
{
    __shared__ int sum;
    auto cluster = cg::this_cluster();
    if (threadIdx.x == 0) sum = 0;
    cluster.sync();
    if (cluster.block_rank() == 1 && threadIdx.x >= 8) return;
    atomicAdd(cluster.map_shared_rank(&sum, 0), 1);
    cluster.sync();
    if (cluster.block_rank() == 0 && threadIdx.x == 0) *y = sum;
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) flags(int* y)
{
    __shared__ volatile int flag, value;
    auto cluster = cg::this_cluster();
    if (threadIdx.x == 0) flag = 0;
    cluster.sync();
    if (threadIdx.x == 0 && cluster.block_rank() == 1) {
        *cluster.map_shared_rank((int*)&value, 0) = 42;
        __threadfence();
        *cluster.map_shared_rank((int*)&flag, 0) = 1;
    }
    if (threadIdx.x == 0 && cluster.block_rank() == 0) { while (!flag) {} *y = value; }
    cluster.sync();
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) late(int* y)
{
    __shared__ volatile int box;
    auto cluster = cg::this_cluster();
    if (threadIdx.x == 0) box = 0;
    cluster.sync();
    if (cluster.block_rank() == 0 && threadIdx.x == 3) while (box < 1000) box = box + 1;
    cluster.sync();
    if (cluster.block_rank() == 1) y[threadIdx.x] = *cluster.map_shared_rank((int*)&box, 0);
    cluster.sync();
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) pointers(int* y)
{
    __shared__ int value; __shared__ int* other;
    auto cluster = cg::this_cluster();
    cluster.sync();
    if (threadIdx.x == 0) {
        value = 7 + cluster.block_rank();
        *cluster.map_shared_rank(&other, 1 - cluster.block_rank()) = &value;
    }
    cluster.sync();
    if (threadIdx.x == 0) y[cluster.block_rank()] = *other;
    cluster.sync();
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) grids(int* y)
{
    __shared__ int box;
    auto cluster = cg::this_cluster();
    box = blockIdx.x;
    cg::this_grid().sync();
    y[blockIdx.x] = *cluster.map_shared_rank(&box, 1 - cluster.block_rank());
    cg::this_grid().sync();
    y[gridDim.x + blockIdx.x] = y[(blockIdx.x + 2) % gridDim.x];
    cluster.sync();
}

__device__ void meet(unsigned gate, int phase)
{
    asm volatile("{.reg .pred p; WAIT: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], %1;"
                 "@!p bra WAIT;}" :: "r"(gate), "r"(phase) : "memory");
}
extern "C" __global__ void __cluster_dims__(2, 1, 1) sent(const int* x, int* y)
{
    __shared__ alignas(16) int box[64], whole[64]; __shared__ int turned[64], sum; __shared__ unsigned long long gate;
    auto cluster = cg::this_cluster();
    int t = threadIdx.x, own = cluster.block_rank();
    auto far = [=](void* p) {
        unsigned there;
        asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(where(p)), "r"(1 - own));
        return there;
    };
    box[t] = x[64 * blockIdx.x + t];
    if (t == 0) {
        sum = 0;
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 64;" :: "r"(where(&gate)));
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], 768;" :: "r"(where(&gate)));
    }
    cluster.sync();
    // A phase ends with 64 arrivals of the other block and 64 words stored, 64 words added, 256 bytes copied by it.
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];"
                 :: "r"(far(&turned[63 - t])), "r"(100 + box[t]), "r"(far(&gate)) : "memory");
    asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1, [%2];"
                 :: "r"(far(&sum)), "r"(box[t]), "r"(far(&gate)) : "memory");
    if (t == 0)
        asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];"
                     :: "r"(far(whole)), "r"(where(box)), "r"(far(&gate)) : "memory");
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" :: "r"(far(&gate)) : "memory");
    meet(where(&gate), 0);
    int* to = y + 192 * blockIdx.x;
    to[t] = turned[t]; to[64 + t] = sum; to[128 + t] = whole[t];
    cluster.sync();
}

extern "C" __global__ void __cluster_dims__(4, 1, 1) multicast(const int* x, int* y, int mask)
{
    __shared__ alignas(16) int beside[16], box[64]; __shared__ unsigned long long gate;
    auto cluster = cg::this_cluster();
    int t = threadIdx.x, own = cluster.block_rank();
    box[t] = -1; beside[t % 16] = t;
    if (t == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(where(&gate)));
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(where(&gate)), "r"(256));
    }
    cluster.sync();
    if (t == 0 && own == 1)
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
                     " [%0], [%1], 256, [%2], %3;"
                     :: "r"(where(box)), "l"(x), "r"(where(&gate)), "h"((short)mask) : "memory");
    if (mask >> own & 1) meet(where(&gate), 0);
    cluster.sync();
    y[64 * own + t] = box[t] + beside[t % 16] % 16 - t % 16;
}
extern "C" __global__ void __cluster_dims__(2, 1, 1) wide_groups(const int* x, int* y)
{
    auto cluster = cg::this_cluster();
    auto tile = cg::tiled_partition<64>(cg::this_thread_block());
    int sum = cg::reduce(tile, x[cluster.thread_rank()], cg::plus<int>());
    if (tile.thread_rank() == 0) y[cluster.block_rank() * tile.meta_group_size() + tile.meta_group_rank()] = sum;
    cluster.sync();
    if (cluster.block_rank() == 0) return;
    sum = cg::reduce(tile, sum, cg::plus<int>());
    if (tile.thread_rank() == 0) y[2 + tile.meta_group_rank()] = sum;
}
extern "C" __global__ void __cluster_dims__(1, 1, 1) alone(int* y)
{
    __shared__ int box;
    auto cluster = cg::this_cluster();
    box = 5;
    cluster.sync();
    y[blockIdx.x] = *cluster.map_shared_rank(&box, 0) + 10 * cluster.num_blocks() + 100 * __clusterDimIsSpecified();
}
extern "C" __global__ void plain(int* y)
{
    __shared__ int box;
    box = threadIdx.x;
    cg::this_cluster().sync();
    y[blockIdx.x] = box + 100 * cg::this_cluster().num_blocks();
}
extern "C" __global__ void __cluster_dims__(16, 1, 1) wide(int* y) { y[blockIdx.x] = 1; }

// --- what can go wrong
extern "C" __global__ void __cluster_dims__(4, 1, 1) wrong(int* y, int how)
{
    __shared__ int box[32];
    auto cluster = cg::this_cluster();
    int t = threadIdx.x, rank = cluster.block_rank();
    box[t] = t;
    if (how == 9 && rank == 2) return;
    if (how != 8) cluster.sync();
    if (how == 0 && rank == 1 && t == 3) y[0] = cluster.map_shared_rank(box, 2)[32 + t];
    if (how == 1 && rank == 1 && t == 3) y[0] = cluster.map_shared_rank(box, 2)[-1];
    if (how == 2 && rank == 3 && t == 0) y[0] = *cluster.map_shared_rank(box, 4);
    if (how == 3 && rank == 3 && t == 0) y[0] = *cluster.map_shared_rank(box, 1000000);
    if (how == 4 && rank == 1 && t == 5)
        asm volatile("st.shared.u32 [%0], 1;" :: "r"(where(box) + ((2 - rank) << 26)));
    if (how == 5 && rank == 1 && t == 5)
        asm volatile("ld.shared::cluster.v2.u32 {%0, %0}, [%1];" : "=r"(y[0]) : "r"(where(box) + (1 << 26) + 4));
    if (how == 6) { if (t < 7 || rank != 2) cluster.sync(); else asm volatile("bar.sync 3, 64;" ::: "memory"); }
    if (how == 7 && rank == 1 && t == 9) asm volatile("barrier.cluster.wait;" ::: "memory");
    if (how == 8 && rank == 0 && t == 9) y[0] = *cluster.map_shared_rank(box, 3);
    if (how == 9 && rank == 3 && t == 9) y[0] = *cluster.map_shared_rank(box, 2);
    if (how == 10 && rank == 1 && t == 9) {
        asm volatile("barrier.cluster.arrive;" ::: "memory");
        asm volatile("barrier.cluster.arrive;" ::: "memory");
    }
    if (how == 11 && rank == 1 && t == 4) box[t - 5] = 1;
    cluster.sync();
}
"""
KERNELS = (
    "ring", "histogram", "numbers", "spaces", "halves", "uneven", "flags", "late", "pointers", "grids", "sent",
    "multicast", "wide_groups", "alone", "plain", "wide", "wrong",
)  # fmt: skip


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Running:
    return Running(tmp_path_factory.mktemp("clusters"), SOURCE, *KERNELS)


def test_words_go_round_a_cluster(program: Running) -> None:
    words = np.random.default_rng(1).integers(0, 1 << 30, (3, 4, 64)).astype(np.int32)
    out = program.put("y", np.zeros(words.size, np.int32))
    program.launch("ring", 12, 64, program.put("x", words), out, np.int32(3))
    assert ints(out) == np.roll(words, -3, axis=1)[:, :, ::-1].ravel().tolist()


@pytest.mark.parametrize("order", ["", "reversed", "random:3"])
def test_a_histogram_in_the_shared_memory_of_two_blocks(
    program: Running, order: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUREGRESS_CPU_BLOCK_ORDER", order)
    words = np.random.default_rng(2).integers(0, 1 << 32, 5000, np.uint32)
    counts = program.put("counts", np.zeros(32, np.int32))
    program.launch("histogram", 6, 96, program.put("x", words), counts, np.int32(5000), shared=64)
    assert ints(counts) == np.bincount(words % 32, minlength=32).tolist()


def test_a_block_knows_where_it_is(program: Running) -> None:
    grid = (6, 4, 2)
    out = program.put("y", np.zeros(16 * 48, np.int32))
    program.launch("numbers", grid, 1, out)
    actual = np.array(ints(out)).reshape(2, 4, 6, 16)
    z, y, x = np.indices((2, 4, 6))
    wanted = [x % 2, y % 2, z % 2, 2, 2, 2, x // 2, y // 2, z // 2, 3, 2, 1, x % 2 + 2 * (y % 2) + 4 * (z % 2), 8, 1]
    for position, values in enumerate(wanted):
        assert (actual[..., position] == values).all(), position


def test_addresses_say_whose_memory_they_are_in(program: Running) -> None:
    out = program.put("y", np.zeros(32, np.int32))
    program.launch("spaces", 4, 32, out)
    for rank, row in enumerate(np.array(ints(out)).reshape(4, 8)):
        assert row[:7].tolist() == [rank ^ 1, rank ^ 1, rank, 1, 1, 0, 1]


def test_arriving_and_waiting_apart(program: Running) -> None:
    out = program.put("y", np.zeros(8, np.int32))
    program.launch("halves", 4, 32, out)
    assert ints(out) == [0, 11, 1, 10, 2, 11, 3, 10]


def test_threads_that_have_exited_are_not_waited_for(program: Running) -> None:
    out = program.put("y", np.zeros(1, np.int32))
    program.launch("uneven", 2, 64, out)
    assert ints(out) == [72]


def test_a_block_may_spin_on_what_another_writes_into_its_memory(program: Running) -> None:
    out = program.put("y", np.zeros(1, np.int32))
    program.launch("flags", 2, 32, out)
    assert ints(out) == [42]


def test_a_block_waits_for_one_that_takes_long(program: Running) -> None:
    out = program.put("y", np.zeros(32, np.int32))
    program.launch("late", 2, 32, out)
    assert ints(out) == [1000] * 32


def test_a_generic_address_of_own_memory_is_good_in_the_other_blocks(program: Running) -> None:
    out = program.put("y", np.zeros(2, np.int32))
    program.launch("pointers", 2, 32, out)
    assert ints(out) == [8, 7]


def test_clusters_in_a_grid_that_waits_for_itself(program: Running) -> None:
    out = program.put("y", np.zeros(12, np.int32))
    program.launch("grids", 6, 1, out)
    assert ints(out) == [1, 0, 3, 2, 5, 4, 3, 2, 5, 4, 1, 0]


def test_what_is_sent_to_another_block_and_told_to_its_barrier_object(program: Running) -> None:
    words = np.random.default_rng(4).integers(0, 1 << 20, (2, 64)).astype(np.int32)
    out = program.put("y", np.zeros(384, np.int32))
    program.launch("sent", 2, 64, program.put("x", words), out)
    stored, added, copied = np.array(ints(out)).reshape(2, 3, 64).swapaxes(0, 1)
    other = words[::-1]
    assert (stored == 100 + other[:, ::-1]).all()
    assert (added == other.sum(1)[:, None]).all()
    assert (copied == other).all()


@pytest.mark.parametrize("mask", [0b1111, 0b1011, 0b0010])
def test_one_copy_into_several_blocks(program: Running, mask: int) -> None:
    words = np.arange(100, 164, dtype=np.int32)
    out = program.put("y", np.zeros(256, np.int32))
    program.launch("multicast", 4, 64, program.put("x", words), out, np.int32(mask))
    for rank, actual in enumerate(np.array(ints(out)).reshape(4, 64)):
        assert (actual == (words if mask >> rank & 1 else -1)).all()
    with pytest.raises(KernelFault, match="of block rank 5: the cluster has 4 blocks"):
        program.launch("multicast", 4, 64, program.put("x", words), out, np.int32(mask | 32))


def test_groups_of_several_warps_meet_in_the_block_s_own_memory(program: Running) -> None:
    words = np.arange(256, dtype=np.int32)
    out = program.put("y", np.zeros(4, np.int32))
    program.launch("wide_groups", 2, 128, program.put("x", words), out)
    first, second, third, fourth = words.reshape(4, 64).sum(1).tolist()
    assert ints(out) == [first, second, 64 * third, 64 * fourth]


def test_clusters_of_one_block_beside_larger_ones(program: Running) -> None:
    out = program.put("y", np.zeros(3, np.int32))
    program.launch("alone", 3, 1, out)
    assert ints(out) == [115] * 3
    program.launch("plain", 3, 8, out)
    assert ints(out) == [100] * 3  # the lowest lane stays


# --- what is refused, and what is found -------------------------------------------------------------------------------


def test_a_grid_that_is_no_multiple_of_the_cluster_is_refused(program: Running) -> None:
    out = program.put("y", np.zeros(1, np.int32))
    with pytest.raises(DeviceError, match=r"grid 5 × 1 × 1 has 5 blocks along x; its clusters have 2 × 1 × 1"):  # noqa: RUF001
        program.launch("flags", 5, 32, out)
    with pytest.raises(DeviceError, match=r"grid 2 × 3 × 2 has 3 blocks along y"):  # noqa: RUF001
        program.launch("numbers", (2, 3, 2), 32, out)


def test_a_cluster_over_the_portable_size_is_refused(program: Running) -> None:
    with pytest.raises(DeviceError, match=r"clusters of 16 × 1 × 1 have 16 blocks; at most 8"):  # noqa: RUF001
        program.launch("wide", 16, 32, program.put("y", np.zeros(16, np.int32)))


def test_a_cluster_whose_size_only_a_launch_could_say_is_refused(tmp_path: Path) -> None:
    text = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 y)
.explicitcluster
{
  ret;
}
"""
    with pytest.raises(UnsupportedError, match="k takes the size of its clusters from the launch"):
        Running(tmp_path, text, "k")


_OUT = "out-of-bounds"


@pytest.mark.parametrize(
    ("how", "kind", "message"),
    [
        (0, _OUT, r"read of 4 bytes at box\[35\] of block rank 2 \(box has 32\), thread \(3,0,0\) of block \(1,0,0\)"),
        (1, _OUT, r"read of 4 bytes at box\[-1\] of block rank 2 \(box has 32\)"),
        (2, _OUT, r"at box\[0\] of block rank 4: the cluster has 4 blocks, thread \(0,0,0\) of block \(3,0,0\)"),
        (3, _OUT, r"at box\[0\] of block rank 63: the cluster has 4 blocks"),
        (4, _OUT, r"write of 4 bytes at box\[0\] of block rank 2 \(box has 32; only \.shared::cluster reaches it\)"),
        (5, "misaligned", r"misaligned read of 8 bytes at box\[1\] of block rank 2"),
        (6, "deadlock", r"3 blocks, \(0,0,0\) to \(1,0,0\), \(3,0,0\): threads 0-31 .*block \(2,0,0\): threads 7-31"),
        (7, "illegal-instruction", r"barrier\.cluster\.wait by a thread that has not arrived .*thread \(9,0,0\)"),
        (8, "illegal-access", r"at box\[0\] of block rank 3, which has not begun"),
        (9, "illegal-access", r"at box\[0\] of block rank 2, which has exited"),
        (10, "illegal-instruction", r"barrier\.cluster\.arrive by a thread that has arrived already"),
        (11, _OUT, r"write of 4 bytes at box\[-1\] \(box has 32\), thread \(4,0,0\) of block \(1,0,0\)"),
    ],
)  # fmt: skip
def test_faults_name_the_block(program: Running, how: int, kind: str, message: str) -> None:
    out = program.put("y", np.zeros(4, np.int32))
    with pytest.raises(KernelFault, match=message) as caught:
        program.launch("wrong", 4, 32, out, np.int32(how))
    assert caught.value.kind == kind
    assert "k.cu:" in str(caught.value)


def test_nothing_is_wrong_where_nothing_is_done(program: Running) -> None:
    program.launch("wrong", 4, 32, program.put("y", np.zeros(4, np.int32)), np.int32(-1))

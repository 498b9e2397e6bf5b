// Thread block clusters. All run with: grid 8, block 128
// Only for: sm_90
#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "values.cuh"

namespace cg = cooperative_groups;

__device__ inline unsigned where(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ inline unsigned mapped(const void* p, unsigned rank)
{
    unsigned there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(where(p)), "r"(rank));
    return there;
}

#define READ(to, name) asm volatile("mov.u32 %0, %%" name ";" : "=r"(to))

__device__ void registers(unsigned* y)
{
    READ(y[0], "cluster_ctaid.x"); READ(y[1], "cluster_ctaid.y"); READ(y[2], "cluster_ctaid.z");
    READ(y[3], "cluster_nctaid.x"); READ(y[4], "cluster_nctaid.y"); READ(y[5], "cluster_nctaid.z");
    READ(y[6], "clusterid.x"); READ(y[7], "clusterid.y"); READ(y[8], "clusterid.z");
    READ(y[9], "nclusterid.x"); READ(y[10], "nclusterid.y"); READ(y[11], "nclusterid.z");
    READ(y[12], "cluster_ctarank"); READ(y[13], "cluster_nctarank");
    asm volatile("{.reg .pred p; mov.pred p, %%is_explicit_cluster; selp.u32 %0, 1, 0, p;}" : "=r"(y[14]));
    READ(y[15], "ctaid.x");
}

__device__ inline int block_of_grid() { return blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z); }

// grid 8 2 2, block 32
extern "C" __global__ void __cluster_dims__(2, 2, 2) numbers(const unsigned* x, unsigned* y)
{
    if (threadIdx.x == 0) registers(y + 16 * block_of_grid());
}

// grid 9, block 32
extern "C" __global__ void __cluster_dims__(3, 1, 1) numbers_of_three(const unsigned* x, unsigned* y)
{
    if (threadIdx.x == 0) registers(y + 16 * block_of_grid());
}

// grid 2 6, block 32
extern "C" __global__ void __cluster_dims__(1, 1, 1) numbers_of_one(const unsigned* x, unsigned* y)
{
    if (threadIdx.x == 0) registers(y + 16 * block_of_grid());
}

// grid 3 2 2, block 32
extern "C" __global__ void numbers_of_none(const unsigned* x, unsigned* y)
{
    if (threadIdx.x == 0) registers(y + 16 * block_of_grid());
}

// grid 4 4, block 8 4
extern "C" __global__ void __cluster_dims__(2, 2, 1) groups(const unsigned* x, unsigned* y)
{
    auto cluster = cg::this_cluster();
    unsigned* to = y + 16 * (cluster.num_threads() * (__clusterIdx().x + 2 * __clusterIdx().y) + cluster.thread_rank());
    dim3 block = cluster.block_index(), thread = cluster.thread_index(), blocks = cluster.dim_blocks();
    dim3 threads = cluster.dim_threads(), grid = __clusterGridDimInClusters();
    to[0] = block.x << 8 | block.y; to[1] = thread.x << 8 | thread.y; to[2] = blocks.x << 8 | blocks.y;
    to[3] = threads.x << 8 | threads.y; to[4] = grid.x << 8 | grid.y; to[5] = cluster.block_rank();
    to[6] = cluster.num_blocks(); to[7] = cluster.thread_rank(); to[8] = __clusterRelativeBlockRank();
    to[9] = __clusterSizeInBlocks(); to[10] = __clusterDimIsSpecified();
}

extern "C" __global__ void __cluster_dims__(4, 1, 1) ring(const unsigned* x, unsigned* y)
{
    __shared__ unsigned box[128];
    auto cluster = cg::this_cluster();
    unsigned kept = x[thread_of_grid()], next = (cluster.block_rank() + 1) % cluster.num_blocks();
    for (int round = 0; round < 5; ++round) {
        box[threadIdx.x] = kept + round;
        cluster.sync();
        kept ^= cluster.map_shared_rank(box, next)[127 - threadIdx.x];
        cluster.sync();
    }
    y[thread_of_grid()] = kept;
}

extern "C" __global__ void __cluster_dims__(8, 1, 1) histogram(const unsigned* x, unsigned* y)
{
    __shared__ unsigned bins[32];                               // of 256
    auto cluster = cg::this_cluster();
    if (threadIdx.x < 32) bins[threadIdx.x] = 0;
    cluster.sync();
    for (int i = thread_of_grid(); i < 8192; i += threads_of_grid())
        atomicAdd(cluster.map_shared_rank(bins, x[i] % 256 / 32) + x[i] % 32, 1);
    cluster.sync();
    if (threadIdx.x < 32) y[32 * cluster.block_rank() + threadIdx.x] = bins[threadIdx.x];
}

// grid 8, block 128, shared 2048
extern "C" __global__ void __cluster_dims__(2, 1, 1) sum(const unsigned* x, unsigned* y)
{
    extern __shared__ float parts[];
    auto cluster = cg::this_cluster();
    int t = threadIdx.x;
    parts[t] = single_of(x[thread_of_grid()], 0);
    for (int step = 64; step > 0; step /= 2) {
        cluster.sync();
        if (t < step) parts[t] += cluster.map_shared_rank(parts, 1 - cluster.block_rank())[t + step];
    }
    cluster.sync();
    if (t < 4) y[4 * blockIdx.x + t] = __float_as_uint(parts[t]);
}

extern "C" __global__ void __cluster_dims__(4, 1, 1) sort(const unsigned* x, unsigned* y)
{
    __shared__ unsigned keys[128];
    auto cluster = cg::this_cluster();
    unsigned i = cluster.thread_rank();
    keys[threadIdx.x] = x[thread_of_grid()];
    for (unsigned size = 2; size <= 512; size *= 2)
        for (unsigned step = size / 2; step > 0; step /= 2) {
            cluster.sync();
            unsigned own = keys[threadIdx.x], other = cluster.map_shared_rank(keys, (i ^ step) / 128)[(i ^ step) % 128];
            bool small = !(i & step) == !(i & size);
            cluster.sync();
            keys[threadIdx.x] = small ? min(own, other) : max(own, other);
        }
    y[thread_of_grid()] = keys[threadIdx.x];
}

extern "C" __global__ void __cluster_dims__(4, 1, 1) spaces(const unsigned* x, unsigned* y)
{
    __shared__ unsigned box[4];
    auto cluster = cg::this_cluster();
    unsigned own = cluster.block_rank(), other = (own + threadIdx.x) % 4;
    unsigned *far = cluster.map_shared_rank(box, other), *to = y + 8 * thread_of_grid();
    unsigned near = mapped(box, other), rank, in_own, in_cluster, in_global;
    asm volatile("getctarank.shared::cluster.u32 %0, %1;" : "=r"(rank) : "r"(near));
    to[0] = rank;
    asm volatile("getctarank.u64 %0, %1;" : "=r"(rank) : "l"(far));
    to[1] = rank;
    to[2] = cluster.query_shared_rank(box);
    asm volatile("{.reg .pred p; isspacep.shared::cta p, %1; selp.u32 %0, 1, 0, p;}" : "=r"(in_own) : "l"(box));
    asm volatile("{.reg .pred p; isspacep.shared::cluster p, %1; selp.u32 %0, 1, 0, p;}" : "=r"(in_cluster) : "l"(far));
    asm volatile("{.reg .pred p; isspacep.global p, %1; selp.u32 %0, 1, 0, p;}" : "=r"(in_global) : "l"(far));
    to[3] = in_own; to[4] = in_cluster; to[5] = in_global;
    if (other != own) asm volatile("{.reg .pred p; isspacep.shared::cta p, %1; selp.u32 %0, 1, 0, p;}" : "=r"(to[6]) : "l"(far));
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) halves(const unsigned* x, unsigned* y)
{
    __shared__ unsigned box[128];
    auto cluster = cg::this_cluster();
    unsigned i = thread_of_grid();
    box[threadIdx.x] = x[i];
    asm volatile("barrier.cluster.arrive.release;" ::: "memory");
    y[4 * i] = x[i + 1024];
    asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
    y[4 * i + 1] = cluster.map_shared_rank(box, 1 - cluster.block_rank())[threadIdx.x ^ 1];
    auto token = cluster.barrier_arrive();
    y[4 * i + 2] = x[i + 2048];
    cluster.barrier_wait(std::move(token));
    box[threadIdx.x] = ~x[i];
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
    cluster.sync();
    y[4 * i + 3] = cluster.map_shared_rank(box, 1 - cluster.block_rank())[127 - threadIdx.x];
    cluster.sync();
}

/// Pairs of 16-bit floats added to another block's shared memory, each by one thread.
extern "C" __global__ void __cluster_dims__(2, 1, 1) packed(const unsigned* x, unsigned* y)
{
    __shared__ unsigned halves[128], brains[128];
    auto cluster = cg::this_cluster();
    unsigned i = thread_of_grid(), t = threadIdx.x;
    halves[t] = x[i] & 0xbbffbbff;
    brains[t] = x[i + 1024] & 0xbfffbfff;
    cluster.sync();
    unsigned other = 1 - cluster.block_rank(), add = x[i + 2048] & 0xbbffbbff, brain = x[i + 3072] & 0xbfffbfff;
    __half2 old = atomicAdd(reinterpret_cast<__half2*>(cluster.map_shared_rank(halves, other) + t),
                            *reinterpret_cast<__half2*>(&add));
    __nv_bfloat162 before = atomicAdd(reinterpret_cast<__nv_bfloat162*>(cluster.map_shared_rank(brains, other) + t),
                                      *reinterpret_cast<__nv_bfloat162*>(&brain));
    cluster.sync();
    y[4 * i] = *reinterpret_cast<unsigned*>(&old);
    y[4 * i + 1] = halves[t];
    y[4 * i + 2] = *reinterpret_cast<unsigned*>(&before);
    y[4 * i + 3] = brains[t];
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) leavers(const unsigned* x, unsigned* y)
{
    __shared__ unsigned total;
    auto cluster = cg::this_cluster();
    if (threadIdx.x == 0) total = 0;
    cluster.sync();
    if (cluster.block_rank() == 1 && threadIdx.x >= 32) return;
    atomicAdd(cluster.map_shared_rank(&total, 0), x[thread_of_grid()]);
    cluster.sync();
    if (cluster.block_rank() == 0) y[blockIdx.x / 2] = total;
}

extern "C" __global__ void __cluster_dims__(4, 1, 1) atomics(const unsigned* x, unsigned* y)
{
    __shared__ unsigned cells[8];
    __shared__ unsigned long long wide[2];
    auto cluster = cg::this_cluster();
    unsigned word = x[thread_of_grid()], rank = word % 4;
    if (threadIdx.x < 8) cells[threadIdx.x] = threadIdx.x == 1 || threadIdx.x == 3 ? ~0u : 0;
    if (threadIdx.x < 2) wide[threadIdx.x] = 0;
    cluster.sync();
    unsigned* far = cluster.map_shared_rank(cells, rank);
    atomicAdd(far, word); atomicMin(far + 1, word); atomicMax(far + 2, word); atomicAnd(far + 3, word | 0xffff0000);
    atomicOr(far + 4, 1 << word % 31); atomicXor(far + 5, word); atomicInc(far + 6, 12);
    asm volatile("red.relaxed.cluster.shared::cluster.add.u32 [%0], %1;" :: "r"(mapped(cells + 7, rank)), "r"(word));
    atomicAdd(cluster.map_shared_rank(wide, rank), (unsigned long long)word << 20);
    unsigned long long* last = cluster.map_shared_rank(wide + 1, rank);
    for (unsigned long long old = *(volatile unsigned long long*)last, seen; ; old = seen) {
        seen = atomicCAS(last, old, old + word);
        if (seen == old) break;
    }
    cluster.sync();
    if (threadIdx.x < 8) y[12 * blockIdx.x + threadIdx.x] = cells[threadIdx.x];
    if (threadIdx.x < 2) put(y, 6 * blockIdx.x + 4 + threadIdx.x, wide[threadIdx.x]);
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) accesses(const unsigned* x, unsigned* y)
{
    __shared__ alignas(16) unsigned box[4 * 128];
    __shared__ unsigned char bytes[128];
    __shared__ double doubles[128];
    auto cluster = cg::this_cluster();
    unsigned i = thread_of_grid(), t = threadIdx.x, other = 1 - cluster.block_rank();
    cluster.sync();
    asm volatile("st.shared::cluster.v4.u32 [%0], {%1, %2, %3, %4};" :: "r"(mapped(box + 4 * t, other)),
                 "r"(x[i]), "r"(x[i + 1024]), "r"(x[i + 2048]), "r"(x[i + 3072]) : "memory");
    asm volatile("st.relaxed.cluster.shared::cluster.u8 [%0], %1;" :: "r"(mapped(bytes + t, other)), "r"(x[i]) : "memory");
    *cluster.map_shared_rank(doubles + t, other) = double_of(x[i], x[i + 1024], t);
    cluster.sync();
    unsigned byte, a, b;
    asm volatile("ld.shared::cluster.s8 %0, [%1];" : "=r"(byte) : "r"(mapped(bytes + (t ^ 5), other)));
    asm volatile("ld.shared::cluster.v2.u32 {%0, %1}, [%2+8];" : "=r"(a), "=r"(b) : "r"(mapped(box + 4 * t, other)));
    unsigned* to = y + 12 * i;
    to[0] = box[4 * t]; to[1] = box[4 * t + 1]; to[2] = bytes[t]; to[3] = byte; to[4] = a; to[5] = b;
    put(to, 3, (unsigned long long)__double_as_longlong(doubles[t]));
    put(to, 4, (unsigned long long)__double_as_longlong(cluster.map_shared_rank(doubles, other)[127 - t]));
    asm volatile("ld.acquire.cluster.shared::cluster.u32 %0, [%1];" : "=r"(to[10]) : "r"(mapped(box + 4 * t + 3, other)));
    cluster.sync();
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) pointers(const unsigned* x, unsigned* y)
{
    __shared__ unsigned box[128];
    __shared__ unsigned* list[128];
    auto cluster = cg::this_cluster();
    unsigned i = thread_of_grid(), t = threadIdx.x, own = cluster.block_rank();
    box[t] = x[i];
    cluster.sync();
    // A mapped pointer to the own memory, left where the other block finds it.
    cluster.map_shared_rank(list, 1 - own)[t] = cluster.map_shared_rank(box + (t * 7 & 127), own);
    cluster.sync();
    y[i] = *list[t];
    cluster.sync();
}

__device__ inline void meet(unsigned gate, int phase)
{
    asm volatile("{.reg .pred p; WAIT: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], %1;"
                 "@!p bra WAIT;}" :: "r"(gate), "r"(phase) : "memory");
}

__device__ inline void open(unsigned gate, int arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(gate), "r"(arrivals) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) remote_arrivals(const unsigned* x, unsigned* y)
{
    __shared__ unsigned box[128];
    __shared__ unsigned long long gate;
    auto cluster = cg::this_cluster();
    unsigned i = thread_of_grid(), t = threadIdx.x, other = 1 - cluster.block_rank(), kept = x[i];
    if (t == 0) open(where(&gate), 128);
    cluster.sync();
    for (int round = 0; round < 4; ++round) {
        cluster.map_shared_rank(box, other)[127 - t] = kept + round;
        asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" :: "r"(mapped(&gate, other)) : "memory");
        meet(where(&gate), round & 1);
        kept ^= box[t];
        cluster.sync();
    }
    y[i] = kept;
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) sent(const unsigned* x, unsigned* y)
{
    __shared__ alignas(16) unsigned box[128], whole[128], quads[512];
    __shared__ unsigned turned[128], total, least;
    __shared__ unsigned long long gate;
    auto cluster = cg::this_cluster();
    unsigned i = thread_of_grid(), t = threadIdx.x, other = 1 - cluster.block_rank();
    box[t] = x[i];
    if (t == 0) {
        total = 0; least = ~0u;
        open(where(&gate), 1);
        // 4 bytes stored and twice 4 added by each thread, 16 more stored, and 512 copied.
        asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;"
                     :: "r"(where(&gate)), "r"(128 * 28 + 512) : "memory");
    }
    cluster.sync();
    unsigned far = mapped(&gate, other);
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];"
                 :: "r"(mapped(turned + 127 - t, other)), "r"(x[i] + 1), "r"(far) : "memory");
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %1, %2}, [%3];"
                 :: "r"(mapped(quads + 4 * t, other)), "r"(x[i]), "r"(x[i + 1024]), "r"(far) : "memory");
    asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1, [%2];"
                 :: "r"(mapped(&total, other)), "r"(x[i]), "r"(far) : "memory");
    asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.min.u32 [%0], %1, [%2];"
                 :: "r"(mapped(&least, other)), "r"(x[i]), "r"(far) : "memory");
    if (t == 0) {
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], 512, [%2];"
                     :: "r"(mapped(whole, other)), "r"(where(box)), "r"(far) : "memory");
    }
    meet(where(&gate), 0);
    unsigned* to = y + 6 * i;
    to[0] = turned[t]; to[1] = whole[t]; to[2] = quads[4 * t]; to[3] = quads[4 * t + 3]; to[4] = total; to[5] = least;
    cluster.sync();
}

extern "C" __global__ void __cluster_dims__(4, 1, 1) multicast(const unsigned* x, unsigned* y)
{
    __shared__ alignas(16) unsigned box[128];
    __shared__ unsigned long long gate;
    auto cluster = cg::this_cluster();
    unsigned t = threadIdx.x, own = cluster.block_rank(), mask = 0b1101;
    box[t] = 0;
    if (t == 0) {
        open(where(&gate), 1);
        asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], 512;" :: "r"(where(&gate)) : "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    cluster.sync();
    if (t == 0 && own == 1)
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
                     " [%0], [%1], 512, [%2], %3;"
                     :: "r"(where(box)), "l"(x + 128 * blockIdx.x), "r"(where(&gate)), "h"((short)mask) : "memory");
    if (mask >> own & 1) meet(where(&gate), 0);
    cluster.sync();
    y[thread_of_grid()] = box[t];
}

// Shared memory of other blocks of a cluster.
#include "planted.cuh"

#define CLUSTER_ARRIVE asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory")
#define CLUSTER_ARRIVE_RELAXED asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory")
#define CLUSTER_WAIT asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory")
#define CLUSTER_SYNC CLUSTER_ARRIVE; CLUSTER_WAIT
#define RANK_OF(p, rank)                                                                                               \
    [](const void* here, unsigned block) {                                                                             \
        unsigned there;                                                                                                \
        asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(SHARED(here)), "r"(block));           \
        return there;                                                                                                  \
    }(p, rank)
#define REMOTE_LOAD(to, there) asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(to) : "r"(there) : "memory")
#define REMOTE_STORE(there, v) asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(there), "r"(v) : "memory")
#define REMOTE_ARRIVE(there)                                                                                           \
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(there) : "memory")
#define REMOTE_ADD(there, v) asm volatile("red.relaxed.cluster.shared::cluster.add.u32 [%0], %1;" ::"r"(there), "r"(v) : "memory")

/// A neighbour's element is read without a barrier of the cluster.
// race or uninitialized of words; grid 4, block 32
extern "C" __global__ void __cluster_dims__(2, 1, 1) clusters_read(const int* x, int* y)
{
    __shared__ int words[32];
    int t = threadIdx.x, v = 0;
    unsigned other = RANK_OF(&words[31 - t], ~blockIdx.x & 1);
    CLUSTER_SYNC;
    words[t] = x[t]; // first
    EITHER(__syncthreads(), CLUSTER_SYNC);
    REMOTE_LOAD(v, other); // second
    CLUSTER_SYNC;
    y[32 * blockIdx.x + t] = v;
}

/// A neighbour's element is written, and read there behind a barrier of the block only.
// race or uninitialized of words; grid 4, block 32
extern "C" __global__ void __cluster_dims__(2, 1, 1) clusters_write(const int* x, int* y)
{
    __shared__ int words[32];
    int t = threadIdx.x;
    unsigned other = RANK_OF(&words[31 - t], ~blockIdx.x & 1);
    CLUSTER_SYNC;
    REMOTE_STORE(other, x[t]); // first
    EITHER(__syncthreads(), CLUSTER_SYNC);
    y[32 * blockIdx.x + t] = words[t]; // second
    CLUSTER_SYNC;
}

/// Two blocks write the same element of one of them.
// race of words; grid 4, block 32
extern "C" __global__ void __cluster_dims__(2, 1, 1) clusters_write_write(const int* x, int* y)
{
    __shared__ int words[64];
    int t = threadIdx.x;
    words[t] = words[t + 32] = 0;
    CLUSTER_SYNC;
    unsigned first = RANK_OF(&words[t + EITHER(0, blockIdx.x % 2 * 32)], 0);
    REMOTE_STORE(first, x[t] + blockIdx.x); // first second
    CLUSTER_SYNC;
    y[32 * blockIdx.x + t] = words[t];
}

/// The cluster's barrier is entered without release.
// race or uninitialized of words; grid 4, block 32
extern "C" __global__ void __cluster_dims__(2, 1, 1) clusters_relaxed_arrival(const int* x, int* y)
{
    __shared__ int words[32];
    int t = threadIdx.x, v = 0;
    unsigned other = RANK_OF(&words[31 - t], ~blockIdx.x & 1);
    words[t] = x[t]; // first
    EITHER(CLUSTER_ARRIVE_RELAXED, CLUSTER_ARRIVE);
    CLUSTER_WAIT;
    REMOTE_LOAD(v, other); // second
    CLUSTER_SYNC;
    y[32 * blockIdx.x + t] = v;
}

/// The data is written between the arrival and the wait.
// race or uninitialized of words; grid 4, block 32
extern "C" __global__ void __cluster_dims__(2, 1, 1) clusters_behind_arrival(const int* x, int* y)
{
    __shared__ int words[32];
    int t = threadIdx.x, v = 0;
    unsigned other = RANK_OF(&words[31 - t], ~blockIdx.x & 1);
    PLANT(CLUSTER_ARRIVE;)
    words[t] = x[t]; // first
    CLEAN(CLUSTER_ARRIVE;)
    CLUSTER_WAIT;
    REMOTE_LOAD(v, other); // second
    CLUSTER_SYNC;
    y[32 * blockIdx.x + t] = v;
}

/// The next step's value is written while the neighbour reads the last one's.
// race of words; grid 4, block 32
extern "C" __global__ void __cluster_dims__(2, 1, 1) clusters_steps(const int* x, int* y)
{
    __shared__ int words[32];
    int t = threadIdx.x, v = x[t];
    unsigned other = RANK_OF(&words[31 - t], ~blockIdx.x & 1);
#pragma unroll 1
    for (int k = 0; k < 3; ++k) {
        words[t] = v + k; // second
        CLUSTER_SYNC;
        REMOTE_LOAD(v, other); // first
        if (EITHER(k != 1, true)) { CLUSTER_SYNC; }
    }
    CLUSTER_SYNC;
    y[32 * blockIdx.x + t] = v;
}

/// Atomics of two blocks, and a plain read in the block that has the memory.
// race of total; grid 2, block 32
extern "C" __global__ void __cluster_dims__(2, 1, 1) clusters_atomics(const int* x, int* y)
{
    __shared__ int total;
    int t = threadIdx.x;
    if (t == 0) total = 0;
    CLUSTER_SYNC;
    unsigned first = RANK_OF(&total, 0);
    REMOTE_ADD(first, x[t]); // first
    EITHER(__syncthreads(), CLUSTER_SYNC);
    y[32 * blockIdx.x + t] = total; // second
    CLUSTER_SYNC;
}

/// Only in clusters of which the last block has a neighbour on the other side.
// race or uninitialized of words; grid 4, block 32
extern "C" __global__ void __cluster_dims__(4, 1, 1) clusters_ring(const int* x, int* y)
{
    __shared__ int words[32];
    int t = threadIdx.x, v = 0;
    unsigned rank = blockIdx.x % 4, other = RANK_OF(&words[t], (rank + 1) % 4);
    CLEAN(words[t] = x[t] + rank;)
    PLANT(if (rank != 0) words[t] = x[t] + rank;)
    CLUSTER_SYNC;
    PLANT(if (rank == 0) words[t] = x[t] + rank;) // first
    REMOTE_LOAD(v, other); // second
    CLUSTER_SYNC;
    y[32 * rank + t] = v;
}

/// A block's memory is read before that block has begun.
// illegal-access of words; grid 4, block 32
extern "C" __global__ void __cluster_dims__(2, 1, 1) clusters_not_begun(const int* x, int* y)
{
    __shared__ int words[32];
    int t = threadIdx.x, v = 0;
    unsigned other = RANK_OF(&words[t], ~blockIdx.x & 1);
    words[t] = x[t];
    CLEAN(CLUSTER_SYNC;)
    REMOTE_LOAD(v, other); // first
    CLUSTER_SYNC;
    y[32 * blockIdx.x + t] = v;
}

/// A block's memory is read after that block may have ended.
// race or illegal-access of words (ended block); grid 4, block 32
extern "C" __global__ void __cluster_dims__(2, 1, 1) clusters_ended(const int* x, int* y)
{
    __shared__ int words[32];
    int t = threadIdx.x, v = 0;
    unsigned other = RANK_OF(&words[t], ~blockIdx.x & 1);
    words[t] = x[t];
    CLUSTER_SYNC;
    REMOTE_LOAD(v, other); // first second
    CLEAN(CLUSTER_SYNC;)
    y[32 * blockIdx.x + t] = v;
}

/// The block whose memory is written arrives at the last barrier, and does not wait there.
// race of words; grid 4, block 32
extern "C" __global__ void __cluster_dims__(2, 1, 1) clusters_end_without_wait(const int* x, int* y)
{
    __shared__ int words[32];
    int t = threadIdx.x;
    unsigned last = RANK_OF(&words[t], 1);
    words[t] = x[t];
    CLUSTER_SYNC;
    if (blockIdx.x % 2 == 0) REMOTE_STORE(last, t); // first second
    CLUSTER_ARRIVE;
    if (EITHER(blockIdx.x % 2 == 0, true)) CLUSTER_WAIT;
    y[32 * blockIdx.x + t] = t;
}

/// The reader arrives at an mbarrier of the block that it reads, which ends without a wait for that.
// race of words; grid 4, block 32
extern "C" __global__ void __cluster_dims__(2, 1, 1) clusters_end_before_arrival(const int* x, int* y)
{
    __shared__ int words[32];
    __shared__ __align__(8) unsigned long long done;
    int t = threadIdx.x, v = 0, rank = blockIdx.x % 2;
    if (t == 0) MB_INIT(&done, 32);
    unsigned last = RANK_OF(&words[31 - t], 1), signal = RANK_OF(&done, 1);
    words[t] = x[t];
    CLUSTER_SYNC;
    if (rank == 0) {
        REMOTE_LOAD(v, last); // first second
        REMOTE_ARRIVE(signal); // first second
    }
    CLEAN(if (rank == 1 && t == 5) MB_WAIT(&done, 0);)
    y[32 * blockIdx.x + t] = v;
}

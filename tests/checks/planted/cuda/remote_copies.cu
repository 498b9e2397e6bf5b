// Asynchronous copies and stores to the shared memory of other blocks of a cluster.
#include "planted.cuh"

#define CLUSTER_SYNC                                                                                                   \
    asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory")
#define RANK_OF(p, rank)                                                                                               \
    [](const void* here, unsigned block) {                                                                             \
        unsigned there;                                                                                                \
        asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(SHARED(here)), "r"(block));           \
        return there;                                                                                                  \
    }(p, rank)
#define REMOTE_ARRIVE(there)                                                                                           \
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(there) : "memory")
#define MULTICAST(to, from, n, b, mask)                                                                                \
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "              \
                 "[%0], [%1], %2, [%3], %4;" ::"r"(SHARED(to)),                                                        \
                 "l"(from), "r"(n), "r"(SHARED(b)), "h"((unsigned short)(mask))                                        \
                 : "memory")
#define CLUSTER_COPY(there, from, n, b)                                                                                \
    asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"( \
                     there),                                                                                           \
                 "r"(SHARED(from)), "r"(n), "r"(b)                                                                     \
                 : "memory")
#define STORE_ASYNC(there, v, b)                                                                                       \
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(there), "r"(v),     \
                 "r"(b)                                                                                                \
                 : "memory")
#define ADD_ASYNC(there, v, b)                                                                                         \
    asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1, [%2];" ::"r"( \
                     there),                                                                                           \
                 "r"(v), "r"(b)                                                                                        \
                 : "memory")

/// One block of two waits for a copy to both, and the other one reads at once.
// race of words; grid 4, block 32
extern "C" __global__ void __cluster_dims__(2, 1, 1) remote_multicast_early(const int* x, int* y)
{
    __shared__ __align__(16) int words[32];
    __shared__ __align__(8) unsigned long long full;
    int t = threadIdx.x, rank = blockIdx.x % 2;
    if (t == 0) MB_INIT(&full, 1);
    CLUSTER_SYNC;
    if (t == 0) MB_EXPECT(&full, 128);
    if (t == 0 && rank == 0) MULTICAST(words, x, 128, &full, 3); // first second
    if (EITHER(rank == 0, true)) MB_WAIT(&full, 0);
    int v = words[31 - t]; // first second
    CLUSTER_SYNC;
    y[32 * blockIdx.x + t] = v;
}

/// The next copy to both blocks is issued when one of them has read the last one.
// race of words; grid 4, block 32
extern "C" __global__ void __cluster_dims__(2, 1, 1) remote_multicast_overwrites(const int* x, int* y)
{
    __shared__ __align__(16) int words[32];
    __shared__ __align__(8) unsigned long long full[2], empty;
    int t = threadIdx.x, rank = blockIdx.x % 2, v = 0;
    if (t == 0) {
        for (int i = 0; i < 2; ++i) MB_INIT(full + i, 1);
        MB_INIT(&empty, EITHER(32, 64));
    }
    CLUSTER_SYNC;
    unsigned released = RANK_OF(&empty, 0);
    for (int i = 0; i < 2; ++i) {
        if (t == 0) MB_EXPECT(full + i, 128);
        if (t == 0 && rank == 0) {
            if (i > 0) MB_WAIT(&empty, 0);
            MULTICAST(words, x + 32 * i, 128, full + i, 3); // first second
        }
        MB_WAIT(full + i, 0);
        v += words[31 - t]; // first second
        if (EITHER(rank == 0, true)) REMOTE_ARRIVE(released);
    }
    CLUSTER_SYNC;
    y[32 * blockIdx.x + t] = v;
}

/// A copy between the memories of two blocks is not waited for by the block that it goes to.
// race of words; grid 4, block 32
extern "C" __global__ void __cluster_dims__(2, 1, 1) remote_copy_early(const int* x, int* y)
{
    __shared__ __align__(16) int words[32], own[32];
    __shared__ __align__(8) unsigned long long full;
    int t = threadIdx.x, v = 0, rank = blockIdx.x % 2;
    if (t == 0) MB_INIT(&full, 1);
    own[t] = x[t];
    PROXY_FENCE;
    CLUSTER_SYNC;
    if (t == 0) MB_EXPECT(&full, 128);
    if (t == 0) CLUSTER_COPY(RANK_OF(words, !rank), own, 128, RANK_OF(&full, !rank)); // first second
    CLEAN(MB_WAIT(&full, 0);)
    v = words[31 - t]; // first second
    CLUSTER_SYNC;
    y[32 * blockIdx.x + t] = v;
}

/// What a copy to another block reads is overwritten before that has waited for it.
// race of own; grid 4, block 32
extern "C" __global__ void __cluster_dims__(2, 1, 1) remote_copy_source(const int* x, int* y)
{
    __shared__ __align__(16) int words[32], own[32];
    __shared__ __align__(8) unsigned long long full;
    int t = threadIdx.x, rank = blockIdx.x % 2;
    if (t == 0) MB_INIT(&full, 1);
    own[t] = x[t];
    PROXY_FENCE;
    CLUSTER_SYNC;
    if (t == 0) MB_EXPECT(&full, 128);
    if (t == 0) CLUSTER_COPY(RANK_OF(words, !rank), own, 128, RANK_OF(&full, !rank)); // first second
    PLANT(own[t] = t;) // first second
    MB_WAIT(&full, 0);
    int v = words[31 - t];
    CLUSTER_SYNC;
    CLEAN(own[t] = t;)
    y[32 * blockIdx.x + t] = v + own[t];
}

/// Asynchronous stores to a block that reads without a wait.
// race of words; grid 4, block 32
extern "C" __global__ void __cluster_dims__(2, 1, 1) remote_store_early(const int* x, int* y)
{
    __shared__ int words[32];
    __shared__ __align__(8) unsigned long long full;
    int t = threadIdx.x, v = 0, rank = blockIdx.x % 2;
    if (t == 0) MB_INIT(&full, 1);
    words[t] = 0;
    CLUSTER_SYNC;
    if (t == 0) MB_EXPECT(&full, 128);
    STORE_ASYNC(RANK_OF(words + t, !rank), x[t], RANK_OF(&full, !rank)); // first second
    CLEAN(MB_WAIT(&full, 0);)
    v = words[31 - t]; // first second
    CLUSTER_SYNC;
    y[32 * blockIdx.x + t] = v;
}

/// Asynchronous stores to a block that may still read what was there.
// race of words; grid 4, block 32
extern "C" __global__ void __cluster_dims__(2, 1, 1) remote_store_overwrites(const int* x, int* y)
{
    __shared__ int words[32];
    __shared__ __align__(8) unsigned long long full;
    int t = threadIdx.x, rank = blockIdx.x % 2;
    if (t == 0) MB_INIT(&full, 1);
    words[t] = x[t];
    CLUSTER_SYNC;
    if (t == 0) MB_EXPECT(&full, 128);
    int v = words[31 - t]; // first second
    EITHER(__syncthreads(), CLUSTER_SYNC);
    STORE_ASYNC(RANK_OF(words + t, !rank), v, RANK_OF(&full, !rank)); // first second
    MB_WAIT(&full, 0);
    v += words[t];
    CLUSTER_SYNC;
    y[32 * blockIdx.x + t] = v;
}

/// Asynchronous additions of many threads are read without a wait.
// race of sum; grid 4, block 32
extern "C" __global__ void __cluster_dims__(2, 1, 1) remote_add_early(const int* x, int* y)
{
    __shared__ int sum[1];
    __shared__ __align__(8) unsigned long long full;
    int t = threadIdx.x, rank = blockIdx.x % 2;
    if (t == 0) MB_INIT(&full, 1);
    if (t == 0) sum[0] = 0;
    CLUSTER_SYNC;
    if (t == 0) MB_EXPECT(&full, 128);
    ADD_ASYNC(RANK_OF(sum, !rank), x[t], RANK_OF(&full, !rank)); // first second
    CLEAN(MB_WAIT(&full, 0);)
    int v = sum[0]; // first second
    CLUSTER_SYNC;
    y[32 * blockIdx.x + t] = v;
}

/// Asynchronous additions to memory that its block has not cleared yet.
// race of sum; grid 4, block 32
extern "C" __global__ void __cluster_dims__(2, 1, 1) remote_add_uncleared(const int* x, int* y)
{
    __shared__ int sum[1];
    __shared__ __align__(8) unsigned long long full;
    int t = threadIdx.x, rank = blockIdx.x % 2;
    if (t == 0) MB_INIT(&full, 1);
    CLEAN(if (t == 0) sum[0] = 0;)
    CLUSTER_SYNC;
    PLANT(if (t == 0) sum[0] = 0;) // first second
    if (t == 0) MB_EXPECT(&full, 128);
    ADD_ASYNC(RANK_OF(sum, !rank), x[t], RANK_OF(&full, !rank)); // first second
    MB_WAIT(&full, 0);
    int v = sum[0];
    CLUSTER_SYNC;
    y[32 * blockIdx.x + t] = v;
}

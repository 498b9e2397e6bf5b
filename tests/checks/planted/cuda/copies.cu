// Asynchronous copies and mbarrier objects.
#include "planted.cuh"

/// A copy that nobody waits for.
// race or uninitialized of words; block 64
extern "C" __global__ void copies_not_waited_for(const int* x, int* y)
{
    __shared__ int words[64];
    int t = threadIdx.x;
    COPY4(&words[t], x + t); // first
    COMMIT;
    CLEAN(WAIT_GROUP(0);)
    __syncthreads();
    y[t] = words[t]; // second
}

/// The thread's own element, without a barrier and without a wait.
// race or uninitialized of words; block 32
extern "C" __global__ void copies_own_element(const int* x, int* y)
{
    __shared__ __align__(16) int words[128];
    int t = threadIdx.x;
    COPY16(&words[4 * t], x + 4 * t); // first
    CLEAN(WAIT_ALL;)
    y[t] = words[4 * t + 3]; // second
}

/// The wait leaves one group open, and it is the one that is read.
// race or uninitialized of words; block 64
extern "C" __global__ void copies_one_group_open(const int* x, int* y)
{
    __shared__ int words[2][64];
    int t = threadIdx.x;
    COPY4(&words[0][t], x + t);
    COMMIT;
    COPY4(&words[1][t], x + 64 + t); // first
    COMMIT;
    WAIT_GROUP(1);
    __syncthreads();
    y[t] = words[EITHER(1, 0)][t]; // second
    WAIT_GROUP(0);
}

/// The copy is issued behind the commit of its group.
// race or uninitialized of words; block 64
extern "C" __global__ void copies_behind_commit(const int* x, int* y)
{
    __shared__ int words[64];
    int t = threadIdx.x;
    PLANT(COMMIT;)
    COPY4(&words[t], x + t); // first
    CLEAN(COMMIT;)
    WAIT_GROUP(0);
    __syncthreads();
    y[t] = words[63 - t]; // second
}

/// Each thread waits for its own copies; others read them without a barrier.
// race or uninitialized of words; block 64
extern "C" __global__ void copies_without_barrier(const int* x, int* y)
{
    __shared__ int words[64];
    int t = threadIdx.x;
    COPY4(&words[t], x + t); // first
    COMMIT;
    WAIT_GROUP(0);
    CLEAN(__syncthreads();)
    y[t] = words[63 - t]; // second
}

/// The barrier stands before the wait.
// race or uninitialized of words; block 64
extern "C" __global__ void copies_barrier_before_wait(const int* x, int* y)
{
    __shared__ int words[64];
    int t = threadIdx.x;
    COPY4(&words[t], x + t); // first
    COMMIT;
    PLANT(__syncthreads();)
    WAIT_GROUP(0);
    CLEAN(__syncthreads();)
    y[t] = words[63 - t]; // second
}

/// The next tile is fetched into the buffer that others still read.
// race of tile; block 64
extern "C" __global__ void copies_next_tile(const int* x, int* y)
{
    __shared__ int tile[64];
    int t = threadIdx.x, sum = 0;
#pragma unroll 1
    for (int k = 0; k < 3; ++k) {
        COPY4(&tile[t], x + 64 * k + t); // second
        COMMIT;
        WAIT_GROUP(0);
        __syncthreads();
        sum += tile[63 - t]; // first
        CLEAN(__syncthreads();)
    }
    y[t] = sum;
}

/// A pipeline of two stages whose wait is one group too weak in its last step.
// race or uninitialized of stages; block 64
extern "C" __global__ void copies_last_stage(const int* x, int* y)
{
    __shared__ int stages[2][64];
    int t = threadIdx.x, sum = 0;
    COPY4(&stages[0][t], x + t);
    COMMIT;
#pragma unroll 1
    for (int k = 0; k < 4; ++k) {
        if (k < 3) COPY4(&stages[(k + 1) & 1][t], x + 64 * (k + 1) + t); // first
        if (EITHER(k < 3, true)) COMMIT;
        WAIT_GROUP(1);
        __syncthreads();
        sum += stages[k & 1][63 - t]; // second
        __syncthreads();
    }
    WAIT_GROUP(0);
    y[t] = sum;
}

/// A plain write and a copy into the same element.
// race of words; block 64
extern "C" __global__ void copies_and_write(const int* x, int* y)
{
    __shared__ int words[64];
    int t = threadIdx.x;
    COPY4(&words[t], x + t); // first
    COMMIT;
    CLEAN(WAIT_GROUP(0); __syncthreads();)
    words[63 - t] = t; // second
    PLANT(WAIT_GROUP(0);)
    __syncthreads();
    y[t] = words[t];
}

/// Copies that arrive at an mbarrier, and a reader that does not wait there.
// race or uninitialized of words; block 64
extern "C" __global__ void copies_arrive(const int* x, int* y)
{
    __shared__ int words[64];
    __shared__ __align__(8) unsigned long long bar;
    int t = threadIdx.x;
    if (t == 0) MB_INIT(&bar, 64);
    __syncthreads();
    COPY4(&words[t], x + t); // first
    COPY_ARRIVE(&bar);
    CLEAN(MB_WAIT(&bar, 0);)
    PLANT(__syncthreads();)
    y[t] = words[63 - t]; // second
    PLANT(MB_WAIT(&bar, 0);)
}

/// A bulk copy that is read before its mbarrier is waited for.
// race or uninitialized of words; block 64
extern "C" __global__ void copies_bulk(const int* x, int* y)
{
    __shared__ __align__(128) int words[64];
    __shared__ __align__(8) unsigned long long bar;
    int t = threadIdx.x;
    if (t == 0) MB_INIT(&bar, 1);
    __syncthreads();
    if (t == 0) {
        MB_EXPECT(&bar, 256);
        BULK_LOAD(words, x, 256, &bar); // first
    }
    CLEAN(MB_WAIT(&bar, 0);)
    PLANT(__syncthreads();)
    y[t] = words[63 - t]; // second
    PLANT(MB_WAIT(&bar, 0);)
}

/// The wait is for the phase before: it lets all pass, or none where the copy was quicker.
// race or uninitialized or deadlock of words; block 64
extern "C" __global__ void copies_bulk_parity(const int* x, int* y)
{
    __shared__ __align__(128) int words[64];
    __shared__ __align__(8) unsigned long long bar;
    int t = threadIdx.x;
    if (t == 0) MB_INIT(&bar, 1);
    __syncthreads();
    if (t == 0) {
        MB_EXPECT(&bar, 256);
        BULK_LOAD(words, x, 256, &bar); // first
    }
    MB_WAIT(&bar, EITHER(1, 0)); // first
    y[t] = words[63 - t]; // second
    PLANT(MB_WAIT(&bar, 0);)
}

/// One mbarrier for each of two copies; the reader waits at the other one's.
// race or uninitialized of words; block 64
extern "C" __global__ void copies_bulk_other_barrier(const int* x, int* y)
{
    __shared__ __align__(128) int words[2][64];
    __shared__ __align__(8) unsigned long long bars[2];
    int t = threadIdx.x;
    if (t == 0) { MB_INIT(&bars[0], 1); MB_INIT(&bars[1], 1); }
    __syncthreads();
    if (t == 0) {
        for (int k = 0; k < 2; ++k) {
            MB_EXPECT(&bars[k], 256);
            BULK_LOAD(words[k], x + 64 * k, 256, &bars[k]); // first
        }
    }
    MB_WAIT(&bars[0], 0);
    y[t] = words[EITHER(1, 0)][63 - t]; // second
    MB_WAIT(&bars[1], 0);
}

/// The expected bytes are those of one copy; two were issued.
// race or uninitialized of words; block 64
extern "C" __global__ void copies_bulk_bytes(const int* x, int* y)
{
    __shared__ __align__(128) int words[128];
    __shared__ __align__(8) unsigned long long bar, other;
    int t = threadIdx.x;
    if (t == 0) { MB_INIT(&bar, 1); MB_INIT(&other, 1); }
    __syncthreads();
    if (t == 0) {
        MB_EXPECT(&bar, EITHER(256, 512));
        BULK_LOAD(words, x, 256, &bar);
        MB_EXPECT(&other, EITHER(256, 0));
        BULK_LOAD(words + 64, x + 64, 256, EITHER(&other, &bar)); // first
    }
    MB_WAIT(&bar, 0);
    y[t] = words[127 - t]; // second
    MB_WAIT(&other, 0);
}

/// The next bulk copy overwrites what others still read.
// race of words; block 64
extern "C" __global__ void copies_bulk_next(const int* x, int* y)
{
    __shared__ __align__(128) int words[64];
    __shared__ __align__(8) unsigned long long bar;
    int t = threadIdx.x, sum = 0;
    if (t == 0) MB_INIT(&bar, 1);
    __syncthreads();
#pragma unroll 1
    for (int k = 0; k < 3; ++k) {
        if (t == 0) {
            MB_EXPECT(&bar, 256);
            BULK_LOAD(words, x + 64 * k, 256, &bar); // second
        }
        MB_WAIT(&bar, k & 1);
        sum += words[63 - t]; // first
        CLEAN(__syncthreads();)
    }
    y[t] = sum;
}

/// A bulk store whose source is overwritten before it was read.
// race of words; block 64
extern "C" __global__ void copies_bulk_store(const int* x, int* y)
{
    __shared__ __align__(128) int words[64];
    int t = threadIdx.x;
    words[t] = x[t];
    PROXY_FENCE;
    __syncthreads();
    if (t == 0) {
        BULK_STORE(y, words, 256); // first
        BULK_COMMIT;
        CLEAN(BULK_WAIT_READ;)
    }
    CLEAN(__syncthreads();)
    words[t] = -1; // second
    __syncthreads();
    if (t == 0) BULK_WAIT;
    y[64 + t] = words[63 - t];
}

/// A bulk store of what was written without a fence between the proxies.
// race of words (proxy fence); block 64
extern "C" __global__ void copies_proxy(const int* x, int* y)
{
    __shared__ __align__(128) int words[64];
    int t = threadIdx.x;
    words[t] = x[t]; // first
    CLEAN(PROXY_FENCE;)
    __syncthreads();
    if (t == 0) {
        BULK_STORE(y, words, 256); // second
        BULK_COMMIT;
        BULK_WAIT;
    }
}

/// Only the thread that issues the store has a fence between the proxies, before the others have written.
// race of words (proxy fence); block 64
extern "C" __global__ void copies_proxy_early(const int* x, int* y)
{
    __shared__ __align__(128) int words[64];
    int t = threadIdx.x;
    words[t] = x[t]; // first
    PLANT(if (t == 0) PROXY_FENCE;)
    __syncthreads();
    if (t == 0) {
        CLEAN(PROXY_FENCE;)
        BULK_STORE(y, words, 256); // second
        BULK_COMMIT;
        BULK_WAIT;
    }
}

/// A bulk store of what was written without a barrier.
// race of words; block 64
extern "C" __global__ void copies_bulk_source(const int* x, int* y)
{
    __shared__ __align__(128) int words[64];
    int t = threadIdx.x;
    words[63 - t] = x[t]; // first
    PROXY_FENCE;
    CLEAN(__syncthreads();)
    if (t == 0) {
        BULK_STORE(y, words, 256); // second
        BULK_COMMIT;
        BULK_WAIT;
    }
}

/// Two warps with an mbarrier between them; the writer arrives too early.
// race of box; block 64
extern "C" __global__ void copies_mbarrier_early(const int* x, int* y)
{
    __shared__ int box[32];
    __shared__ __align__(8) unsigned long long full;
    int t = threadIdx.x % 32;
    if (threadIdx.x == 0) MB_INIT(&full, 32);
    __syncthreads();
    if (threadIdx.x < 32) {
        PLANT(MB_ARRIVE(&full);)
        box[t] = x[t]; // first
        CLEAN(MB_ARRIVE(&full);)
    } else {
        MB_WAIT(&full, 0);
        y[t] = box[31 - t]; // second
    }
}

/// The count of an mbarrier is half of the writers: the reader comes too early, or waits for a phase that is over.
// race or deadlock of box; block 96
extern "C" __global__ void copies_mbarrier_count(const int* x, int* y)
{
    __shared__ int box[64];
    __shared__ __align__(8) unsigned long long full;
    int t = threadIdx.x;
    if (t == 0) MB_INIT(&full, EITHER(32, 64));
    __syncthreads();
    if (t < 64) {
        box[t] = x[t]; // first
        MB_ARRIVE(&full);
    } else {
        MB_WAIT(&full, 0); // first
        y[t - 64] = box[t - 64] + box[t - 32]; // second
    }
}

/// Warp specialisation by two mbarriers; the producer does not wait for the empty one.
// race of box; block 64
extern "C" __global__ void copies_specialised(const int* x, int* y)
{
    __shared__ int box[32];
    __shared__ __align__(8) unsigned long long full, empty;
    int t = threadIdx.x % 32, sum = 0;
    if (threadIdx.x == 0) { MB_INIT(&full, 32); MB_INIT(&empty, 32); }
    __syncthreads();
    if (threadIdx.x < 32) {
#pragma unroll 1
        for (int k = 0; k < 2; ++k) {
            CLEAN(if (k > 0) MB_WAIT(&empty, 0);)
            box[t] = x[32 * k + t]; // second
            MB_ARRIVE(&full);
        }
    } else {
        MB_WAIT(&full, 0);
        sum = box[31 - t]; // first
        MB_ARRIVE(&empty);
        MB_WAIT(&full, 1);
        y[t] = sum + box[31 - t]; // first
    }
}

/// An mbarrier that others use before its initialisation is sure.
// race or uninitialized of full; block 64
extern "C" __global__ void copies_mbarrier_set_up(const int* x, int* y)
{
    __shared__ int box[64];
    __shared__ __align__(8) unsigned long long full;
    int t = threadIdx.x;
    if (t == 0) MB_INIT(&full, 64); // first
    CLEAN(__syncthreads();)
    box[t] = x[t];
    MB_ARRIVE(&full); // second
    MB_WAIT(&full, 0);
    y[t] = box[63 - t];
}

/// A bulk copy from global memory that another thread writes, with a barrier missing between.
// race of z; block 64
extern "C" __global__ void copies_global_source(const int* x, int* z, int* y)
{
    __shared__ __align__(128) int words[64];
    __shared__ __align__(8) unsigned long long bar;
    int t = threadIdx.x;
    if (t == 0) MB_INIT(&bar, 1);
    __syncthreads();
    z[t] = x[t]; // first
    PROXY_FENCE;
    CLEAN(__syncthreads();)
    if (t == 63) {
        MB_EXPECT(&bar, 256);
        BULK_LOAD(words, z, 256, &bar); // second
    }
    MB_WAIT(&bar, 0);
    y[t] = words[63 - t];
}

/// A bulk copy from global memory that the block has written without a fence between the proxies.
// race of z (proxy fence); block 64
extern "C" __global__ void copies_global_proxy(const int* x, int* z, int* y)
{
    __shared__ __align__(128) int words[64];
    __shared__ __align__(8) unsigned long long bar;
    int t = threadIdx.x;
    if (t == 0) MB_INIT(&bar, 1);
    z[t] = x[t]; // first
    CLEAN(PROXY_FENCE;)
    __syncthreads();
    if (t == 0) {
        MB_EXPECT(&bar, 256);
        BULK_LOAD(words, z, 256, &bar); // second
    }
    MB_WAIT(&bar, 0);
    y[t] = words[63 - t];
}

/// The source of a bulk copy is overwritten before it has arrived.
// race of z; block 64
extern "C" __global__ void copies_global_source_overwritten(const int* x, int* z, int* y)
{
    __shared__ __align__(128) int words[64];
    __shared__ __align__(8) unsigned long long bar;
    int t = threadIdx.x;
    if (t == 0) MB_INIT(&bar, 1);
    __syncthreads();
    if (t == 0) {
        MB_EXPECT(&bar, 256);
        BULK_LOAD(words, z, 256, &bar); // first
    }
    CLEAN(MB_WAIT(&bar, 0);)
    __syncthreads();
    z[t] = x[t]; // second
    PLANT(MB_WAIT(&bar, 0);)
    y[t] = words[63 - t];
}

/// Two bulk copies of one block to overlapping global memory; the second one is issued by another thread.
// race of z; block 64
extern "C" __global__ void copies_global_targets(const int* x, int* z)
{
    __shared__ __align__(128) int words[128];
    int t = threadIdx.x;
    words[t] = x[t];
    words[t + 64] = x[t + 64];
    PROXY_FENCE;
    __syncthreads();
    if (t % 32 == 0) {
        BULK_STORE(z + EITHER(t, 2 * t), words + 64 * (t / 32), 256); // first second
        BULK_COMMIT;
        BULK_WAIT;
    }
}

/// What a bulk copy writes is read behind a wait that is for its source alone.
// race of z; block 64
extern "C" __global__ void copies_global_wait_read(const int* x, int* z, int* y)
{
    __shared__ __align__(128) int words[64];
    int t = threadIdx.x;
    words[t] = x[t];
    PROXY_FENCE;
    __syncthreads();
    if (t == 0) {
        BULK_STORE(z, words, 256); // first
        BULK_COMMIT;
        EITHER(BULK_WAIT_READ, BULK_WAIT);
    }
    __syncthreads();
    y[t] = z[63 - t]; // second
}

/// Blocks add to one place by bulk reductions, and read it without an order.
// race of z; grid 2, block 64
extern "C" __global__ void copies_global_reduction(const int* x, int* z, int* y)
{
    __shared__ __align__(128) int words[64];
    int t = threadIdx.x;
    words[t] = x[t];
    PROXY_FENCE;
    __syncthreads();
    if (t == 0) {
        BULK_ADD(z, words, 256); // first second
        BULK_COMMIT;
        BULK_WAIT;
    }
    __syncthreads();
    PLANT(y[64 * blockIdx.x + t] = z[63 - t];) // first second
}

/// Each block stores a tile; one of them stores its neighbour's.
// race of z; grid 4, block 64
extern "C" __global__ void copies_global_tiles(const int* x, int* z)
{
    __shared__ __align__(128) int words[64];
    int t = threadIdx.x;
    words[t] = x[64 * blockIdx.x + t];
    PROXY_FENCE;
    __syncthreads();
    if (t == 0) {
        BULK_STORE(z + 64 * EITHER((blockIdx.x == 2 ? 1 : blockIdx.x), blockIdx.x), words, 256); // first second
        BULK_COMMIT;
    }
}

/// A warp that has not waited itself reads what the other warp's wait has shown to have arrived.
// race of words; block 64
extern "C" __global__ void copies_bulk_other_waits(const int* x, int* y)
{
    __shared__ __align__(128) int words[64];
    __shared__ __align__(8) unsigned long long bar;
    int t = threadIdx.x;
    if (t == 0) MB_INIT(&bar, 1);
    __syncthreads();
    if (t == 0) {
        MB_EXPECT(&bar, 256);
        BULK_LOAD(words, x, 256, &bar); // first
    }
    if (EITHER(t < 32, true)) MB_WAIT(&bar, 0);
    y[t] = words[63 - t]; // second
}

/// One lane of a warp waits; the others come behind it by a barrier of the warp.
// race of words; block 64
extern "C" __global__ void copies_bulk_lane_waits(const int* x, int* y)
{
    __shared__ __align__(128) int words[64];
    __shared__ __align__(8) unsigned long long bar;
    int t = threadIdx.x;
    if (t == 0) MB_INIT(&bar, 1);
    __syncthreads();
    if (t == 63) {
        MB_EXPECT(&bar, 256);
        BULK_LOAD(words, x, 256, &bar); // first
    }
    if (t % 32 == 5) MB_WAIT(&bar, 0);
    CLEAN(__syncwarp();)
    y[t] = words[63 - t]; // second
}

/// The source of a bulk copy is overwritten by threads that have not waited for it.
// race of x; grid 1, block 64
extern "C" __global__ void copies_global_in_place(int* x, int* y)
{
    __shared__ __align__(16) int words[64];
    __shared__ __align__(8) unsigned long long bar;
    int t = threadIdx.x;
    if (t == 0) MB_INIT(&bar, 1);
    __syncthreads();
    if (t == 0) MB_EXPECT(&bar, 256);
    if (t == 0) BULK_LOAD(words, x, 256, &bar); // first second
    if (EITHER(t < 32, true)) MB_WAIT(&bar, 0);
    x[t] = t; // first second
    MB_WAIT(&bar, 0);
    y[t] = words[t];
}

/// A word is read behind the arrival at the mbarrier, before the copy whose waiters overwrite it is issued.
// race of x; grid 1, block 64
extern "C" __global__ void copies_global_read_before(int* x, int* y)
{
    __shared__ __align__(16) int words[64];
    __shared__ __align__(8) unsigned long long bar;
    int t = threadIdx.x, v = 0;
    if (t == 0) MB_INIT(&bar, 1);
    __syncthreads();
    CLEAN(if (t == 63) v = x[5];)
    if (t == 63) MB_EXPECT(&bar, 256);
    PLANT(if (t == 63) v = x[5];) // first
    if (t == 63) BULK_LOAD(words, x, 256, &bar);
    if (t != 63) {
        MB_WAIT(&bar, 0);
        x[t] = t; // second
    }
    __syncthreads();
    y[t] = words[t] + v;
}

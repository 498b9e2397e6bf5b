// Shared memory between the lanes of a warp.
#include "planted.cuh"

/// Every lane writes the same element, each another value.
// race of word; block 32
extern "C" __global__ void lanes_write_write(const int* x, int* y)
{
    __shared__ int word;
    int t = threadIdx.x;
    if (EITHER(true, t == 0)) word = x[t]; // first second
    __syncwarp();
    y[t] = word;
}

/// A lane reads its neighbour's element behind the write, without __syncwarp.
// race of words (warp-synchronous); block 32
extern "C" __global__ void lanes_write_read(const int* x, int* y)
{
    __shared__ int words[32];
    int t = threadIdx.x;
    words[t] = x[t]; // first
    CLEAN(__syncwarp();)
    y[t] = words[(t + 1) % 32]; // second
}

/// A lane reads its neighbour's element, then writes its own.
// race of words (warp-synchronous); block 32
extern "C" __global__ void lanes_read_write(const int* x, int* y)
{
    __shared__ int words[32];
    int t = threadIdx.x;
    words[t] = x[t];
    __syncwarp();
    int v = words[t ^ 1]; // first
    CLEAN(__syncwarp();)
    words[t] = v + 1; // second
    __syncwarp();
    y[t] = words[31 - t];
}

/// The two sides of a branch: no order between them, however the warp runs.
// race of words; block 32
extern "C" __global__ void lanes_of_two_branches(const int* x, int* y)
{
    __shared__ int words[16];
    int t = threadIdx.x;
    if (t < 16)
        words[t] = x[t]; // first
    CLEAN(__syncwarp();)
    if (t >= 16)
        y[t] = words[t - 16]; // second
}

/// The lower half reads what the upper half writes on the other side of the same branch.
// race of words; block 32
extern "C" __global__ void lanes_else_first(const int* x, int* y)
{
    __shared__ int words[32];
    int t = threadIdx.x;
    words[t] = 0;
    __syncwarp();
#ifdef PLANTED
    if (t < 16) {
        y[t] = words[t + 16]; // first
    } else {
        words[t] = x[t]; // second
    }
#else
    if (t >= 16) words[t] = x[t];
    __syncwarp();
    if (t < 16) y[t] = words[t + 16];
#endif
}

/// The mask of __syncwarp has the writers only.
// race of words; block 32
extern "C" __global__ void lanes_mask_without_readers(const int* x, int* y)
{
    __shared__ int words[16];
    int t = threadIdx.x;
    if (t < 16) {
        words[t] = x[t]; // first
        PLANT(__syncwarp(0xffff);)
    }
    CLEAN(__syncwarp();)
    if (t >= 16) y[t] = words[t - 16]; // second
}

/// Each half of the warp synchronises itself, and reads from the other half.
// race of words (warp-synchronous); block 32
extern "C" __global__ void lanes_mask_of_own_half(const int* x, int* y)
{
    __shared__ int words[32];
    int t = threadIdx.x;
    words[t] = x[t]; // first
    __syncwarp(EITHER(t < 16 ? 0xffffu : 0xffff0000u, FULL));
    y[t] = words[t ^ 16]; // second
}

/// Groups of four lanes synchronise themselves, and the distance reaches out of the group.
// race of words (warp-synchronous); block 64
extern "C" __global__ void lanes_mask_of_four(const int* x, int* y)
{
    __shared__ int words[64];
    int t = threadIdx.x;
    words[t] = x[t]; // first
    __syncwarp(0xfu << (t % 32 / 4 * 4));
    y[t] = words[t ^ EITHER(4, 2)]; // second
}

/// The end of a tree reduction as it was written before Volta.
// race of sums (volatile); block 32
extern "C" __global__ void lanes_volatile_reduction(const int* x, int* y)
{
    __shared__ volatile int sums[64];
    int t = threadIdx.x;
    sums[t] = x[t];
    sums[t + 32] = x[t + 32];
    __syncwarp();
#pragma unroll 1
    for (int step = 32; step > 0; step /= 2) {
        int v = sums[t + step]; // first
        CLEAN(__syncwarp();)
        if (t < step) sums[t] = sums[t] + v; // second
        CLEAN(__syncwarp();)
    }
    if (t == 0) y[0] = sums[0];
}

/// One __syncwarp a step, none between the read and the write.
// race of sums (warp-synchronous); block 32
extern "C" __global__ void lanes_one_sync_a_step(const int* x, int* y)
{
    __shared__ int sums[64];
    int t = threadIdx.x;
    sums[t] = x[t];
    sums[t + 32] = 0;
    __syncwarp();
#pragma unroll 1
    for (int step = 16; step > 0; step /= 2) {
        int v = sums[t + step]; // first
        CLEAN(__syncwarp();)
        sums[t] += v; // second
        __syncwarp();
    }
    if (t == 0) y[0] = sums[0];
}

/// The step before the last has no __syncwarp.
// race of words (warp-synchronous); block 32
extern "C" __global__ void lanes_last_step(const int* x, int* y)
{
    __shared__ int words[2][32];
    int t = threadIdx.x;
    words[0][t] = x[t];
    __syncwarp();
#pragma unroll 1
    for (int k = 0; k < 5; ++k) {
        int v = words[k & 1][(t + 1) % 32]; // second
        words[1 - (k & 1)][t] = v + k; // first
        if (EITHER(k != 3, true)) __syncwarp();
    }
    y[t] = words[1][t];
}

/// A shuffle orders no memory.
// race of words (warp-synchronous); block 32
extern "C" __global__ void lanes_shuffle_is_no_fence(const int* x, int* y)
{
    __shared__ int words[32];
    int t = threadIdx.x, v = x[t];
    words[t] = v; // first
    int sum = __shfl_xor_sync(FULL, v, 3);
    CLEAN(__syncwarp();)
    y[t] = words[t ^ 1] + sum; // second
}

/// A ballot orders no memory.
// race of words (warp-synchronous); block 32
extern "C" __global__ void lanes_ballot_is_no_fence(const int* x, int* y)
{
    __shared__ int words[32];
    int t = threadIdx.x, v = x[t];
    words[t] = v; // first
    unsigned odd = __ballot_sync(FULL, v & 1);
    CLEAN(__syncwarp();)
    y[t] = words[(t + 7) % 32] + __popc(odd); // second
}

/// Shuffles and ballots in place of memory; the planted twin exchanges its last value through memory.
// race of words (warp-synchronous); block 32
extern "C" __global__ void lanes_registers_only(const int* x, int* y)
{
    __shared__ int words[32];
    int t = threadIdx.x, v = x[t];
    for (int step = 16; step > 0; step /= 2) v += __shfl_xor_sync(FULL, v, step);
    unsigned odd = __ballot_sync(FULL, x[t] & 1);
    int most = __reduce_max_sync(FULL, x[t]);
    words[t] = v + most; // first
    y[t] = words[EITHER(31 - t, t)] + __popc(odd); // second
}

/// The lanes add atomically, one of them reads plainly without an order.
// race of total (warp-synchronous); block 32
extern "C" __global__ void lanes_atomic_and_read(const int* x, int* y)
{
    __shared__ int total;
    int t = threadIdx.x;
    if (t == 0) total = 0;
    __syncwarp();
    atomicAdd(&total, x[t]); // first
    CLEAN(__syncwarp();)
    if (t == 5) y[0] = total; // second
}

/// The counter is set by lane 0, and the others add before they know it.
// race of total (warp-synchronous); block 32
extern "C" __global__ void lanes_write_and_atomic(const int* x, int* y)
{
    __shared__ int total;
    int t = threadIdx.x;
    if (t == 0) total = 100; // first
    CLEAN(__syncwarp();)
    atomicAdd(&total, x[t]); // second
    __syncwarp();
    y[t] = total;
}

/// Lanes leave the loop after different numbers of steps; later steps read what others wrote in earlier ones.
// race of words; block 32
extern "C" __global__ void lanes_trip_counts(const int* x, int* y)
{
    __shared__ int words[32];
    int t = threadIdx.x;
    words[t] = 0;
    __syncwarp();
    int v = 0;
#pragma unroll 1
    for (int k = 0; k < EITHER(1 + t % 4, 4); ++k) {
        words[t] = v + k; // first
        CLEAN(__syncwarp();)
        v += words[(t + 1) % 32]; // second
        CLEAN(__syncwarp();)
    }
    y[t] = v;
}

/// All lanes write the same value.
// race of done (same value); block 32
extern "C" __global__ void lanes_same_value(const int* x, int* y)
{
    __shared__ int done;
    int t = threadIdx.x;
    if (t == 0) done = 0;
    __syncwarp();
    if (EITHER(x[t] % 2 == 0, t == 1)) done = 7; // first second
    __syncwarp();
    y[t] = done;
}

/// Lane 0 tells the others a value by memory.
// race of word (warp-synchronous); block 64
extern "C" __global__ void lanes_broadcast(const int* x, int* y)
{
    __shared__ int word[2];
    int t = threadIdx.x;
    if (t % 32 == 0) word[t / 32] = x[t]; // first
    CLEAN(__syncwarp();)
    y[t] = word[t / 32]; // second
}

/// Increments of a bin that lanes share.
// race of bins; block 32
extern "C" __global__ void lanes_increment(const int* x, int* y)
{
    __shared__ int bins[8];
    int t = threadIdx.x;
    if (t < 8) bins[t] = 0;
    __syncwarp();
#ifdef PLANTED
    bins[x[t] % 8] += 1; // first second
#else
    atomicAdd(&bins[x[t] % 8], 1);
#endif
    __syncwarp();
    if (t < 8) y[t] = bins[t];
}

/// Three lanes read a word, and the one that writes it again meets two of them.
// race of word; block 32
extern "C" __global__ void lanes_third_reader(const int* x, int* y)
{
    __shared__ int word;
    const int lane = threadIdx.x;
    if (lane == 3) word = x[0];
    __syncwarp();
    int v = 0;
    if (lane < 3) v = *(volatile int*)&x[lane] + word; // first
    if (lane < 2 || lane == 3 CLEAN(|| lane == 2)) __syncwarp(EITHER(0xb, 0xf));
    if (lane == 3) word = x[1]; // second
    y[lane] = v;
}

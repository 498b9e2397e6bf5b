// Shared memory between the warps of a block.
#include "planted.cuh"

/// Two warps write the same elements.
// race of words; block 64
extern "C" __global__ void warps_write_write(const int* x, int* y)
{
    __shared__ int words[64];
    int t = threadIdx.x;
    words[EITHER(t % 32, t)] = x[t] + t; // first second
    __syncthreads();
    y[t] = words[t % 32];
}

/// A block turns its elements around without a barrier.
// race of words; block 128
extern "C" __global__ void warps_write_read(const int* x, int* y)
{
    __shared__ int words[128];
    int t = threadIdx.x;
    words[t] = x[t]; // first
    CLEAN(__syncthreads();)
    y[t] = words[127 - t]; // second
}

/// The elements are overwritten before all have read them.
// race of words; block 128
extern "C" __global__ void warps_read_write(const int* x, int* y)
{
    __shared__ int words[128];
    int t = threadIdx.x;
    words[t] = x[t];
    __syncthreads();
    int v = words[127 - t]; // first
    CLEAN(__syncthreads();)
    words[t] = v * 3; // second
    __syncthreads();
    y[t] = words[(t + 40) % 128];
}

/// __syncwarp where __syncthreads is needed.
// race of words; block 64
extern "C" __global__ void warps_only_syncwarp(const int* x, int* y)
{
    __shared__ int words[64];
    int t = threadIdx.x;
    words[t] = x[t]; // first
    EITHER(__syncwarp(), __syncthreads());
    y[t] = words[63 - t]; // second
}

/// __threadfence_block is no barrier.
// race of words; block 64
extern "C" __global__ void warps_only_fence(const int* x, int* y)
{
    __shared__ int words[64];
    int t = threadIdx.x;
    words[t] = x[t]; // first
    EITHER(__threadfence_block(), __syncthreads());
    y[t] = words[63 - t]; // second
}

/// One thread tells all of them a value.
// race of word; block 96
extern "C" __global__ void warps_broadcast(const int* x, int* y)
{
    __shared__ int word;
    int t = threadIdx.x;
    if (t == 0) word = x[3]; // first
    CLEAN(__syncthreads();)
    y[t] = word; // second
}

/// The word that tells a value is used for the next one at once.
// race of word; block 96
extern "C" __global__ void warps_broadcast_again(const int* x, int* y)
{
    __shared__ int word;
    int t = threadIdx.x, sum = 0;
#pragma unroll 1
    for (int k = 0; k < 3; ++k) {
        if (t == 0) word = x[k]; // second
        __syncthreads();
        sum += word; // first
        CLEAN(__syncthreads();)
    }
    y[t] = sum;
}

/// A tree reduction without the barrier in its loop.
// race of sums; block 256
extern "C" __global__ void warps_reduction_loop(const int* x, int* y)
{
    __shared__ int sums[256];
    int t = threadIdx.x;
    sums[t] = x[t];
    __syncthreads();
#pragma unroll 1
    for (int step = 128; step > 0; step /= 2) {
        if (t < step) sums[t] += sums[t + step]; // first second
        CLEAN(__syncthreads();)
    }
    if (t == 0) y[0] = sums[0];
}

/// A tree reduction without the barrier before its loop.
// race of sums; block 256
extern "C" __global__ void warps_reduction_before(const int* x, int* y)
{
    __shared__ int sums[256];
    int t = threadIdx.x;
    sums[t] = x[t]; // first
    CLEAN(__syncthreads();)
#pragma unroll 1
    for (int step = 128; step > 0; step /= 2) {
        if (t < step) sums[t] += sums[t + step]; // second
        __syncthreads();
    }
    if (t == 0) y[0] = sums[0];
}

/// The barrier stands at the loop's begin, so the result is read without one.
// race of sums; block 128
extern "C" __global__ void warps_reduction_after(const int* x, int* y)
{
    __shared__ int sums[128];
    int t = threadIdx.x;
    sums[t] = x[t];
#pragma unroll 1
    for (int step = 64; step > 0; step /= 2) {
        __syncthreads();
        if (t < step) sums[t] += sums[t + step]; // first
    }
    CLEAN(__syncthreads();)
    y[t] = sums[0]; // second
}

/// Two reductions in one array: the second fills it while the result of the first is read.
// race of sums; block 128
extern "C" __global__ void warps_reused_array(const int* x, int* y)
{
    __shared__ int sums[128];
    int t = threadIdx.x, total = 0;
#pragma unroll 1
    for (int k = 0; k < 2; ++k) {
        sums[t] = x[t] + k; // second
        __syncthreads();
#pragma unroll 1
        for (int step = 64; step > 0; step /= 2) {
            if (t < step) sums[t] += sums[t + step];
            __syncthreads();
        }
        total += sums[0]; // first
        CLEAN(__syncthreads();)
    }
    y[t] = total;
}

/// A double buffer with one barrier a step: right if the parities are; the planted twin fills what is being read.
// race of tiles; block 128
extern "C" __global__ void warps_double_buffer(const int* x, int* y)
{
    __shared__ int tiles[2][128];
    int t = threadIdx.x, sum = 0;
    tiles[0][t] = x[t];
    __syncthreads();
#pragma unroll 1
    for (int k = 0; k < 4; ++k) {
        tiles[EITHER(k, k + 1) & 1][t] = x[t + 128 * (k + 1)]; // second
        sum += tiles[k & 1][127 - t]; // first
        __syncthreads();
    }
    y[t] = sum;
}

/// A single buffer with one barrier a step.
// race of tile; block 128
extern "C" __global__ void warps_single_buffer(const int* x, int* y)
{
    __shared__ int tile[128];
    int t = threadIdx.x, sum = 0;
#pragma unroll 1
    for (int k = 0; k < 4; ++k) {
        tile[t] = x[t + 128 * k]; // second
        __syncthreads();
        sum += tile[127 - t]; // first
        CLEAN(__syncthreads();)
    }
    y[t] = sum;
}

/// A ring of three stages: the planted twin fetches three steps ahead, into the stage that is read.
// race of stages; block 64
extern "C" __global__ void warps_ring(const int* x, int* y)
{
    __shared__ int stages[3][64];
    int t = threadIdx.x, sum = 0;
    for (int k = 0; k < EITHER(3, 2); ++k) stages[k][t] = x[64 * k + t];
    __syncthreads();
#pragma unroll 1
    for (int k = 0; k < 6; ++k) {
        int next = k + EITHER(3, 2);
        if (next < 8) stages[next % 3][t] = x[64 * next + t]; // second
        sum += stages[k % 3][63 - t]; // first
        __syncthreads();
    }
    y[t] = sum;
}

/// The barrier of the last step is left out, and the loop's result read behind it.
// race of words; block 64
// n = 4
extern "C" __global__ void warps_last_iteration(const int* x, int* y, int n)
{
    __shared__ int words[2][64];
    int t = threadIdx.x;
    words[0][t] = x[t];
    __syncthreads();
#pragma unroll 1
    for (int k = 0; k < n; ++k) {
        words[(k + 1) & 1][t] = words[k & 1][t] + k; // first
        if (EITHER(k + 1 < n, true)) __syncthreads();
    }
    y[t] = words[n & 1][63 - t]; // second
}

/// The barrier of the first step is left out.
// race of words; block 64
// n = 4
extern "C" __global__ void warps_first_iteration(const int* x, int* y, int n)
{
    __shared__ int words[2][64];
    int t = threadIdx.x, sum = 0;
#pragma unroll 1
    for (int k = 0; k < n; ++k) {
        words[k & 1][t] = x[t] + k; // first
        if (EITHER(k > 0, true)) __syncthreads();
        sum += words[k & 1][63 - t]; // second
    }
    y[t] = sum;
}

/// Only the last thread's element: it is loaded behind the barrier.
// race of tile; block 64
extern "C" __global__ void warps_halo_late(const int* x, int* y)
{
    __shared__ int tile[66];
    int t = threadIdx.x;
    tile[t + 1] = x[t + 1];
    CLEAN(if (t == 0) { tile[0] = x[0]; tile[65] = x[65]; })
    __syncthreads();
    PLANT(if (t == 0) { tile[0] = x[0]; tile[65] = x[65]; }) // first
    y[t] = tile[t] + tile[t + 1] + tile[t + 2]; // second
}

/// The barrier is left out for a block of one warp; the block has 64 threads, and the bound is off by one warp.
// race of words; block 64
extern "C" __global__ void warps_block_boundary(const int* x, int* y)
{
    __shared__ int words[64];
    int t = threadIdx.x;
    words[t] = x[t]; // first
    if (blockDim.x > EITHER(64, 32)) __syncthreads();
    y[t] = words[63 - t]; // second
}

/// Only in a block that is not whole: its threads behind the end skip the load, and the guard the barrier.
// race of words; block 96, grid 2
extern "C" __global__ void warps_ragged_block(const int* x, int* y)
{
    __shared__ int words[96];
    int t = threadIdx.x, n = 160, i = blockIdx.x * 96 + t, last = min(95, n - 1 - (int)blockIdx.x * 96);
    if (i < n) words[t] = x[i]; // first
    if (EITHER(blockIdx.x + 1 < gridDim.x, true)) __syncthreads();
    if (i < n) y[i] = words[last - t]; // second
}

/// A barrier of two warps; the third one reads.
// race of words; block 96
extern "C" __global__ void warps_barrier_of_some(const int* x, int* y)
{
    __shared__ int words[64];
    int t = threadIdx.x;
    if (t < 64) {
        words[t] = x[t]; // first
        PLANT(BAR_SYNC(1, 64);)
    }
    CLEAN(BAR_SYNC(1, 96);)
    y[t] = words[(t + 17) % 64]; // second
}

/// Producer and consumer by named barriers; the planted twin's producer does not wait until its buffer is empty.
// race of box; block 64
extern "C" __global__ void warps_named_barriers(const int* x, int* y)
{
    __shared__ int box[32];
    int t = threadIdx.x % 32, sum = 0;
    if (threadIdx.x < 32) {
#pragma unroll 1
        for (int k = 0; k < 4; ++k) {
            CLEAN(if (k > 0) BAR_SYNC(2, 64);)
            box[t] = x[32 * k + t]; // second
            BAR_ARRIVE(1, 64);
            PLANT(BAR_SYNC(3, 64);)
        }
    } else {
#pragma unroll 1
        for (int k = 0; k < 4; ++k) {
            BAR_SYNC(1, 64);
            PLANT(BAR_ARRIVE(3, 64);)
            sum += box[31 - t]; // first
            CLEAN(if (k < 3) BAR_ARRIVE(2, 64);)
        }
        y[t] = sum;
    }
}

/// The producer arrives before it has written.
// race of box; block 64
extern "C" __global__ void warps_arrive_early(const int* x, int* y)
{
    __shared__ int box[32];
    int t = threadIdx.x % 32;
    if (threadIdx.x < 32) {
        PLANT(BAR_ARRIVE(1, 64);)
        box[t] = x[t]; // first
        CLEAN(BAR_ARRIVE(1, 64);)
    } else {
        BAR_SYNC(1, 64);
        y[t] = box[31 - t]; // second
    }
}

/// A scan that reads and writes one array in a step.
// race of sums; block 128
extern "C" __global__ void warps_scan(const int* x, int* y)
{
    __shared__ int sums[128];
    int t = threadIdx.x;
    sums[t] = x[t];
    __syncthreads();
#pragma unroll 1
    for (int step = 1; step < 128; step *= 2) {
        int v = t >= step ? sums[t - step] : 0; // first
        CLEAN(__syncthreads();)
        sums[t] += v; // second
        __syncthreads();
    }
    y[t] = sums[t];
}

/// A transposed tile.
// race of tile; block 16 16
extern "C" __global__ void warps_transpose(const float* x, float* y)
{
    __shared__ float tile[16][17];
    tile[threadIdx.y][threadIdx.x] = x[16 * threadIdx.y + threadIdx.x]; // first
    CLEAN(__syncthreads();)
    y[16 * threadIdx.y + threadIdx.x] = tile[threadIdx.x][threadIdx.y]; // second
}

/// A matrix product by tiles, without the barrier before the next tiles.
// race of left; block 8 8
extern "C" __global__ void warps_product(const float* x, float* y)
{
    __shared__ float left[8][8], right[8][8];
    int i = threadIdx.y, j = threadIdx.x;
    float sum = 0;
#pragma unroll 1
    for (int k = 0; k < 32; k += 8) {
        left[i][j] = x[32 * i + k + j]; // second
        right[i][j] = x[256 + 8 * (k + i) + j];
        __syncthreads();
#pragma unroll 1
        for (int m = 0; m < 8; ++m) sum += left[i][m] * right[m][j]; // first
        CLEAN(__syncthreads();)
    }
    y[8 * i + j] = sum;
}

/// A histogram without atomics.
// race of bins; block 128
extern "C" __global__ void warps_histogram(const int* x, int* y)
{
    __shared__ int bins[16];
    int t = threadIdx.x;
    if (t < 16) bins[t] = 0;
    __syncthreads();
    EITHER(++bins[x[t] % 16], atomicAdd(&bins[x[t] % 16], 1)); // first second
    __syncthreads();
    if (t < 16) y[t] = bins[t];
}

/// The bins are cleared while others count.
// race of bins; block 128
extern "C" __global__ void warps_histogram_clear(const int* x, int* y)
{
    __shared__ int bins[16];
    int t = threadIdx.x;
    if (t < 16) bins[t] = 0; // first
    CLEAN(__syncthreads();)
    atomicAdd(&bins[x[t] % 16], 1); // second
    __syncthreads();
    if (t < 16) y[t] = bins[t];
}

/// The bins are read while others count.
// race of bins; block 128
extern "C" __global__ void warps_histogram_read(const int* x, int* y)
{
    __shared__ int bins[16];
    int t = threadIdx.x;
    if (t < 16) bins[t] = 0;
    __syncthreads();
    atomicAdd(&bins[x[t] % 16], 1); // first
    CLEAN(__syncthreads();)
    if (t < 16) y[t] = bins[t]; // second
}

/// A volatile flag within a block, and no fence between the data and it.
// race of box; block 64
extern "C" __global__ void warps_flag_without_fence(const int* x, int* y)
{
    __shared__ int box;
    __shared__ volatile int flag;
    int t = threadIdx.x;
    if (t == 0) flag = 0;
    __syncthreads();
    if (t == 0) {
        box = x[0]; // first
        CLEAN(__threadfence_block();)
        flag = 1;
    }
    if (t == 32) {
        while (flag == 0) {}
        CLEAN(__threadfence_block();)
        y[0] = box; // second
    }
}

/// Volatile data that another warp reads: no flag.
// race of box; block 64
extern "C" __global__ void warps_volatile_data(const int* x, int* y)
{
    __shared__ volatile int box[64];
    int t = threadIdx.x;
    box[t] = x[t]; // first
    CLEAN(__syncthreads();)
    y[t] = box[63 - t]; // second
}

/// A volatile flag that ends a search early; only its result, which needs a barrier, is data.
// race of found; block 64
extern "C" __global__ void warps_early_end(const int* x, int* y)
{
    __shared__ volatile bool stop;
    __shared__ int found;
    int t = threadIdx.x;
    if (t == 0) {
        stop = false;
        found = 0;
    }
    __syncthreads();
    for (int k = 0; k < 64 && !stop; ++k)
        if (x[k] == t + 1 && t == 5) {
            found = k + 1; // first
            stop = true;
        }
    CLEAN(__syncthreads();)
    if (t == 40) y[0] = found; // second
}

/// A plain flag within a block.
// race of flag; block 64
extern "C" __global__ void warps_plain_flag(const int* x, int* y)
{
    __shared__ int box, flag;
    int t = threadIdx.x;
    if (t == 0) flag = 0;
    __syncthreads();
    if (t == 0) {
        box = x[0];
        __threadfence_block();
        EITHER(flag = 1, atomicExch(&flag, 1)); // first
    }
    if (t == 32) {
        int seen = 0;
        for (int k = 0; k < 100 && !seen; ++k) {
            seen = EITHER(flag, atomicAdd(&flag, 0)); // second
            KEEP;
        }
        __threadfence_block();
        y[0] = seen ? CLEAN(box +) 0 : -1;
    }
}

/// Whoever finds it writes where.
// race of where; block 128
extern "C" __global__ void warps_found(const int* x, int* y)
{
    __shared__ int where;
    int t = threadIdx.x;
    if (t == 0) where = 1000;
    __syncthreads();
    if (x[t] % 7 == 3) EITHER(where = t, atomicMin(&where, t)); // first second
    __syncthreads();
    if (t == 0) y[0] = where;
}

/// Whoever finds it says so: all write the same value.
// race of any (same value); block 128
extern "C" __global__ void warps_any(const int* x, int* y)
{
    __shared__ int any;
    int t = threadIdx.x;
    if (t == 0) any = 0;
    __syncthreads();
    if (x[t] % 7 == 3) EITHER(any = 1, atomicExch(&any, 1)); // first second
    __syncthreads();
    if (t == 0) y[0] = any;
}

/// The place of an element in a list, from a plain counter.
// race of count; block 64
extern "C" __global__ void warps_compaction(const int* x, int* y)
{
    __shared__ int count;
    int t = threadIdx.x;
    if (t == 0) count = 0;
    __syncthreads();
    if (x[t] % 2) {
        int where = EITHER(count++, atomicAdd(&count, 1)); // first second
        y[where] = x[t];
    }
}

__device__ __noinline__ void store(int* words, int i, int v)
{
    words[i] = v; // first of warps_called
}

__device__ __noinline__ int fetch(const int* words, int i)
{
    return words[i]; // second of warps_called
}

/// The accesses are in functions that the kernel calls.
// race of words; block 64
extern "C" __global__ void warps_called(const int* x, int* y)
{
    __shared__ int words[64];
    int t = threadIdx.x;
    store(words, t, x[t]);
    CLEAN(__syncthreads();)
    y[t] = fetch(words, 63 - t);
}

__device__ __noinline__ int climb(int* scratch, int depth, int t, int v)
{
    if (depth == 0) return v;
    scratch[EITHER(depth, 64 * depth + t)] = v + depth; // first second of warps_recursion
    int below = climb(scratch, depth - 1, t, v * 2);
    return below + scratch[EITHER(depth, 64 * depth + t)]; // second of warps_recursion
}

/// A recursive function whose scratch memory is by depth only.
// race of scratch; block 64
extern "C" __global__ void warps_recursion(const int* x, int* y)
{
    __shared__ int scratch[5 * 64];
    int t = threadIdx.x;
    y[t] = climb(scratch, 4, t, x[t]);
}

/// Scratch memory of each thread: local in the clean twin, one array of all in the other.
// race of scratch; block 64
extern "C" __global__ void warps_local_scratch(const int* x, int* y)
{
    EITHER(__shared__ int scratch[8];, int scratch[8];)
    int t = threadIdx.x;
    for (int k = 0; k < 8; ++k) scratch[k] = x[(t + k) % 64]; // first second
    int v = 0;
#pragma unroll 1
    for (int k = 0; k < 8; ++k) v = v * 3 + scratch[(v + k + t) & 7]; // second
    y[t] = v;
}

/// A pointer to a heap object, published by shared memory.
// race of place; block 64
extern "C" __global__ void warps_heap_pointer(const int* x, int* y)
{
    __shared__ int* place;
    int t = threadIdx.x;
    if (t == 0) place = nullptr;
    __syncthreads();
    if (t == 0) {
        int* fresh = static_cast<int*>(malloc(64 * sizeof(int)));
        for (int k = 0; k < 64; ++k) fresh[k] = x[k];
        place = fresh; // first
    }
    CLEAN(__syncthreads();)
    int* seen = place; // second
    y[t] = seen ? seen[t] : 0;
    __syncthreads();
    if (t == 0) free(place);
}

/// Elements of a heap object that two warps share.
// race of heap; block 64
extern "C" __global__ void warps_heap_object(const int* x, int* y)
{
    __shared__ int* place;
    int t = threadIdx.x;
    if (t == 0) place = static_cast<int*>(malloc(64 * sizeof(int)));
    __syncthreads();
    place[t] = x[t]; // first
    CLEAN(__syncthreads();)
    y[t] = place[63 - t]; // second
    __syncthreads();
    if (t == 0) free(place);
}

/// A neighbour's element by an index that is off by one.
// race of words; block 64
extern "C" __global__ void warps_off_by_one(const int* x, int* y)
{
    __shared__ int words[66];
    int t = threadIdx.x;
    words[t] = 0;
    __syncthreads();
    words[t] = x[t]; // first
    if (t % 2) words[t + EITHER(1, 0)] = 9; // second
    __syncthreads();
    y[t] = words[t];
}

/// Threads that have returned, and a reader that relies on a barrier before their writes.
// race of words; block 64
extern "C" __global__ void warps_early_return(const int* x, int* y)
{
    __shared__ int words[64];
    int t = threadIdx.x;
    words[t] = 0;
    __syncthreads();
    CLEAN(words[t] = x[t];)
    __syncthreads();
    if (t >= 32) {
        PLANT(words[t] = x[t];) // first
        return;
    }
    y[t] = words[t + 32]; // second
}

/// A lock of the block that is released by a plain write before the last access.
// race of total; block 128
extern "C" __global__ void warps_lock_released_early(const int* x, int* y)
{
    __shared__ int lock, total;
    int t = threadIdx.x;
    if (t == 0) lock = total = 0;
    __syncthreads();
    if (t % 32 == 0) {
        while (atomicCAS(&lock, 0, 1) != 0) {}
        __threadfence_block();
        int v = total; // first
        PLANT(__threadfence_block(); atomicExch(&lock, 0);)
        KEEP;
        total = v + x[t]; // second
        CLEAN(__threadfence_block(); atomicExch(&lock, 0);)
    }
    __syncthreads();
    if (t == 0) y[0] = total;
}

/// All read what nobody writes: inputs, constants, a table in shared memory behind its barrier.
// race of table; block 128
extern "C" __global__ void warps_read_by_all(const int* x, int* y)
{
    __shared__ int table[4];
    static __constant__ int weights[4] = {1, 2, 3, 4};
    int t = threadIdx.x, v = 0;
    if (t < 4) table[t] = x[t] * weights[t]; // first
    CLEAN(__syncthreads();)
    for (int k = 0; k < 4; ++k) v += table[k] * x[k] + weights[(t + k) % 4]; // second
    y[t] = v;
}

/// Three warps read a stage, and the one that writes it again waits for two of them: the count is too small.
// race of stage; block 128
extern "C" __global__ void warps_third_reader(const int* x, int* y)
{
    __shared__ int stage[32];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (warp == 0) stage[lane] = x[lane];
    __syncthreads();
    int v = 0;
    if (warp != 0) {
        v = stage[lane]; // first
        PLANT(if (warp != 3) asm volatile("bar.arrive 1, 96;" ::: "memory");)
        CLEAN(asm volatile("bar.arrive 1, 128;" ::: "memory");)
    } else {
        PLANT(asm volatile("bar.sync 1, 96;" ::: "memory");)
        CLEAN(asm volatile("bar.sync 1, 128;" ::: "memory");)
        stage[lane] = 7; // second
    }
    y[threadIdx.x] = v;
}

/// Atomic operations of all threads, and the last thread reads behind its own one.
// race of last; block 128
extern "C" __global__ void warps_behind_own_atomic(const int* x, int* y)
{
    __shared__ int last;
    if (threadIdx.x == 0) last = 0;
    __syncthreads();
    atomicExch(&last, x[threadIdx.x]); // first
    CLEAN(__syncthreads();)
    if (threadIdx.x == 127) {
        CLEAN(atomicExch(&last, 5);)
        y[0] = last; // second
    }
}

/// Atomic operations of all threads; a barrier of the warp orders its lanes, and no other warp.
// race of last; block 128
extern "C" __global__ void warps_behind_own_warp(const int* x, int* y)
{
    __shared__ int last;
    if (threadIdx.x == 0) last = 0;
    __syncthreads();
    if (threadIdx.x >= EITHER(0, 96)) atomicExch(&last, x[threadIdx.x]); // first
    __syncwarp();
    if (threadIdx.x == 127) y[0] = last; // second
}

/// Three warps read a stage and arrive at an mbarrier, whose count is that of two warps.
// race of stage; block 128
extern "C" __global__ void warps_mbarrier_count(const int* x, int* y)
{
    __shared__ int stage[32];
    __shared__ unsigned long long empty;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(SHARED(&empty)), "r"(EITHER(2, 3)));
    if (warp == 0) stage[lane] = x[lane];
    __syncthreads();
    int v = 0;
    if (warp != 0) {
        v = stage[lane]; // first
        __syncwarp();
        if (lane == 0) asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(SHARED(&empty)) : "memory");
    } else {
        for (unsigned done = 0; !done;)
            asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                         : "=r"(done) : "r"(SHARED(&empty)) : "memory");
        stage[lane] = 7; // second
    }
    y[threadIdx.x] = v;
}

// Barriers that some threads never reach, wrong masks and counts, and deadlocks.
#include "planted.cuh"

/// Half of a warp at the barrier of a block.
// barrier; block 32
extern "C" __global__ void barriers_half_of_a_warp(const int* x, int* y)
{
    __shared__ int words[32];
    int t = threadIdx.x;
    words[t] = x[t];
    if (EITHER(t < 16, true)) __syncthreads(); // first
    y[t] = words[t];
}

/// The lanes of a warp wait at two barriers.
// barrier; block 64
extern "C" __global__ void barriers_two_sites(const int* x, int* y)
{
    __shared__ int words[64];
    int t = threadIdx.x;
    if (EITHER(t % 2, t < 32)) {
        words[t] = x[t];
        __syncthreads(); // first
        y[t] = words[63 - t];
    } else {
        words[t] = -x[t];
        CLEAN(asm volatile("bar.sync 0;" ::: "memory");)
        PLANT(__syncthreads();) // second
        y[t] = words[63 - t] * 5;
    }
}

/// One warp of two skips a barrier.
// barrier (whole warps); block 64
extern "C" __global__ void barriers_a_warp_skips(const int* x, int* y)
{
    __shared__ int words[64];
    int t = threadIdx.x;
    words[t] = x[t];
    if (EITHER(t < 32, true)) __syncthreads(); // first
    y[t] = words[t];
    __syncthreads();
}

/// Threads behind the end return before a barrier.
// barrier (exited threads); block 64
// n = 50
extern "C" __global__ void barriers_return_before(const int* x, int* y, int n)
{
    __shared__ int words[64];
    int t = threadIdx.x;
    words[t] = x[t];
    PLANT(if (t >= n) return;)
    __syncthreads(); // first
    CLEAN(if (t >= n) return;)
    y[t] = words[t ^ 1];
}

/// A loop whose steps differ between the lanes of a warp.
// barrier; block 64
extern "C" __global__ void barriers_trips_of_lanes(const int* x, int* y)
{
    __shared__ int words[64];
    int t = threadIdx.x, sum = 0;
#pragma unroll 1
    for (int k = EITHER(t % 2, 0); k < 3; ++k) {
        words[t] = x[t] + k;
        __syncthreads(); // first
        sum += words[t];
    }
    y[t] = sum;
}

/// A loop whose steps differ between warps.
// barrier (whole warps); block 64
extern "C" __global__ void barriers_trips_of_warps(const int* x, int* y)
{
    __shared__ int words[64];
    int t = threadIdx.x, sum = 0;
#pragma unroll 1
    for (int k = EITHER(t / 32, 0); k < 3; ++k) {
        words[t] = x[t] + k;
        __syncthreads(); // first
        sum += words[t];
    }
    y[t] = sum;
}

/// A guard around the loop's body: the last, ragged step.
// barrier; block 64
extern "C" __global__ void barriers_ragged_step(const int* x, int* y)
{
    __shared__ int words[64];
    int t = threadIdx.x;
    words[t] = 0;
    __syncthreads();
#pragma unroll 1
    for (int k = 0; k < 4; ++k) {
        int i = 64 * k + t;
        if (i < 240) {
            words[t] += x[i];
            PLANT(__syncthreads();) // first
        }
        CLEAN(__syncthreads();)
    }
    y[t] = words[t];
}

/// A vote of the block behind a condition of each thread.
// barrier; block 64
extern "C" __global__ void barriers_short_circuit(const int* x, int* y)
{
    int t = threadIdx.x, any = 0;
#ifdef PLANTED
    if (x[t] % 2 && __syncthreads_or(x[t] > 40)) any = 1; // first
#else
    any = __syncthreads_or(x[t] > 40) && x[t] % 2;
#endif
    y[t] = any;
}

__device__ __noinline__ int exchange(int* words, int t, int v)
{
    words[t] = v;
    __syncthreads(); // first of barriers_in_function
    return words[t ^ 1];
}

/// A function with a barrier that part of a warp calls.
// barrier; block 64
extern "C" __global__ void barriers_in_function(const int* x, int* y)
{
    __shared__ int words[64];
    int t = threadIdx.x, v = x[t];
    words[t] = 0;
    __syncthreads();
    if (EITHER(v % 2, true)) v += exchange(words, t, v);
    y[t] = v;
}

/// The lane that calls is not in its own mask.
// barrier; block 32
extern "C" __global__ void barriers_caller_not_in_mask(const int* x, int* y)
{
    int t = threadIdx.x;
    if (t < 16) __syncwarp(EITHER(0xff, 0xffff)); // first
    y[t] = x[t];
}

/// The mask names lanes on the other side of a branch.
// barrier; block 32
extern "C" __global__ void barriers_mask_of_other_branch(const int* x, int* y)
{
    __shared__ int words[32];
    int t = threadIdx.x;
    words[t] = x[t];
    if (t < 16) {
        __syncwarp(EITHER(0x1ffff, 0xffff)); // first
        y[t] = words[t ^ 1];
    } else {
        y[t] = 0;
    }
}

/// Masks that differ among the lanes that meet.
// barrier; block 32
extern "C" __global__ void barriers_different_masks(const int* x, int* y)
{
    __shared__ int words[32];
    int t = threadIdx.x;
    words[t] = x[t];
    __syncwarp(EITHER(t < 8 ? 0xffffu : FULL, FULL)); // first
    y[t] = words[31 - t];
}

/// A shuffle whose mask names lanes that do not take part.
// barrier; block 32
extern "C" __global__ void barriers_shuffle_mask(const int* x, int* y)
{
    int t = threadIdx.x, v = x[t];
    if (t < 16) v += __shfl_xor_sync(EITHER(FULL, 0xffff), v, 1); // first
    y[t] = v;
}

/// A ballot under a mask that lacks lanes which vote.
// barrier; block 32
extern "C" __global__ void barriers_ballot_mask(const int* x, int* y)
{
    int t = threadIdx.x;
    y[t] = __ballot_sync(EITHER(0xffff, FULL), x[t] & 1); // first
}

/// A shuffle that reads a lane outside the branch; the mask is what is active.
// barrier (undefined lane); block 32
extern "C" __global__ void barriers_shuffle_from_outside(const int* x, int* y)
{
    int t = threadIdx.x, v = x[t];
    if (t < 16) v = __shfl_sync(0xffff, v, t + EITHER(8, 0)); // first
    y[t] = v;
}

/// A count that is no multiple of the warp's size.
// barrier; block 64
extern "C" __global__ void barriers_odd_count(const int* x, int* y)
{
    __shared__ int words[64];
    int t = threadIdx.x;
    words[t] = x[t];
    BAR_SYNC(1, EITHER(48, 64)); // first
    y[t] = words[t];
}

/// A barrier for more threads than the block has.
// deadlock; block 64
extern "C" __global__ void barriers_count_too_high(const int* x, int* y)
{
    __shared__ int words[64];
    int t = threadIdx.x;
    words[t] = x[t];
    BAR_SYNC(1, EITHER(128, 64)); // first
    y[t] = words[63 - t];
}

/// Two warps give two counts for one barrier.
// barrier; block 64
extern "C" __global__ void barriers_two_counts(const int* x, int* y)
{
    __shared__ int words[64];
    int t = threadIdx.x;
    words[t] = x[t];
    BAR_SYNC(1, t < 32 ? 64 : EITHER(96, 64)); // first
    y[t] = words[63 - t];
}

/// Two warps wait at two numbers.
// deadlock; block 64
extern "C" __global__ void barriers_two_numbers(const int* x, int* y)
{
    __shared__ int words[64];
    int t = threadIdx.x;
    words[t] = x[t];
    if (t < 32) BAR_SYNC(1, 64); // first
    else BAR_SYNC(EITHER(2, 1), 64); // second
    y[t] = words[63 - t];
}

/// The producer arrives at one barrier, the consumer waits at two.
// deadlock; block 64
extern "C" __global__ void barriers_lost_arrival(const int* x, int* y)
{
    __shared__ int words[32];
    int t = threadIdx.x % 32;
    if (threadIdx.x < 32) {
        words[t] = x[t];
        BAR_ARRIVE(1, 64);
        CLEAN(BAR_ARRIVE(2, 64);)
    } else {
        BAR_SYNC(1, 64);
        BAR_SYNC(2, 64); // first
        y[t] = words[t];
    }
}

/// An mbarrier that expects one more arrival.
// deadlock; block 64
extern "C" __global__ void barriers_mbarrier_count(const int* x, int* y)
{
    __shared__ int words[64];
    __shared__ __align__(8) unsigned long long bar;
    int t = threadIdx.x;
    if (t == 0) MB_INIT(&bar, EITHER(65, 64));
    __syncthreads();
    words[t] = x[t];
    MB_ARRIVE(&bar);
    MB_WAIT(&bar, 0); // first
    y[t] = words[63 - t];
}

/// The wait is for a phase that nobody completes.
// deadlock; block 64
extern "C" __global__ void barriers_mbarrier_phase(const int* x, int* y)
{
    __shared__ int words[64];
    __shared__ __align__(8) unsigned long long bar;
    int t = threadIdx.x;
    if (t == 0) MB_INIT(&bar, 64);
    __syncthreads();
    words[t] = x[t];
    MB_ARRIVE(&bar);
    MB_WAIT(&bar, 0);
    CLEAN(MB_ARRIVE(&bar);)
    MB_WAIT(&bar, 1); // first
    y[t] = words[63 - t];
}

/// More bytes are expected than are copied.
// deadlock; block 32
extern "C" __global__ void barriers_expected_bytes(const int* x, int* y)
{
    __shared__ __align__(128) int words[64];
    __shared__ __align__(8) unsigned long long bar;
    int t = threadIdx.x;
    if (t == 0) MB_INIT(&bar, 1);
    __syncthreads();
    if (t == 0) {
        MB_EXPECT(&bar, EITHER(512, 256));
        BULK_LOAD(words, x, 256, &bar);
    }
    MB_WAIT(&bar, 0); // first
    y[t] = words[t];
}

/// A flag that nobody raises.
// deadlock; grid 2, block 32
extern "C" __global__ void barriers_flag_never_raised(const int* x, int* flags, int* y)
{
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) atomicExch(&flags[EITHER(1, 0)], 1);
    else while (atomicAdd(&flags[0], 0) == 0) {} // first
    y[blockIdx.x] = x[0];
}

/// Two blocks wait for each other.
// deadlock; grid 2, block 32
extern "C" __global__ void barriers_wait_for_each_other(const int* x, int* flags, int* y)
{
    if (threadIdx.x != 0) return;
    int b = blockIdx.x;
    CLEAN(atomicExch(&flags[b], 1);)
    while (atomicAdd(&flags[1 - b], 0) == 0) {} // first
    PLANT(atomicExch(&flags[b], 1);)
    y[b] = x[b];
}

/// Two blocks take two locks in two orders.
// deadlock; grid 2, block 32
extern "C" __global__ void barriers_two_locks(const int* x, int* locks, unsigned* ready, int* y)
{
    if (threadIdx.x != 0) return;
    int b = blockIdx.x, one = EITHER(b, 0);
    while (atomicCAS(&locks[one], 0, 1) != 0) {}
    PLANT(atomicAdd(ready, 1);)
    PLANT(while (atomicAdd(ready, 0) < 2) {})
    while (atomicCAS(&locks[1 - one], 0, 1) != 0) {} // first
    atomicAdd(y, x[b]);
    atomicExch(&locks[1 - one], 0);
    atomicExch(&locks[one], 0);
}

/// A lock that is not given back on one path.
// deadlock; grid 4, block 32
extern "C" __global__ void barriers_lock_kept(const int* x, int* lock, int* y)
{
    if (threadIdx.x != 0) return;
    while (atomicCAS(lock, 0, 1) != 0) {} // first
    __threadfence();
    *y += x[blockIdx.x];
    __threadfence();
    if (EITHER(x[blockIdx.x] % 2, true)) atomicExch(lock, 0);
}

/// A barrier of the grid that counts one block more than there is.
// deadlock; grid 3, block 32
extern "C" __global__ void barriers_grid_count(const int* x, unsigned* arrived, int* y)
{
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(arrived, 1);
        while (atomicAdd(arrived, 0) < gridDim.x + EITHER(1, 0)) {} // first
        __threadfence();
    }
    __syncthreads();
    y[32 * blockIdx.x + threadIdx.x] = x[threadIdx.x];
}

/// One warp waits at the block's barrier, the other for a flag that is raised behind it.
// deadlock; block 64
extern "C" __global__ void barriers_and_flag(const int* x, int* y)
{
    __shared__ int flag;
    int t = threadIdx.x;
    if (t == 0) flag = 0;
    __syncthreads();
    CLEAN(if (t == 0) atomicExch(&flag, 1);)
    if (t == 32) while (atomicAdd(&flag, 0) == 0) {} // second
    __syncthreads(); // first
    PLANT(if (t == 0) atomicExch(&flag, 1);)
    y[t] = x[t];
}

// Global memory between blocks.
#include "planted.cuh"

/// Every block writes the same elements.
// race of y; grid 4, block 32
extern "C" __global__ void blocks_write_write(const int* x, int* y)
{
    int t = threadIdx.x;
    y[t + EITHER(0, 32 * blockIdx.x)] = x[t] + blockIdx.x; // first second
}

/// A stencil in place: a block reads its neighbour's elements while that overwrites them.
// race of y; grid 4, block 64
extern "C" __global__ void blocks_stencil_in_place(const int* x, int* y)
{
    int i = blockIdx.x * 64 + threadIdx.x;
    int left = EITHER(y, x)[i == 0 ? 0 : i - 1], right = EITHER(y, x)[i == 255 ? 255 : i + 1]; // first
    __syncthreads();
    y[i] = left + right; // second
}

/// A halo that two blocks write.
// race of y; grid 4, block 34
extern "C" __global__ void blocks_overlapping_halo(const int* x, int* y)
{
    int i = blockIdx.x * 32 + threadIdx.x;
    if (EITHER(true, threadIdx.x < 32)) y[i] = x[i] + blockIdx.x; // first second
}

/// A partition into chunks whose end is inclusive.
// race of y; grid 4, block 1
extern "C" __global__ void blocks_inclusive_end(const int* x, int* y)
{
    int from = blockIdx.x * 16, to = from + 16;
    for (int i = from; i EITHER(<=, <) to; ++i) y[i] = x[i] * (blockIdx.x + 1); // first second
}

/// A grid-stride loop whose stride is one less than the grid.
// race of y; grid 2, block 32
// n = 128
extern "C" __global__ void blocks_grid_stride(const int* x, int* y, int n)
{
    int stride = gridDim.x * blockDim.x - EITHER(1, 0);
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) y[i] = x[i] + stride + threadIdx.x; // first second
}

/// Only the last, ragged tile is too long.
// race of y; grid 3, block 32
extern "C" __global__ void blocks_last_tile(const int* x, int* y)
{
    int i = blockIdx.x * 32 + threadIdx.x;
    y[EITHER(blockIdx.x == 2 ? i - 1 : i, i)] = x[i] + i; // first second
}

/// A histogram without atomics.
// race of bins; grid 4, block 64
extern "C" __global__ void blocks_histogram(const int* x, int* bins)
{
    int v = x[blockIdx.x * 64 + threadIdx.x] % 16;
    EITHER(bins[v] += 1, atomicAdd(&bins[v], 1)); // first second
}

/// A sum over blocks, each of which adds plainly.
// race of total; grid 4, block 32
extern "C" __global__ void blocks_sum(const int* x, int* total)
{
    int v = __reduce_add_sync(FULL, x[blockIdx.x * 32 + threadIdx.x]);
    if (threadIdx.x == 0) EITHER(*total += v, atomicAdd(total, v)); // first second
}

/// A maximum that is compared, then written.
// race of most; grid 4, block 32
extern "C" __global__ void blocks_maximum(const int* x, int* most)
{
    int v = x[blockIdx.x * 32 + threadIdx.x];
#ifdef PLANTED
    if (v > most[0]) most[0] = v; // first second
#else
    atomicMax(most, v);
#endif
}

/// A list whose length is a plain counter.
// race of count; grid 4, block 32
extern "C" __global__ void blocks_compaction(const int* x, int* y, int* count)
{
    int v = x[blockIdx.x * 32 + threadIdx.x];
    if (v % 3 == 0) {
        int where = EITHER((*count)++, atomicAdd(count, 1)); // first second
        CLEAN(y[where] = v;)
        PLANT(y[blockIdx.x * 32 + threadIdx.x] = where;)
    }
}

/// Bits of a mask that blocks share.
// race of mask; grid 4, block 8
extern "C" __global__ void blocks_bits(const int* x, unsigned* mask)
{
    int i = blockIdx.x * 8 + threadIdx.x;
    if (x[i] & 1) EITHER(mask[0] |= 1u << i, atomicOr(mask, 1u << i)); // first second
}

/// All blocks say that something was found: the same value.
// race of found (same value); grid 4, block 32
extern "C" __global__ void blocks_same_value(const int* x, int* found)
{
    if (x[blockIdx.x * 32 + threadIdx.x] > 5) EITHER(*found = 1, atomicExch(found, 1)); // first second
}

/// A flag without fences.
// race of box; grid 2, block 32
extern "C" __global__ void blocks_flag_without_fence(const int* x, int* box, int* flag, int* y)
{
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        box[0] = x[5]; // first
        CLEAN(__threadfence();)
        *(volatile int*)flag = 1;
    } else {
        while (*(volatile int*)flag == 0) {}
        CLEAN(__threadfence();)
        y[0] = box[0]; // second
    }
}

/// The fence stands before the data.
// race of box; grid 2, block 32
extern "C" __global__ void blocks_fence_before_data(const int* x, int* box, int* flag, int* y)
{
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        PLANT(__threadfence();)
        box[0] = x[5]; // first
        CLEAN(__threadfence();)
        atomicExch(flag, 1);
    } else {
        while (atomicAdd(flag, 0) == 0) {}
        __threadfence();
        y[0] = box[0]; // second
    }
}

/// The fence stands behind the flag.
// race of box; grid 2, block 32
extern "C" __global__ void blocks_fence_behind_flag(const int* x, int* box, int* flag, int* y)
{
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        box[0] = x[5]; // first
        CLEAN(__threadfence();)
        atomicExch(flag, 1);
        PLANT(__threadfence();)
    } else {
        while (atomicAdd(flag, 0) == 0) {}
        __threadfence();
        y[0] = box[0]; // second
    }
}

/// The producer has its fence, the consumer none.
// race of box (one-sided fence); grid 2, block 32
extern "C" __global__ void blocks_fence_of_producer_only(const int* x, int* box, int* flag, int* y)
{
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        box[0] = x[5]; // first
        __threadfence();
        atomicExch(flag, 1);
    } else {
        while (atomicAdd(flag, 0) == 0) {}
        CLEAN(__threadfence();)
        y[0] = box[0]; // second
    }
}

/// The consumer has its fence, the producer none.
// race of box; grid 2, block 32
extern "C" __global__ void blocks_fence_of_consumer_only(const int* x, int* box, int* flag, int* y)
{
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        box[0] = x[5]; // first
        CLEAN(__threadfence();)
        atomicExch(flag, 1);
    } else {
        while (atomicAdd(flag, 0) == 0) {}
        __threadfence();
        y[0] = box[0]; // second
    }
}

/// A fence of the block where one of the device is needed.
// race of box; grid 2, block 32
extern "C" __global__ void blocks_fence_of_block(const int* x, int* box, int* flag, int* y)
{
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        box[0] = x[5]; // first
        EITHER(__threadfence_block(), __threadfence());
        atomicExch(flag, 1);
    } else {
        while (atomicAdd(flag, 0) == 0) {}
        EITHER(__threadfence_block(), __threadfence());
        y[0] = box[0]; // second
    }
}

/// A fence of the system does what one of the device does.
// race of box; grid 2, block 32
extern "C" __global__ void blocks_fence_of_system(const int* x, int* box, int* flag, int* y)
{
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        box[0] = x[5]; // first
        CLEAN(__threadfence_system();)
        atomicExch_system(flag, 1);
    } else {
        while (atomicAdd_system(flag, 0) == 0) {}
        CLEAN(__threadfence_system();)
        y[0] = box[0]; // second
    }
}

/// A plain flag, read some times.
// race of flag; grid 2, block 32
extern "C" __global__ void blocks_plain_flag(const int* x, int* box, int* flag, int* y)
{
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        box[0] = x[5];
        __threadfence();
        EITHER(*flag = 1, atomicExch(flag, 1)); // first
    } else {
        int seen = 0;
        for (int k = 0; k < 20 && !seen; ++k) {
            seen = EITHER(*flag, atomicAdd(flag, 0)); // second
            KEEP;
        }
        __threadfence();
        y[0] = seen ? CLEAN(box[0] +) 0 : -1;
    }
}

/// The flag is raised before the data is written.
// race of box; grid 2, block 32
extern "C" __global__ void blocks_flag_too_early(const int* x, int* box, int* flag, int* y)
{
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        PLANT(__threadfence(); atomicExch(flag, 1);)
        box[0] = x[5]; // first
        CLEAN(__threadfence(); atomicExch(flag, 1);)
    } else {
        while (atomicAdd(flag, 0) == 0) {}
        __threadfence();
        y[0] = box[0]; // second
    }
}

/// The data was written by all threads, the flag raised by one without a barrier.
// race of box; grid 2, block 64
extern "C" __global__ void blocks_flag_of_one_thread(const int* x, int* box, int* flag, int* y)
{
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        box[t] = x[t]; // first
        CLEAN(__syncthreads();)
        if (t == 0) {
            __threadfence();
            atomicExch(flag, 1);
        }
    } else {
        if (t == 0) while (atomicAdd(flag, 0) == 0) {}
        __threadfence();
        __syncthreads();
        __threadfence();
        y[t] = box[63 - t]; // second
    }
}

/// The same with each thread's fence before the barrier, as many programs have it.
// race of box (fence before barrier); grid 2, block 64
extern "C" __global__ void blocks_fence_of_each_thread(const int* x, int* box, int* flag, int* y)
{
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        box[t] = x[t]; // first
        __threadfence();
        CLEAN(__syncthreads();)
        if (t == 0) atomicExch(flag, 1);
    } else {
        if (t == 0) while (atomicAdd(flag, 0) == 0) {}
        __threadfence();
        __syncthreads();
        __threadfence();
        y[t] = box[63 - t]; // second
    }
}

/// A flag by st.release and ld.acquire; the planted twin's are relaxed.
// race of box; grid 2, block 32
extern "C" __global__ void blocks_release(const int* x, int* box, int* flag, int* y)
{
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        box[0] = x[5]; // first
        asm volatile("st." EITHER("relaxed", "release") ".gpu.global.u32 [%0], 1;" ::"l"(flag) : "memory");
    } else {
        int seen = 0;
        while (!seen)
            asm volatile("ld." EITHER("relaxed", "acquire") ".gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
        y[0] = box[0]; // second
    }
}

/// The same at the scope of a block, between two blocks.
// race of box; grid 2, block 32
extern "C" __global__ void blocks_release_of_block(const int* x, int* box, int* flag, int* y)
{
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        box[0] = x[5]; // first
        asm volatile("st.release." EITHER("cta", "gpu") ".global.u32 [%0], 1;" ::"l"(flag) : "memory");
    } else {
        int seen = 0;
        while (!seen)
            asm volatile("ld.acquire." EITHER("cta", "gpu") ".global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
        y[0] = box[0]; // second
    }
}

/// An atomic that releases, and one that acquires; the planted twin's reader does not acquire.
// race of box; grid 2, block 32
extern "C" __global__ void blocks_atomic_release(const int* x, int* box, int* flag, int* y)
{
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        box[0] = x[5]; // first
        asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(flag) : "memory");
    } else {
        int seen = 0;
        while (!seen)
            asm volatile("atom." EITHER("relaxed", "acquire") ".gpu.global.or.b32 %0, [%1], 0;" : "=r"(seen) : "l"(flag) : "memory");
        y[0] = box[0]; // second
    }
}

/// A chain: block 0 tells block 1, that tells block 2, which reads what block 0 wrote.
// race of box; grid 3, block 32
extern "C" __global__ void blocks_chain(const int* x, int* box, int* flags, int* y)
{
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        box[0] = x[5]; // first
        __threadfence();
        atomicExch(&flags[0], 1);
    } else if (blockIdx.x == 1) {
        while (atomicAdd(&flags[0], 0) == 0) {}
        CLEAN(__threadfence();)
        atomicExch(&flags[1], 1);
    } else {
        while (atomicAdd(&flags[1], 0) == 0) {}
        __threadfence();
        y[0] = box[0]; // second
    }
}

/// A lock without fences.
// race of total; grid 4, block 32
extern "C" __global__ void blocks_lock_without_fence(const int* x, int* lock, int* total)
{
    if (threadIdx.x != 0) return;
    while (atomicCAS(lock, 0, 1) != 0) {}
    CLEAN(__threadfence();)
    *total += x[blockIdx.x]; // first second
    KEEP;
    CLEAN(__threadfence();)
    atomicExch(lock, 0);
}

/// A lock that is released before the write.
// race of total; grid 4, block 32
extern "C" __global__ void blocks_lock_released_early(const int* x, int* lock, int* total)
{
    if (threadIdx.x != 0) return;
    while (atomicCAS(lock, 0, 1) != 0) {}
    __threadfence();
    int v = *total; // first
    PLANT(__threadfence(); atomicExch(lock, 0);)
    KEEP;
    *total = v + x[blockIdx.x]; // second
    CLEAN(__threadfence(); atomicExch(lock, 0);)
}

/// A lock that is released by a plain write.
// race of lock; grid 4, block 32
extern "C" __global__ void blocks_lock_plain_release(const int* x, int* lock, int* total)
{
    if (threadIdx.x != 0) return;
    while (atomicCAS(lock, 0, 1) != 0) {} // first
    __threadfence();
    *total += x[blockIdx.x];
    __threadfence();
    EITHER(*lock = 0, atomicExch(lock, 0)); // second
}

/// A reader that takes no lock.
// race of total; grid 4, block 32
extern "C" __global__ void blocks_lock_not_taken(const int* x, int* lock, int* total, int* y)
{
    if (threadIdx.x != 0) return;
    bool takes = EITHER(blockIdx.x != 3, true);
    if (takes) while (atomicCAS(lock, 0, 1) != 0) {}
    __threadfence();
    if (blockIdx.x != 3) *total += x[blockIdx.x]; // first
    else y[0] = *total; // second
    __threadfence();
    if (takes) atomicExch(lock, 0);
}

/// Two locks for one variable.
// race of total; grid 4, block 32
extern "C" __global__ void blocks_two_locks(const int* x, int* lock, int* total)
{
    if (threadIdx.x != 0) return;
    int* mine = lock + EITHER(blockIdx.x % 2, 0);
    while (atomicCAS(mine, 0, 1) != 0) {}
    __threadfence();
    *total += x[blockIdx.x]; // first second
    __threadfence();
    atomicExch(mine, 0);
}

/// Atomics of some blocks, a plain read of another.
// race of total; grid 4, block 32
extern "C" __global__ void blocks_atomic_and_read(const int* x, int* total, int* y)
{
    if (blockIdx.x < 3) atomicAdd(total, x[threadIdx.x]); // first
    else y[threadIdx.x] = EITHER(*total, atomicAdd(total, 0)); // second
}

/// Atomics of some blocks, a plain write of another.
// race of total; grid 4, block 32
extern "C" __global__ void blocks_atomic_and_write(const int* x, int* total)
{
    if (blockIdx.x < 3) atomicAdd(total, x[threadIdx.x]); // first
    else if (threadIdx.x == 0) EITHER(*total = 5, atomicExch(total, 5)); // second
}

/// A polling loop of ld.volatile beside atomics is no race; a plain load is.
// race of total; grid 2, block 32
extern "C" __global__ void blocks_volatile_beside_atomics(const int* x, int* total, int* y)
{
    if (blockIdx.x == 0) atomicAdd(total, x[threadIdx.x]); // first
    else if (threadIdx.x == 0) y[0] = *EITHER(, (volatile int*)) total; // second
}

/// Atomics of the block's scope, used by several blocks.
// race of total; grid 4, block 32
extern "C" __global__ void blocks_atomics_of_block(const int* x, int* total)
{
    EITHER(atomicAdd_block, atomicAdd)(total, x[threadIdx.x]); // first second
}

/// Atomics of the system's scope and of the device's fit together; of the block's they do not.
// race of total; grid 4, block 32
extern "C" __global__ void blocks_atomics_of_system(const int* x, int* total)
{
    if (blockIdx.x % 2) atomicAdd_system(total, x[threadIdx.x]); // first
    else EITHER(atomicAdd_block, atomicAdd)(total, x[threadIdx.x]); // second
}

/// Atomics of different widths on the same bytes.
// race of total (mixed sizes); grid 2, block 32
extern "C" __global__ void blocks_atomics_of_two_widths(const int* x, int* total)
{
    if (blockIdx.x == 0) atomicAdd(total + 1, x[threadIdx.x]); // first
    else EITHER(atomicAdd(reinterpret_cast<unsigned long long*>(total), 1ull), atomicAdd(total + 1, 1)); // second
}

/// A reduction whose last block adds what all have written: without the writers' fence.
// race of partial; grid 4, block 64
extern "C" __global__ void blocks_last_block(const int* x, int* partial, unsigned* done, int* y)
{
    __shared__ bool is_last;
    int t = threadIdx.x;
    if (t == 0) {
        int v = 0;
        for (int k = 0; k < 64; ++k) v += x[64 * blockIdx.x + k];
        partial[blockIdx.x] = v; // first
        CLEAN(__threadfence();)
        is_last = atomicInc(done, gridDim.x) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (is_last && t == 0) {
        int v = 0;
        for (int k = 0; k < 4; ++k) v += partial[k]; // second
        y[0] = v;
    }
}

/// The same as in the programming guide: partial sums are volatile, one fence.
// race of partial; grid 4, block 64
extern "C" __global__ void blocks_last_block_volatile(const int* x, int* partial, unsigned* done, int* y)
{
    EITHER(, volatile) int* sums = partial;
    __shared__ bool is_last;
    int t = threadIdx.x;
    if (t == 0) {
        int v = 0;
        for (int k = 0; k < 64; ++k) v += x[64 * blockIdx.x + k];
        sums[blockIdx.x] = v; // first
        CLEAN(__threadfence();)
        is_last = atomicInc(done, gridDim.x) == gridDim.x - 1;
    }
    __syncthreads();
    if (is_last && t < 4) atomicAdd(y, sums[t]); // second
}

/// The ticket is drawn before the result is written.
// race of partial; grid 4, block 32
extern "C" __global__ void blocks_ticket_too_early(const int* x, int* partial, unsigned* done, int* y)
{
    if (threadIdx.x != 0) return;
    PLANT(unsigned ticket = atomicAdd(done, 1); __threadfence();)
    partial[blockIdx.x] = x[blockIdx.x]; // first
    CLEAN(__threadfence(); unsigned ticket = atomicAdd(done, 1); __threadfence();)
    if (ticket == 3) {
        int v = 0;
        for (int k = 0; k < 4; ++k) v += partial[k]; // second
        y[0] = v;
    }
}

/// A queue: the place is drawn, then filled; the reader goes by the places drawn.
// race of items; grid 2, block 32
extern "C" __global__ void blocks_queue(const int* x, int* items, int* drawn, int* filled, int* y)
{
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        for (int k = 0; k < 4; ++k) {
            int where = atomicAdd(drawn, 1);
            items[where] = x[k]; // first
            __threadfence();
            atomicAdd(filled, 1);
        }
    } else {
        while (atomicAdd(EITHER(drawn, filled), 0) < 4) {}
        __threadfence();
        for (int k = 0; k < 4; ++k) y[k] = items[k]; // second
    }
}

/// A prefix over blocks: value and flag in one word, or in two without a fence.
// race of values; grid 4, block 32
extern "C" __global__ void blocks_look_back(const int* x, unsigned long long* packed, int* values, int* flags, int* y)
{
    if (threadIdx.x != 0) return;
    int b = blockIdx.x, before = 0;
#ifdef PLANTED
    if (b > 0) {
        while (atomicAdd(&flags[b - 1], 0) == 0) {}
        before = values[b - 1]; // second
    }
    values[b] = before + x[b]; // first
    KEEP;
    atomicExch(&flags[b], 1);
#else
    if (b > 0) {
        unsigned long long word = 0;
        while ((word = atomicAdd(&packed[b - 1], 0)) == 0) {}
        before = (int)word;
    }
    atomicExch(&packed[b], 1ull << 32 | (unsigned)(before + x[b]));
#endif
    y[b] = before;
}

/// A barrier of the grid by hand, without fences.
// race of words; grid 4, block 32
extern "C" __global__ void blocks_hand_made_barrier(const int* x, int* words, unsigned* arrived, int* y)
{
    int t = threadIdx.x, i = 32 * blockIdx.x + t;
    words[i] = x[i]; // first
    __syncthreads();
    if (t == 0) {
        CLEAN(__threadfence();)
        atomicAdd(arrived, 1);
        while (atomicAdd(arrived, 0) < gridDim.x) {}
        CLEAN(__threadfence();)
    }
    __syncthreads();
    y[i] = words[127 - i]; // second
}

/// The same barrier used twice with one count.
// race of words; grid 4, block 32
extern "C" __global__ void blocks_barrier_count(const int* x, int* words, unsigned* arrived, int* y)
{
    int t = threadIdx.x, i = 32 * blockIdx.x + t, v = 0;
    for (int k = 0; k < 2; ++k) {
        words[128 * k + i] = x[i] + k; // first
        __syncthreads();
        if (t == 0) {
            __threadfence();
            atomicAdd(arrived, 1);
            while (atomicAdd(arrived, 0) < gridDim.x * EITHER(1, (k + 1))) {}
            __threadfence();
        }
        __syncthreads();
        v += words[128 * k + 127 - i]; // second
    }
    y[i] = v;
}

/// Steps of a relaxation between two arrays, with no barrier of the grid.
// race of b; grid 2, block 32
extern "C" __global__ void blocks_steps(const int* x, int* a, int* b, unsigned* arrived, int* y)
{
    int i = 32 * blockIdx.x + threadIdx.x;
    b[i] = x[i] + x[(i + 1) % 64]; // first
    __threadfence();
    __syncthreads();
#ifndef PLANTED
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(arrived, 1);
        while (atomicAdd(arrived, 0) < 2) {}
        __threadfence();
    }
    __syncthreads();
#endif
    y[i] = b[i] + b[(i + 1) % 64]; // second
}

/// A matrix is transposed in place.
// race of y; grid 2 2, block 8 8
extern "C" __global__ void blocks_transpose_in_place(const int* x, int* y)
{
    int i = 8 * blockIdx.y + threadIdx.y, j = 8 * blockIdx.x + threadIdx.x;
    int v = EITHER(y, x)[16 * j + i]; // first
    __syncthreads();
    y[16 * i + j] = v + 1; // second
}

/// A neighbour's result is read through the read-only cache.
// race of y; grid 2, block 32
extern "C" __global__ void blocks_read_only_cache(const int* x, int* y, int* z)
{
    int i = 32 * blockIdx.x + threadIdx.x;
    y[i] = x[i]; // first
    z[i] = __ldg(EITHER(&y[63 - i], &x[63 - i])); // second
}

/// An input that all read, and one block writes.
// race of table; grid 4, block 32
extern "C" __global__ void blocks_table(const int* x, int* table, int* y)
{
    int t = threadIdx.x;
    PLANT(if (blockIdx.x == 3 && t == 0) table[0] = x[0];) // first
    y[32 * blockIdx.x + t] = table[t % 4] + x[t]; // second
}

__device__ int calls;
__device__ int latest;

/// Variables of the module.
// race of latest; grid 4, block 32
extern "C" __global__ void blocks_variable(const int* x, int* y)
{
    if (threadIdx.x != 0) return;
    atomicAdd(&calls, 1);
    EITHER(latest = blockIdx.x, atomicExch(&latest, blockIdx.x)); // first second
}

/// A list of nodes to which blocks push.
// race of head; grid 4, block 1
extern "C" __global__ void blocks_push(const int* x, int* head, int* next)
{
    int mine = blockIdx.x + 1;
#ifdef PLANTED
    next[mine] = *head; // first
    *head = mine; // second
#else
    int seen = atomicAdd(head, 0), old;
    do {
        old = seen;
        next[mine] = old;
        seen = atomicCAS(head, old, mine);
    } while (seen != old);
#endif
}

/// A long word that is written as one and read as two halves.
// race of word; grid 2, block 1
extern "C" __global__ void blocks_torn_word(const int* x, long long* word, int* y)
{
    unsigned long long* whole = reinterpret_cast<unsigned long long*>(word);
    if (blockIdx.x == 0) {
        EITHER(*whole = (unsigned long long)x[0] << 32 | x[1], atomicExch(whole, 77)); // first
    } else {
        y[0] = EITHER(reinterpret_cast<int*>(word)[1], (int)atomicAdd(whole, 0)); // second
    }
}

/// Made once by whoever comes first: others read it behind a flag without a fence.
// race of table; grid 4, block 1
extern "C" __global__ void blocks_made_once(const int* x, int* table, int* state, int* y)
{
    if (atomicCAS(state, 0, 1) == 0) {
        for (int k = 0; k < 4; ++k) table[k] = x[k] * 3; // first
        CLEAN(__threadfence();)
        atomicExch(state, 2);
    } else {
        while (atomicAdd(state, 0) != 2) {}
        CLEAN(__threadfence();)
        y[blockIdx.x] = table[blockIdx.x]; // second
    }
}

/// A pointer to a heap object, handed to another block.
// race of heap; grid 2, block 1
extern "C" __global__ void blocks_heap(const int* x, unsigned long long* place, int* y)
{
    if (blockIdx.x == 0) {
        int* fresh = static_cast<int*>(malloc(4 * sizeof(int)));
        for (int k = 0; k < 4; ++k) fresh[k] = x[k]; // first
        CLEAN(__threadfence();)
        atomicExch(place, reinterpret_cast<unsigned long long>(fresh));
    } else {
        unsigned long long seen = 0;
        while ((seen = atomicAdd(place, 0ull)) == 0) {}
        CLEAN(__threadfence();)
        int* taken = reinterpret_cast<int*>(seen);
        for (int k = 0; k < 4; ++k) y[k] = taken[k]; // second
        free(taken);
    }
}

/// A thread's row of the output: the index has the wrong width.
// race of y; grid 2, block 8 4
extern "C" __global__ void blocks_wrong_pitch(const int* x, int* y)
{
    int row = 4 * blockIdx.x + threadIdx.y, column = threadIdx.x;
    y[row * EITHER(7, 8) + column] = x[row * 8 + column] + row; // first second
}

/// blockIdx is left out of an index.
// race of y; grid 2 2, block 16
extern "C" __global__ void blocks_forgotten_index(const int* x, int* y)
{
    int i = blockIdx.x * 16 + threadIdx.x EITHER(, +32 * blockIdx.y);
    y[i] = x[i] + blockIdx.y; // first second
}

/// Warps of one block and global memory: the barrier orders it, as it does shared memory.
// race of y; grid 2, block 64
extern "C" __global__ void blocks_own_barrier(const int* x, int* y, int* z)
{
    int i = 64 * blockIdx.x + threadIdx.x, mirrored = 64 * blockIdx.x + 63 - threadIdx.x;
    y[i] = x[i]; // first
    CLEAN(__syncthreads();)
    z[i] = y[mirrored]; // second
}

/// Lanes of one warp and global memory.
// race of y (warp-synchronous); grid 2, block 32
extern "C" __global__ void blocks_own_lanes(const int* x, int* y, int* z)
{
    int i = 32 * blockIdx.x + threadIdx.x, mirrored = 32 * blockIdx.x + 31 - threadIdx.x;
    y[i] = x[i]; // first
    CLEAN(__syncwarp();)
    z[i] = y[mirrored]; // second
}

/// The last block reads a total behind its own addition, and waits for no other block.
// race of sum; grid 3, block 32
extern "C" __global__ void blocks_behind_own_atomic(const int* x, int* y, int* sum)
{
    if (threadIdx.x != 0) return;
    atomicExch(sum EITHER(, + blockIdx.x), x[blockIdx.x]); // first
    if (blockIdx.x == gridDim.x - 1) y[0] = sum[EITHER(0, 2)]; // second
}

/// One block clears a counter that all blocks add to.
// race of count; grid 3, block 64
extern "C" __global__ void blocks_counter_cleared(int* count, int* y)
{
    if (blockIdx.x == 0 && threadIdx.x == 1) PLANT(*count = 0) CLEAN(y[0] = 0); // first
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(count, 1); // second
}

/// Two blocks add to a total, and only one of them raises the flag behind a fence.
// race of sum; grid 3, block 1
extern "C" __global__ void blocks_second_writer(const int* x, int* y, int* sum, int* flag)
{
    if (blockIdx.x < 2) {
        atomicAdd(sum, x[blockIdx.x]); // first
        if (EITHER(blockIdx.x == 1, true)) {
            __threadfence();
            atomicAdd(flag, 1);
        }
    } else {
        while (atomicAdd(flag, 0) < EITHER(1, 2)) {}
        __threadfence();
        y[0] = *sum; // second
    }
}

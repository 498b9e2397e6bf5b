// Cooperative groups, cuda::atomic_ref, cuda::barrier, cuda::pipeline. The expected lines are those of the kernels.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>

#include "planted.cuh"

namespace cg = cooperative_groups;

/// grid.sync is missing between two phases.
// race of words; grid 4, block 32, cooperative
extern "C" __global__ void libraries_grid(const int* x, int* words, int* y)
{
    auto grid = cg::this_grid();
    int i = (int)grid.thread_rank();
    words[i] = x[i]; // first
    EITHER(__syncthreads(), grid.sync());
    y[i] = words[127 - i]; // second
}

/// grid.sync is left out in the last of three steps.
// race of a; grid 4, block 32, cooperative
extern "C" __global__ void libraries_grid_steps(const int* x, int* a, int* y)
{
    auto grid = cg::this_grid();
    int i = (int)grid.thread_rank();
    a[i] = x[i];
    grid.sync();
#pragma unroll 1
    for (int k = 0; k < 3; ++k) {
        int v = a[(i + 32) % 128]; // first
        if (EITHER(k < 2, true)) grid.sync();
        a[i] = v + k; // second
        if (k < 2) grid.sync();
    }
    y[i] = a[i];
}

/// A tile of 8 lanes synchronises itself; the planted twin reads outside of it.
// race of words (warp-synchronous); block 64
extern "C" __global__ void libraries_tile(const int* x, int* y)
{
    __shared__ int words[64];
    int t = threadIdx.x;
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    words[t] = x[t]; // first
    tile.sync();
    y[t] = words[t ^ EITHER(8, 4)]; // second
}

/// A group of the active lanes.
// race of words; block 32
extern "C" __global__ void libraries_coalesced(const int* x, int* y)
{
    __shared__ int words[32];
    int t = threadIdx.x;
    words[t] = 0;
    __syncwarp();
    if (t % 2) {
        auto active = cg::coalesced_threads();
        words[t] = x[t]; // first
        active.sync();
        y[t] = words[t ^ 2] * 3;
    }
    CLEAN(__syncwarp();)
    if (t % 2 == 0) y[t] = words[t + 1]; // second
}

/// block.sync is missing.
// race of words; block 64
extern "C" __global__ void libraries_block(const int* x, int* y)
{
    __shared__ int words[64];
    auto block = cg::this_thread_block();
    int t = (int)block.thread_rank();
    words[t] = x[t]; // first
    CLEAN(block.sync();)
    y[t] = words[63 - t]; // second
}

/// cluster.sync is missing.
// race or uninitialized of words; grid 4, block 32
extern "C" __global__ void __cluster_dims__(2, 1, 1) libraries_cluster(const int* x, int* y)
{
    __shared__ int words[32];
    auto cluster = cg::this_cluster();
    int t = threadIdx.x;
    cluster.sync();
    words[t] = x[t]; // first
    EITHER(__syncthreads(), cluster.sync());
    int v = cluster.map_shared_rank(words, cluster.block_rank() ^ 1)[31 - t]; // second
    cluster.sync();
    y[32 * blockIdx.x + t] = v;
}

/// memcpy_async without cg::wait.
// race or uninitialized of words; block 64
extern "C" __global__ void libraries_copy(const int* x, int* y)
{
    __shared__ __align__(16) int words[64];
    auto block = cg::this_thread_block();
    int t = threadIdx.x;
    cg::memcpy_async(block, words, x, cuda::aligned_size_t<16>(256)); // first
    EITHER(__syncthreads(), cg::wait(block));
    y[t] = words[63 - t]; // second
    PLANT(cg::wait(block);)
}

/// cuda::barrier: the writer reads before it has waited.
// race of words; block 64
extern "C" __global__ void libraries_barrier(const int* x, int* y)
{
    __shared__ int words[64];
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    int t = threadIdx.x;
    if (t == 0) init(&bar, 64);
    __syncthreads();
    words[t] = x[t]; // first
    auto token = bar.arrive();
    CLEAN(bar.wait(std::move(token));)
    y[t] = words[63 - t]; // second
    PLANT(bar.wait(std::move(token));)
}

/// memcpy_async into a cuda::barrier that nobody waits for.
// race or uninitialized of words; block 64
extern "C" __global__ void libraries_barrier_copy(const int* x, int* y)
{
    __shared__ __align__(16) int words[64];
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    auto block = cg::this_thread_block();
    int t = threadIdx.x;
    if (t == 0) init(&bar, 64);
    __syncthreads();
    cuda::memcpy_async(block, words, x, cuda::aligned_size_t<16>(256), bar); // first
    EITHER(__syncthreads(), bar.arrive_and_wait());
    y[t] = words[63 - t]; // second
    PLANT(bar.arrive_and_wait();)
}

/// A pipeline of two stages whose consumer does not wait.
// race or uninitialized of stages; block 64
extern "C" __global__ void libraries_pipeline(const int* x, int* y)
{
    __shared__ __align__(16) int stages[2][64];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    int t = threadIdx.x, sum = 0;
    for (int k = 0; k < 2; ++k) {
        pipe.producer_acquire();
        cuda::memcpy_async(block, stages[k], x + 64 * k, cuda::aligned_size_t<16>(256), pipe); // first
        pipe.producer_commit();
    }
    for (int k = 0; k < 2; ++k) {
        CLEAN(pipe.consumer_wait();)
        PLANT(__syncthreads();)
        sum += stages[k][63 - t]; // second
        PLANT(pipe.consumer_wait();)
        pipe.consumer_release();
    }
    y[t] = sum;
}

/// A flag by atomic_ref: relaxed in the planted twin.
// race of box; grid 2, block 1
extern "C" __global__ void libraries_relaxed(const int* x, int* box, int* flag, int* y)
{
    cuda::atomic_ref<int, cuda::thread_scope_device> raised(*flag);
    if (blockIdx.x == 0) {
        box[0] = x[0]; // first
        raised.store(1, EITHER(cuda::memory_order_relaxed, cuda::memory_order_release));
    } else {
        while (raised.load(EITHER(cuda::memory_order_relaxed, cuda::memory_order_acquire)) == 0) {}
        y[0] = box[0]; // second
    }
}

/// atomic_ref of the block's scope between blocks.
// race of total; grid 4, block 32
extern "C" __global__ void libraries_scope(const int* x, int* total)
{
    cuda::atomic_ref<int, EITHER(cuda::thread_scope_block, cuda::thread_scope_device)> sum(*total);
    sum.fetch_add(x[threadIdx.x], cuda::memory_order_relaxed); // first second
}

/// atomic_ref beside a plain increment.
// race of total; grid 4, block 32
extern "C" __global__ void libraries_atomic_and_plain(const int* x, int* total)
{
    cuda::atomic_ref<int, cuda::thread_scope_device> sum(*total);
    if (blockIdx.x < 3) sum.fetch_add(x[threadIdx.x], cuda::memory_order_relaxed); // first
    else EITHER(*total += 1, sum.fetch_add(1)); // second
}

/// A lock of acquire and release operations; the planted twin's release is relaxed.
// race of total; grid 4, block 1
extern "C" __global__ void libraries_lock(const int* x, int* lock, int* total)
{
    cuda::atomic_ref<int, cuda::thread_scope_device> taken(*lock);
    while (taken.exchange(1, cuda::memory_order_acquire) != 0) {}
    *total += x[blockIdx.x]; // first second
    taken.store(0, EITHER(cuda::memory_order_relaxed, cuda::memory_order_release));
}

/// atomic_thread_fence in place of __threadfence.
// race of box; grid 2, block 1
extern "C" __global__ void libraries_fence(const int* x, int* box, int* flag, int* y)
{
    cuda::atomic_ref<int, cuda::thread_scope_device> raised(*flag);
    if (blockIdx.x == 0) {
        box[0] = x[0]; // first
        cuda::atomic_thread_fence(cuda::memory_order_release, EITHER(cuda::thread_scope_block, cuda::thread_scope_device));
        raised.store(1, cuda::memory_order_relaxed);
    } else {
        while (raised.load(cuda::memory_order_relaxed) == 0) {}
        cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
        y[0] = box[0]; // second
    }
}

/// grid.sync that one block does not reach.
// deadlock; grid 4, block 32, cooperative
extern "C" __global__ void libraries_grid_not_reached(const int* x, int* y)
{
    auto grid = cg::this_grid();
    if (EITHER(blockIdx.x < 3, true)) grid.sync(); // first
    y[32 * blockIdx.x + threadIdx.x] = x[threadIdx.x];
}

/// The threads of a cuda::barrier are one fewer than it expects.
// deadlock; block 64
extern "C" __global__ void libraries_barrier_count(const int* x, int* y)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    int t = threadIdx.x;
    if (t == 0) init(&bar, EITHER(65, 64));
    __syncthreads();
    bar.arrive_and_wait(); // first
    y[t] = x[t];
}

// cuda::barrier, cuda::pipeline, memcpy_async. All run with: grid 4, block 128
#pragma nv_diag_suppress static_var_with_dynamic_init
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/pipeline>
#include <cuda/semaphore>
#include <cuda_pipeline_primitives.h>

#include "values.cuh"

namespace cg = cooperative_groups;

extern "C" __global__ void group_copy(const unsigned* x, unsigned* y)
{
    __shared__ __align__(16) unsigned words[512];
    auto block = cg::this_thread_block();
    cg::memcpy_async(block, words, x + 512 * blockIdx.x, cuda::aligned_size_t<16>(2048));
    cg::wait(block);
    for (int k = threadIdx.x; k < 512; k += 128) y[512 * blockIdx.x + k] = words[511 - k];
}

extern "C" __global__ void primitives(const unsigned* x, unsigned* y)
{
    __shared__ __align__(16) uint4 words[128];
    __shared__ unsigned singles[128];
    int i = thread_of_grid();
    __pipeline_memcpy_async(&words[threadIdx.x], reinterpret_cast<const uint4*>(x) + i, 16);
    __pipeline_commit();
    __pipeline_memcpy_async(&singles[threadIdx.x], x + i, 4);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    uint4 v = words[127 - threadIdx.x];
    __pipeline_wait_prior(0);
    __syncthreads();
    y[i] = v.x ^ v.y ^ v.z ^ v.w ^ singles[(threadIdx.x + 9) & 127];
}

extern "C" __global__ void pipeline(const unsigned* x, unsigned* y)
{
    __shared__ __align__(16) unsigned stages[2][128];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    unsigned sum = 0;
    for (int round = 0, fetched = 0; round < 6; ++round) {
        for (; fetched < 6 && fetched < round + 2; ++fetched) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, stages[fetched & 1], x + 128 * (fetched + blockIdx.x), sizeof(unsigned) * 128, pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        sum = sum * 3 + stages[round & 1][127 - threadIdx.x];
        pipe.consumer_release();
    }
    y[thread_of_grid()] = sum;
}

extern "C" __global__ void barriers(const unsigned* x, unsigned* y)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ unsigned words[128];
    auto block = cg::this_thread_block();
    if (block.thread_rank() == 0) init(&bar, block.size());
    block.sync();
    unsigned v = x[thread_of_grid()];
    for (int round = 0; round < 3; ++round) {
        words[threadIdx.x] = v;
        auto token = bar.arrive();
        v ^= round * 77;
        bar.wait(std::move(token));
        v = v * 5 + words[(threadIdx.x + 31) & 127];
        bar.arrive_and_wait();
    }
    y[thread_of_grid()] = v;
}

extern "C" __global__ void barrier_copy(const unsigned* x, unsigned* y)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ __align__(16) unsigned words[512];
    auto block = cg::this_thread_block();
    if (block.thread_rank() == 0) init(&bar, block.size());
    block.sync();
    cuda::memcpy_async(block, words, x + 512 * blockIdx.x, cuda::aligned_size_t<16>(2048), bar);
    bar.arrive_and_wait();
    for (int k = threadIdx.x; k < 512; k += 128) y[512 * blockIdx.x + k] = words[(k * 5) & 511];
}

extern "C" __global__ void latches(const unsigned* x, unsigned* y)
{
    using Latch = cuda::latch<cuda::thread_scope_block>;
    __shared__ alignas(Latch) unsigned char place[sizeof(Latch)];
    __shared__ unsigned sum;
    Latch* done = reinterpret_cast<Latch*>(place);
    if (threadIdx.x == 0) {
        new (done) Latch(128);
        sum = 0;
    }
    __syncthreads();
    atomicAdd(&sum, x[thread_of_grid()]);
    done->arrive_and_wait();
    y[thread_of_grid()] = sum;
}

// Atomics by intrinsics, cuda::atomic and cuda::atomic_ref. All run with: grid 4, block 256
#include <cuda/atomic>

#include "values.cuh"

/// Every operation whose result does not depend on the order.
extern "C" __global__ void intrinsics(const unsigned* x, unsigned* y)
{
    __shared__ unsigned s[8];
    int i = thread_of_grid(), t = threadIdx.x;
    unsigned v = x[i];
    if (t < 8) s[t] = t == 3 ? ~0u : 0;
    if (t < 16) y[64 * blockIdx.x + t] = t == 2 || t == 3 ? ~0u : 0;
    __syncthreads();
    unsigned* g = y + 64 * blockIdx.x;
    atomicAdd(g, v), atomicSub(g + 1, v), atomicMin(g + 2, v), atomicAnd(g + 3, v | 0xffff0000), atomicMax(g + 4, v);
    atomicOr(g + 5, v & 0x0f0f), atomicXor(g + 6, v), atomicInc(g + 7, 100), atomicDec(g + 8, 77);
    atomicMax((int*)g + 9, (int)v), atomicMin((int*)g + 10, (int)v);
    atomicAdd((unsigned long long*)(g + 12), wide_of(v, i)), atomicAdd((float*)(g + 14), (float)(v & 15));
    atomicAdd(s, v), atomicXor(s + 1, v), atomicMax(s + 2, v), atomicAnd(s + 3, ~v | 7), atomicInc(s + 4, 90);
    atomicAdd((float*)s + 5, (float)(v & 3)), atomicOr((unsigned long long*)(s + 6), 1ull << (v & 63));
    __syncthreads();
    if (t < 8) g[16 + t] = s[t];
}

extern "C" __global__ void wide(const unsigned* x, unsigned* y)
{
    int i = thread_of_grid();
    unsigned long long v = wide_of(x[i], x[i + 1024]), *g = (unsigned long long*)y + 16 * blockIdx.x;
    if (threadIdx.x < 8) g[threadIdx.x] = threadIdx.x == 1 || threadIdx.x == 3 ? ~0ull : 0;
    __syncthreads();
    atomicMax(g, v), atomicMin(g + 1, v), atomicXor(g + 2, v), atomicAnd(g + 3, v | 1ull << 63), atomicOr(g + 4, v & 0xf0f0);
    atomicMax((long long*)g + 5, (long long)v), atomicMin((long long*)g + 6, (long long)v);
    atomicAdd((double*)g + 7, (double)(v & 31));
}

/// Compare and swap in a loop: a float maximum.
extern "C" __global__ void swaps(const unsigned* x, unsigned* y)
{
    unsigned *g = y + 2 * blockIdx.x, old;
    float v = unit(x[thread_of_grid()]);
    if (threadIdx.x == 0) g[0] = 0, g[1] = 0;
    __syncthreads();
    do {
        old = *(volatile unsigned*)g;
        if (__uint_as_float(old) >= v) break;
    } while (atomicCAS(g, old, __float_as_uint(v)) != old);
    __syncthreads();
    if (__uint_as_float(*(volatile unsigned*)g) == v) atomicExch(g + 1, threadIdx.x + 1);
}

extern "C" __global__ void references(const unsigned* x, unsigned* y)
{
    __shared__ cuda::atomic<unsigned, cuda::thread_scope_block> count;
    int i = thread_of_grid();
    unsigned v = x[i], *g = y + 16 * blockIdx.x;
    if (threadIdx.x == 0) count.store(0, cuda::memory_order_relaxed);
    if (threadIdx.x < 8) g[threadIdx.x] = 0;
    __syncthreads();
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> sum(g[0]), most(g[1]), mixed(g[2]);
    sum.fetch_add(v, cuda::memory_order_relaxed);
    most.fetch_max(v);
    mixed.fetch_xor(v, cuda::memory_order_acq_rel);
    cuda::atomic_ref<float, cuda::thread_scope_system> real(reinterpret_cast<float&>(g[3]));
    real.fetch_add((float)(v & 7), cuda::memory_order_release);
    cuda::atomic_ref<unsigned long long> wide(*(unsigned long long*)(g + 4));
    wide.fetch_or(1ull << (v & 63), cuda::memory_order_seq_cst);
    count.fetch_add(v & 3);
    count++;
    cuda::atomic_ref<unsigned char> byte(((unsigned char*)g)[25]);
    byte.fetch_add(1);
    __syncthreads();
    if (threadIdx.x == 0) g[7] = count.load(cuda::memory_order_acquire);
}

/// A lock in global memory around an update that is no single instruction.
extern "C" __global__ void lock(const unsigned* x, unsigned* y)
{
    unsigned* g = y + 4 * blockIdx.x;
    if (threadIdx.x == 0) g[0] = 0, g[1] = 0, g[2] = 1;
    __syncthreads();
    bool done = false;
    while (!done) {
        if (atomicCAS(g, 0, 1) == 0) {
            __threadfence();
            volatile unsigned* shared = g;
            shared[1] = shared[1] + (x[thread_of_grid()] & 255);
            shared[2] = shared[2] * 3;
            __threadfence();
            atomicExch(g, 0);
            done = true;
        }
    }
}

/// The last block to finish adds up what all have written.
extern "C" __global__ void last_block(const unsigned* x, unsigned* y)
{
    __shared__ bool last;
    __shared__ unsigned total;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    atomicAdd(&total, x[thread_of_grid()]);
    __syncthreads();
    if (threadIdx.x == 0) {
        y[1 + blockIdx.x] = total;
        __threadfence();
        last = atomicInc(y + 64, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        unsigned sum = 0;
        for (int k = 0; k < gridDim.x; ++k) sum += ((volatile unsigned*)y)[1 + k];
        y[0] = sum;
    }
}

// Barriers, shared memory and the thread's coordinates. All run with: grid 4, block 256
#include "values.cuh"

extern "C" __global__ void counting_barriers(const unsigned* x, unsigned* y)
{
    int i = thread_of_grid();
    y[4 * i] = __syncthreads_count(x[i] & 1);
    y[4 * i + 1] = __syncthreads_and(x[i] != 12345);
    y[4 * i + 2] = __syncthreads_or((x[i] & 1023) == 5);
    y[4 * i + 3] = __syncthreads_or(0);
}

/// Half of the block waits at one barrier, half at another; then producers and consumers meet at a third and a fourth.
extern "C" __global__ void named_barriers(const unsigned* x, unsigned* y)
{
    __shared__ unsigned half[2], line[128];
    int t = threadIdx.x, side = t / 128;
    if (t % 128 == 0) half[side] = 0;
    asm volatile("bar.sync %0, 128;" ::"r"(1 + side) : "memory");
    atomicAdd(&half[side], x[thread_of_grid()] & 255);
    asm volatile("bar.sync %0, 128;" ::"r"(1 + side) : "memory");
    unsigned own = half[side];
    for (int round = 0; round < 4; ++round) {
        if (side == 0) {
            line[t] = own * (round + 1) + t;
            asm volatile("bar.arrive 3, 256;" ::: "memory");
            asm volatile("bar.sync 4, 256;" ::: "memory");
        } else {
            asm volatile("bar.sync 3, 256;" ::: "memory");
            own += line[t - 128];
            asm volatile("bar.arrive 4, 256;" ::: "memory");
        }
    }
    y[thread_of_grid()] = own;
}

extern "C" __global__ void barrier_votes(const unsigned* x, unsigned* y)
{
    unsigned count, some, all, v = x[thread_of_grid()];
    asm volatile("{ .reg .pred p; setp.gt.u32 p, %1, 0x80000000; barrier.red.popc.u32 %0, 5, 256, p; }" : "=r"(count) : "r"(v));
    asm volatile("{ .reg .pred p, q; setp.eq.u32 p, %1, 77; barrier.red.or.pred q, 6, p; selp.u32 %0, 1, 0, q; }" : "=r"(some) : "r"(v));
    asm volatile("{ .reg .pred p, q; setp.ne.u32 p, %1, 77; bar.red.and.pred q, 7, !p; selp.u32 %0, 1, 0, q; }" : "=r"(all) : "r"(v));
    y[thread_of_grid()] = count * 4 + some * 2 + all;
}

extern "C" __global__ void early_exit(const unsigned* x, unsigned* y)
{
    __shared__ unsigned total;
    int i = thread_of_grid();
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    if (threadIdx.x >= 200) return;
    atomicAdd(&total, x[i] & 15);
    __syncthreads();
    y[i] = total;
}

/// Odd-even merge sort of a block.
extern "C" __global__ void sort(const unsigned* x, unsigned* y)
{
    __shared__ unsigned words[256];
    int t = threadIdx.x;
    words[t] = x[thread_of_grid()];
    for (int size = 2; size <= 256; size *= 2)
        for (int stride = size / 2; stride > 0; stride /= 2) {
            __syncthreads();
            int other = t ^ stride;
            unsigned a = words[t], b = words[other];
            if (other > t && (a > b) == ((t & size) == 0)) words[t] = b, words[other] = a;
        }
    __syncthreads();
    y[thread_of_grid()] = words[t];
}

// grid 3 2 2, block 8 4 2
extern "C" __global__ void coordinates(const unsigned* x, unsigned* y)
{
    int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    y[block * 64 + thread] = blockIdx.z * 1000000 + blockIdx.y * 100000 + blockIdx.x * 10000 + threadIdx.z * 1000 +
                             threadIdx.y * 100 + threadIdx.x + gridDim.z + blockDim.y;
}

// grid 4, block 256, shared 5120
extern "C" __global__ void dynamic_shared(const unsigned* x, unsigned* y)
{
    extern __shared__ __align__(16) unsigned char bytes[];
    float4* quads = reinterpret_cast<float4*>(bytes);
    unsigned short* shorts = reinterpret_cast<unsigned short*>(bytes + 4096);
    int t = threadIdx.x, i = thread_of_grid();
    quads[t] = make_float4(unit(x[i]), unit(x[i]) * 2, unit(x[i]) * 3, t);
    shorts[t] = x[i];
    __syncthreads();
    float4 other = quads[255 - t];
    unsigned size;
    asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(size));
    y[2 * i] = __float_as_uint(other.x + other.y * other.z - other.w) + shorts[(t * 7) & 255];
    y[2 * i + 1] = size;
}

extern "C" __global__ void special_registers(const unsigned* x, unsigned* y)
{
    int i = thread_of_grid();
    unsigned a, b;
    unsigned long long c;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(a));
    asm volatile("mov.u32 %0, %%clock;" : "=r"(b));
    y[4 * i] = b - a < 0x7fffffff;
    long long first = clock64(), second = clock64();
    y[4 * i + 1] = second >= first;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(c));
    y[4 * i + 2] = c != 0;
    __nanosleep(20);
    asm volatile("mov.u32 %0, %%nsmid;" : "=r"(a));
    asm volatile("mov.u32 %0, %%smid;" : "=r"(b));
    y[4 * i + 3] = b < a;
}

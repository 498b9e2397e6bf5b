// Warp operations as CUDA C++ has them. All run with: grid 4, block 256
#include "values.cuh"

#define ALL 0xffffffffu

extern "C" __global__ void shuffles(const unsigned* x, unsigned* y)
{
    int i = thread_of_grid();
    unsigned v = x[i], *out = y + 12 * i;
    out[0] = __shfl_sync(ALL, v, i * 5 + 1);
    out[1] = __shfl_up_sync(ALL, v, 3);
    out[2] = __shfl_down_sync(ALL, v, 7);
    out[3] = __shfl_xor_sync(ALL, v, 21);
    out[4] = __shfl_sync(ALL, v, i * 3, 8);
    out[5] = __shfl_up_sync(ALL, v, 2, 4);
    out[6] = __shfl_down_sync(ALL, v, 5, 16);
    out[7] = __shfl_xor_sync(ALL, v, 9, 8);
    out[8] = __float_as_uint(__shfl_xor_sync(ALL, __uint_as_float(v), 1));
    double wide = __shfl_down_sync(ALL, __hiloint2double(v, ~v), 1);
    out[9] = __double2hiint(wide);
    out[10] = __double2loint(wide);
    out[11] = (unsigned)(__shfl_up_sync(ALL, (long long)wide_of(v, i), 4) >> 7);
}

extern "C" __global__ void votes(const unsigned* x, unsigned* y)
{
    int i = thread_of_grid();
    unsigned v = x[i], *out = y + 5 * i;
    out[0] = __ballot_sync(ALL, v & 1);
    out[1] = __any_sync(ALL, (v & 63) == 7);
    out[2] = __all_sync(ALL, (v & 63) != 7);
    out[3] = __ballot_sync(ALL, unit(v) < 0.25f);
    out[4] = __popc(out[0] & ((1u << (i & 31)) - 1));
}

extern "C" __global__ void matches(const unsigned* x, unsigned* y)
{
    int i = thread_of_grid(), same;
    unsigned v = x[i] & 7, *out = y + 6 * i;
    out[0] = __match_any_sync(ALL, v);
    out[1] = __match_any_sync(ALL, (unsigned long long)v << 35);
    out[2] = __match_all_sync(ALL, v, &same);
    out[3] = same;
    out[4] = __match_all_sync(ALL, blockIdx.x, &same);
    out[5] = same;
}

extern "C" __global__ void reductions(const unsigned* x, unsigned* y)
{
    int i = thread_of_grid();
    unsigned v = x[i], *out = y + 8 * i;
    out[0] = __reduce_add_sync(ALL, v);
    out[1] = __reduce_min_sync(ALL, v);
    out[2] = __reduce_max_sync(ALL, v);
    out[3] = __reduce_and_sync(ALL, v | 0xff00ff);
    out[4] = __reduce_or_sync(ALL, v & 0x0f0f0f0f);
    out[5] = __reduce_xor_sync(ALL, v);
    out[6] = __reduce_min_sync(ALL, (int)v);
    out[7] = __reduce_max_sync(ALL, (int)v);
}

extern "C" __global__ void parts(const unsigned* x, unsigned* y)
{
    int i = thread_of_grid(), lane = i & 31;
    unsigned v = x[i], total = 0;
    if (lane < 13)
        total = __reduce_add_sync(0x1fffu, v) + __shfl_sync(0x1fffu, v, 12);
    else if (lane < 20)
        total = __ballot_sync(0xfe000u, v & 2) ^ __shfl_xor_sync(0xfe000u, v, 0);
    else
        for (int k = 20; k < 32; ++k)
            total += __shfl_sync(0xfff00000u, v, k) * k;
    __syncwarp();
    y[i] = total + __shfl_down_sync(ALL, total, 16);
}

/// The lanes of a warp go round a loop differently often and meet again behind it.
extern "C" __global__ void collatz(const unsigned* x, unsigned* y)
{
    int i = thread_of_grid();
    unsigned v = x[i] % 10007 + 1, steps = 0;
    while (v != 1) {
        v = v & 1 ? 3 * v + 1 : v / 2;
        ++steps;
    }
    __syncwarp();
    unsigned most = __reduce_max_sync(ALL, steps);
    unsigned winners = __ballot_sync(ALL, steps == most);
    y[2 * i] = steps;
    y[2 * i + 1] = most << 5 | (__ffs(winners) - 1);
}

/// An inclusive scan by shuffles, then over the warps through shared memory.
extern "C" __global__ void scan(const unsigned* x, unsigned* y)
{
    __shared__ unsigned sums[32];
    int i = thread_of_grid(), lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    unsigned v = x[i] & 0xffff;
    for (int step = 1; step < 32; step *= 2) {
        unsigned other = __shfl_up_sync(ALL, v, step);
        if (lane >= step) v += other;
    }
    if (lane == 31) sums[warp] = v;
    __syncthreads();
    if (warp == 0) {
        unsigned s = lane < blockDim.x / 32 ? sums[lane] : 0;
        for (int step = 1; step < 32; step *= 2) {
            unsigned other = __shfl_up_sync(ALL, s, step);
            if (lane >= step) s += other;
        }
        sums[lane] = s;
    }
    __syncthreads();
    y[i] = v + (warp ? sums[warp - 1] : 0);
}

extern "C" __global__ void masks(const unsigned* x, unsigned* y)
{
    unsigned a, b, c, d, e, *out = y + 7 * thread_of_grid();
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(a));
    asm("mov.u32 %0, %%lanemask_le;" : "=r"(b));
    asm("mov.u32 %0, %%lanemask_gt;" : "=r"(c));
    asm("mov.u32 %0, %%lanemask_ge;" : "=r"(d));
    asm("mov.u32 %0, %%lanemask_eq;" : "=r"(e));
    out[0] = a, out[1] = b, out[2] = c, out[3] = d, out[4] = e;
    out[5] = __activemask();
    asm("mov.u32 %0, %%laneid;" : "=r"(a));
    out[6] = a + warpSize;
}

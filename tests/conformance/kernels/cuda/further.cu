// Further headers, and habits of CUDA programs. All run with: grid 4, block 128
#include <cooperative_groups.h>
#include <cuComplex.h>
#include <cub/block/block_adjacent_difference.cuh>
#include <cub/thread/thread_reduce.cuh>
#include <cuda/annotated_ptr>
#include <cuda/cmath>
#include <cuda/functional>
#include <cuda/ptx>
#include <cuda_fp8.h>

#include "values.cuh"

namespace cg = cooperative_groups;

extern "C" __global__ void eighths(const unsigned* x, unsigned* y)
{
    int i = thread_of_grid();
    float f = single_of(x[i], i);
    __nv_fp8_e4m3 a(f);
    __nv_fp8_e5m2 b(f * 100.0f);
    __nv_fp8x2_e4m3 pair(make_float2(unit(x[i]) * 500.0f, -f));
    y[4 * i] = a.__x | b.__x << 8 | (unsigned)pair.__x << 16;
    y[4 * i + 1] = __float_as_uint((float)a);
    y[4 * i + 2] = __float_as_uint((float)b);
    y[4 * i + 3] = __float_as_uint(__half2float(__half(__nv_cvt_fp8_to_halfraw((unsigned char)x[i], __NV_E4M3))));
}

extern "C" __global__ void hints(const unsigned* x, unsigned* y)
{
    int i = thread_of_grid();
    cuda::annotated_ptr<const unsigned, cuda::access_property::streaming> from(x);
    cuda::annotated_ptr<unsigned, cuda::access_property::persisting> to(y);
    to[i] = from[i] + cuda::ceil_div(x[i + 1], 7u) + cuda::ptx::get_sreg_ntid_x() + cuda::ptx::get_sreg_laneid();
    unsigned narrow;
    asm volatile("ld.global.nc.L1::no_allocate.L2::256B.u32 %0, [%1];" : "=r"(narrow) : "l"(x + i));
    y[512 + i] = narrow ^ __ldlu(x + i) ^ __ldcv(x + 3);
    __stcg(y + 1024 + i, narrow), __stwt(y + 1536 + i, narrow + 1);
}

extern "C" __global__ void own_cluster(const unsigned* x, unsigned* y)
{
#if __CUDA_ARCH__ >= 900
    __shared__ unsigned words[128];
    auto cluster = cg::this_cluster();
    words[threadIdx.x] = x[thread_of_grid()];
    cluster.sync();
    unsigned* mapped = cluster.map_shared_rank(words, 0);
    y[thread_of_grid()] = mapped[127 - threadIdx.x] + cluster.num_blocks() * 3 + cluster.block_rank();
    cluster.barrier_arrive();
    cluster.barrier_wait();
#else
    y[thread_of_grid()] = x[0];
#endif
}

extern "C" __global__ void differences(const unsigned* x, unsigned* y)
{
    using Difference = cub::BlockAdjacentDifference<unsigned, 128>;
    __shared__ typename Difference::TempStorage storage;
    unsigned items[4];
    int i = thread_of_grid();
    for (int k = 0; k < 4; ++k) items[k] = x[4 * i + k];
    y[4 * i + 3] = cub::ThreadReduce(items, cuda::std::plus<>{});
    Difference(storage).SubtractLeft(items, items, cuda::std::minus<>{});
    for (int k = 0; k < 3; ++k) y[4 * i + k] = items[k];
}

extern "C" __global__ void complex_numbers(const unsigned* x, unsigned* y)
{
    int i = thread_of_grid();
    cuFloatComplex a = make_cuFloatComplex(unit(x[i]), unit(x[i + 512])), b = cuConjf(a);
    for (int k = 0; k < 3; ++k) b = cuCaddf(cuCmulf(b, a), cuCdivf(a, b));
    cuDoubleComplex c = cuCmul(cuComplexFloatToDouble(a), make_cuDoubleComplex(0.5, -2.0));
    y[4 * i] = __float_as_uint(cuCrealf(b)), y[4 * i + 1] = __float_as_uint(cuCimagf(b));
    y[4 * i + 2] = __float_as_uint(cuCabsf(a)), y[4 * i + 3] = __float_as_uint((float)cuCabs(c));
}

/// One warp produces, one consumes; flags in shared memory that are spun upon.
extern "C" __global__ void handed_over(const unsigned* x, unsigned* y)
{
    __shared__ volatile unsigned slot, full;
    if (threadIdx.x == 0) full = 0;
    __syncthreads();
    unsigned sum = 0;
    for (int round = 0; round < 8; ++round) {
        if (threadIdx.x == 0) {
            while (full) {}
            slot = x[blockIdx.x * 8 + round];
            __threadfence_block();
            full = 1;
        } else if (threadIdx.x == 64) {
            while (!full) __nanosleep(10);
            sum = sum * 31 + slot;
            __threadfence_block();
            full = 0;
        }
    }
    if (threadIdx.x == 64) y[blockIdx.x] = sum;
}

__device__ unsigned total_of(unsigned v)
{
    __shared__ unsigned parts[4];
    unsigned sum = __reduce_add_sync(0xffffffff, v);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = parts[0] + parts[1] + parts[2] + parts[3];
    __syncthreads();
    return sum;
}
extern "C" __global__ void waiting_functions(const unsigned* x, unsigned* y)
{
    unsigned v = x[thread_of_grid()];
    for (int round = 0; round < 3; ++round) v = v * 3 + total_of(v ^ round);
    y[thread_of_grid()] = v;
}

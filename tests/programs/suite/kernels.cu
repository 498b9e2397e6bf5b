#include <cooperative_groups.h>

#include "kernels.h"

__constant__ float factor = 1;
__device__ unsigned calls;
__managed__ int total = 5;

KERNEL saxpy(int n, float a, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}

KERNEL block_sums(int n, const int *values, int *sums)
{
    __shared__ int partial[128];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    partial[threadIdx.x] = i < n ? values[i] : 0;
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            partial[threadIdx.x] += partial[threadIdx.x + half];
    }
    if (threadIdx.x == 0)
        sums[blockIdx.x] = partial[0];
}

KERNEL neighbours(const int *values, int *sums, int synchronise)
{
    __shared__ int row[64];
    row[threadIdx.x] = values[threadIdx.x];
    if (synchronise)
        __syncthreads();
    sums[threadIdx.x] = row[threadIdx.x] + row[(threadIdx.x + 33) % 64]; /* race without the barrier */
}

KERNEL reverse_dynamic(int n, int *values)
{
    extern __shared__ int copy[];
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        copy[i] = values[i];
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        values[i] = copy[n - 1 - i];
}

KERNEL transpose(const char *rows, size_t pitch, int width, int height, float *columns)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height)
        columns[x * height + y] = reinterpret_cast<const float *>(rows + y * pitch)[x];
}

KERNEL histogram(int n, const unsigned char *bytes, unsigned *counts)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&counts[bytes[i]], 1u);
}

KERNEL scale_by_constant(int n, float *values)
{
    if (threadIdx.x < n)
        values[threadIdx.x] *= factor;
}

KERNEL count_calls(int n)
{
    if (threadIdx.x < n)
        atomicAdd(&calls, 1u);
}

KERNEL add_to_managed(int n)
{
    if (threadIdx.x == 0)
        total += n;
}

KERNEL clamp(int n, Range range, double *values)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        values[i] = values[i] < range.low ? range.low : values[i] > range.high ? range.high : values[i];
}

KERNEL warp_maximum(const int *values, int *maximum)
{
    int value = values[threadIdx.x];
    for (int distance = 16; distance > 0; distance /= 2)
        value = max(value, __shfl_down_sync(0xffffffff, value, distance));
    if (threadIdx.x == 0)
        *maximum = value;
}

KERNEL sample_texture(cudaTextureObject_t texture, int width, float *values)
{
    if (threadIdx.x < width)
        values[threadIdx.x] = tex2D<float>(texture, threadIdx.x + 0.5f, 1.5f);
}

KERNEL two_phases(int n, int *first, int *second)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        first[i] = i;
    cooperative_groups::this_grid().sync();
    if (i < n)
        second[i] = first[n - 1 - i];
}

KERNEL write_outside(int *values)
{
    values[threadIdx.x] = 1;
}

KERNEL say_hello(int number)
{
    printf("hello from the kernel, %d\n", number);
}

#ifndef __CUDACC_RTC__
const void *const factor_symbol = &factor;
const void *const calls_symbol = &calls;

int &managed_total()
{
    return total;
}
#endif

// $Revision: 1.0 $
// Bugs that W. B. Langdon met while he wrote and evolved GPU kernels (configs/langdon/ has a job for each). Every kernel is
// here twice: as it should be, and with -DBROKEN=1 as it was. A harness that does not find the second is of no use.
#ifndef BROKEN
#define BROKEN 0
#endif

/// A block copies a tile, each thread its share. Broken: each thread copies one element, as if there were as many threads as
/// elements.
__global__ void copy_tiles(float* out, const float* x, int tile)
{
    const int start = blockIdx.x * tile;
#if BROKEN
    if (threadIdx.x < tile)
        out[start + threadIdx.x] = x[start + threadIdx.x];
#else
    for (int i = threadIdx.x; i < tile; i += blockDim.x)
        out[start + i] = x[start + i];
#endif
}

/// The same by one thread: nothing to go wrong.
__global__ void copy_by_one(float* out, const float* x, int n)
{
    for (int i = 0; i < n; ++i)
        out[i] = x[i];
}

/// Two arrays in dynamic shared memory. Broken: the second begins a warp before the first ends.
__global__ void two_arrays(float* out, const float* x, const float* y)
{
    extern __shared__ float first[];
    float* second = first + blockDim.x - (BROKEN ? 32 : 0);
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    first[threadIdx.x] = x[i];
    __syncthreads();
    second[threadIdx.x] = y[i];
    __syncthreads();
    out[i] = 2.0f * first[threadIdx.x];
}

/// What two_arrays is for, without shared memory.
__global__ void one_array(float* out, const float* x)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = 2.0f * x[i];
}

/// Each warp adds 32 numbers in shared memory. Broken: the last steps trust that a warp runs in lockstep, without volatile and
/// without __syncwarp.
__global__ void warp_sums(int* sums, const int* x)
{
    __shared__ int part[32];
    const int lane = threadIdx.x;
    part[lane] = x[blockIdx.x * 32 + lane];
    __syncwarp();
    for (int step = 16; step > 0; step /= 2) {
        if (lane < step)
            part[lane] += part[lane + step];
#if !BROKEN
        __syncwarp();
#endif
    }
    if (lane == 0)
        sums[blockIdx.x] = part[0];
}

/// Each sum by one thread, number after number.
__global__ void sums_by_one(int* sums, const int* x)
{
    int sum = 0;
    for (int i = 0; i < 32; ++i)
        sum += x[blockIdx.x * 32 + i];
    sums[blockIdx.x] = sum;
}

#if BROKEN
typedef int word;
#else
typedef unsigned int word;
#endif

/// A multiplicative hash: the top bits of a product. Broken: the product is signed, and so is the shift.
__global__ void hash(unsigned int* out, const unsigned int* keys, int n, int bits)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = static_cast<word>(keys[i] * 2654435769u) >> (32 - bits);
}

/// Each thread adds every stride-th element. Broken: the stride is n in whole warps, which is 0 where n is less than a warp.
__global__ void strided(int* out, const int* x, int n)
{
    const int stride = BROKEN ? min(n / 32 * 32, blockDim.x) : blockDim.x;
    int sum = 0;
    for (int i = threadIdx.x; i < n; i += stride)
        sum += x[i];
    out[threadIdx.x] = sum;
}

/// How many of a block's answers are right, in percent. Broken: the last warp, which is not whole, is not counted below the line.
__global__ void score(float* percent, const int* answers, const int* truth, int n)
{
    __shared__ int right;
    if (threadIdx.x == 0)
        right = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        if (answers[blockIdx.x * n + i] == truth[i])
            atomicAdd(&right, 1);
    __syncthreads();
    const int of = BROKEN ? n / 32 * 32 : n;
    if (threadIdx.x == 0)
        percent[blockIdx.x] = 100.0f * right / of;
}

/// Counts the threads. Broken: each reads the counter, waits for the others, and writes what it read plus one; the result says
/// how many races were lost.
__global__ void count_threads(int* counter)
{
#if BROKEN
    const int seen = *counter;
    __syncthreads();
    *counter = seen + 1;
#else
    atomicAdd(counter, 1);
#endif
}

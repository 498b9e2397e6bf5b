// $Revision: 1.4 $
// A sum in two launches: blocks to partial sums, partial sums to one number.
//
// Teaches: there is no barrier between blocks inside a launch, but the end of a launch is one. The first kernel adds in a
// tree in dynamic shared memory (bytes given by the job's `shared:`), the second by warp shuffles, which need no shared
// memory and no barrier. Both add in a fixed order: the same bits on every run, unlike a sum by float atomics (dot.cu).

/// sum[b] = the sum of block b's elements of x. Block: a power of two; shared memory: one T a thread.
template <typename T>
__global__ void block_sum(T* sum, const T* x, int n)
{
    // Dynamic shared memory is one array for all instances of the template, hence bytes and a cast.
    extern __shared__ __align__(16) unsigned char shared_bytes[];
    T* partial = reinterpret_cast<T*>(shared_bytes);

    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    partial[threadIdx.x] = i < n ? x[i] : T(0);
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        sum[blockIdx.x] = partial[0];
}

/// *total = the sum of n partial sums. One block of one warp.
template <typename T>
__global__ void warp_sum(T* total, const T* partial, int n)
{
    T sum = T(0);
    for (int i = threadIdx.x; i < n; i += warpSize)
        sum += partial[i];
    for (int offset = warpSize / 2; offset > 0; offset /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, offset);
    if (threadIdx.x == 0)
        *total = sum;
}

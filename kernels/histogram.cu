// $Revision: 1.0 $
// A histogram of bytes by atomics, with a private copy for each block.
//
// Teaches: atomics in shared memory first, so that the blocks meet in global memory only once a bin; a loop over bins that
// does not need as many threads as bins. Integer atomics give the same counts in any order, so the comparison stays exact.

/// counts[v] += how often value v stands in data. Shared memory: 4 bytes a bin. Values must be below `bins`.
__global__ void histogram(unsigned int* counts, const unsigned char* data, int n, int bins)
{
    extern __shared__ unsigned int local_counts[];
    for (int bin = threadIdx.x; bin < bins; bin += blockDim.x)
        local_counts[bin] = 0;
    __syncthreads();

    const int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        atomicAdd(&local_counts[data[i]], 1u);
    __syncthreads();

    for (int bin = threadIdx.x; bin < bins; bin += blockDim.x)
        if (local_counts[bin] != 0)
            atomicAdd(&counts[bin], local_counts[bin]);
}

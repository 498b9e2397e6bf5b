// $Revision: 1.0 $
// A dot product in one launch, by float atomics.
//
// Teaches: what a tolerance is for. The blocks add their shares in the order in which they finish, float addition does not
// associate, so on a GPU the last bits change from run to run. The job bounds how much; reduce.cu shows the sum that needs no bound.

/// *sum (from 0) += the sum of x[i] y[i]. Block: a multiple of 32.
__global__ void dot(float* sum, const float* x, const float* y, int n)
{
    const int stride = gridDim.x * blockDim.x;
    float share = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        share = fmaf(x[i], y[i], share);
    for (int offset = warpSize / 2; offset > 0; offset /= 2)
        share += __shfl_xor_sync(0xffffffffu, share, offset);
    if (threadIdx.x % warpSize == 0)
        atomicAdd(sum, share);
}

// $Revision: 1.1 $
// Inclusive prefix sum over many blocks, in three launches.
//
// Teaches: scan each block, scan the blocks' totals with the same kernel, add them back. Inside a block a warp scans by
// shuffles and the warps' totals meet in shared memory, so a block needs two barriers, not log2(threads). A null pointer
// (`null` in the job's args) says that nobody wants the totals of the second launch.

/// The inclusive sum over the lanes of a warp up to this one.
template <typename T>
__device__ T scan_warp(T value)
{
    const int lane = threadIdx.x % warpSize;
    for (int offset = 1; offset < warpSize; offset *= 2) {
        const T below = __shfl_up_sync(0xffffffffu, value, offset);
        if (lane >= offset)
            value += below;
    }
    return value;
}

/// out = the inclusive sum within each block; totals[b] = block b's sum, unless totals is null. Block: a multiple of 32.
template <typename T>
__global__ void scan_blocks(T* out, T* totals, const T* in, int n)
{
    __shared__ T warp_totals[32];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int warp = threadIdx.x / warpSize;
    const int lane = threadIdx.x % warpSize;

    T value = scan_warp(i < n ? in[i] : T(0));
    if (lane == warpSize - 1)
        warp_totals[warp] = value;
    __syncthreads();
    if (warp == 0) {
        const int warps = blockDim.x / warpSize;
        warp_totals[lane] = scan_warp(lane < warps ? warp_totals[lane] : T(0));
    }
    __syncthreads();
    if (warp > 0)
        value += warp_totals[warp - 1];
    if (i < n)
        out[i] = value;
    if (totals != nullptr && threadIdx.x == blockDim.x - 1)
        totals[blockIdx.x] = value;
}

/// out[i] += the sum of all blocks before i's. `scanned_totals` is inclusive.
template <typename T>
__global__ void add_block_offsets(T* out, const T* scanned_totals, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (blockIdx.x > 0 && i < n)
        out[i] += scanned_totals[blockIdx.x - 1];
}

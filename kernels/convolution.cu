// $Revision: 2.0 $
// A 17 x 17 convolution of an image, filter in constant memory, image tile with its halo in shared memory.
//
// Teaches: all threads read the same tap at the same time, which constant memory serves in one go; the host (here: the
// job's `symbol: d_filter`) fills the variable before the launch; a block loads its tile and RADIUS pixels around it, and
// pixels outside the image repeat its edge.
#include "indexing.cuh"

#ifndef RADIUS
#define RADIUS 8
#endif

constexpr int SIDE = 2 * RADIUS + 1;
constexpr int TILE = 16;
constexpr int HALO_TILE = TILE + 2 * RADIUS;

__constant__ float d_filter[SIDE * SIDE];

/// out[y][x] = the sum over (i, j) of d_filter[j][i] in[y + j - RADIUS][x + i - RADIUS]. Block: TILE x TILE.
__global__ void convolve(float* out, const float* in, int width, int height)
{
    __shared__ float tile[HALO_TILE][HALO_TILE];
    const int left = blockIdx.x * TILE - RADIUS;
    const int top = blockIdx.y * TILE - RADIUS;
    for (int j = threadIdx.y; j < HALO_TILE; j += TILE)
        for (int i = threadIdx.x; i < HALO_TILE; i += TILE) {
            const int x = indexing::clamp(left + i, 0, width - 1);
            const int y = indexing::clamp(top + j, 0, height - 1);
            tile[j][i] = in[y * width + x];
        }
    __syncthreads();

    const int x = indexing::global_x();
    const int y = indexing::global_y();
    if (x >= width || y >= height)
        return;  // no barrier below
    float sum = 0.0f;
    for (int j = 0; j < SIDE; ++j)
        for (int i = 0; i < SIDE; ++i)
            sum = fmaf(d_filter[j * SIDE + i], tile[threadIdx.y + j][threadIdx.x + i], sum);
    out[y * width + x] = sum;
}

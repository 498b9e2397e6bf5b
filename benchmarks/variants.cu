// A convolution whose tile and radius are macros: a thousand variants of one kernel, each a program of its own.
#ifndef TILE_X
#define TILE_X 16
#endif
#ifndef TILE_Y
#define TILE_Y 8
#endif
#ifndef RADIUS
#define RADIUS 2
#endif
constexpr int SIDE = 2 * RADIUS + 1;
__constant__ float d_filter[SIDE * SIDE];
__device__ int clamped(int v, int low, int high) { return v < low ? low : v > high ? high : v; }
__global__ void convolve(float* out, const float* in, int width, int height)
{
    __shared__ float tile[TILE_Y + 2 * RADIUS][TILE_X + 2 * RADIUS];
    const int left = blockIdx.x * TILE_X - RADIUS;
    const int top = blockIdx.y * TILE_Y - RADIUS;
    for (int j = threadIdx.y; j < TILE_Y + 2 * RADIUS; j += TILE_Y)
        for (int i = threadIdx.x; i < TILE_X + 2 * RADIUS; i += TILE_X)
            tile[j][i] = in[clamped(top + j, 0, height - 1) * width + clamped(left + i, 0, width - 1)];
    __syncthreads();
    const int x = blockIdx.x * TILE_X + threadIdx.x;
    const int y = blockIdx.y * TILE_Y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    float sum = 0.0f;
    for (int j = 0; j < SIDE; ++j)
        for (int i = 0; i < SIDE; ++i)
            sum = fmaf(d_filter[j * SIDE + i], tile[threadIdx.y + j][threadIdx.x + i], sum);
    out[y * width + x] = sum;
}

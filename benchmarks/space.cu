// A tiled convolution: each thread computes TILE_X by TILE_Y elements, from a tile of the image in shared memory.
#ifndef BLOCK_X
#define BLOCK_X 16
#define BLOCK_Y 8
#define TILE_X 2
#define TILE_Y 1
#define PAD 0
#endif
#ifndef RADIUS
#define RADIUS 2
#endif
constexpr int WIDTH = BLOCK_X * TILE_X, HEIGHT = BLOCK_Y * TILE_Y;
#ifdef PLANTED
constexpr int LAST = 2 * RADIUS - (TILE_X == 4 && BLOCK_X > 16); // the bug: some variants lack a column of the filter
#else
constexpr int LAST = 2 * RADIUS;
#endif
__constant__ float d_filter[(2 * RADIUS + 1) * (2 * RADIUS + 1)];

__global__ void convolve(float *out, const float *image, int width, int height)
{
    __shared__ float tile[HEIGHT + 2 * RADIUS][WIDTH + 2 * RADIUS + PAD];
    const int left = blockIdx.x * WIDTH - RADIUS, top = blockIdx.y * HEIGHT - RADIUS;
    for (int j = threadIdx.y; j < HEIGHT + 2 * RADIUS; j += BLOCK_Y)
        for (int i = threadIdx.x; i < WIDTH + 2 * RADIUS; i += BLOCK_X) {
            const int x = left + i, y = top + j;
            const bool inside = x >= 0 && x < width && y >= 0 && y < height;
            tile[j][i] = inside ? image[y * width + x] : 0.0f;
        }
    __syncthreads();
#pragma unroll
    for (int b = 0; b < TILE_Y; ++b)
#pragma unroll
        for (int a = 0; a < TILE_X; ++a) {
            const int i = threadIdx.x + a * BLOCK_X, j = threadIdx.y + b * BLOCK_Y;
            float sum = 0.0f;
            for (int v = 0; v <= 2 * RADIUS; ++v)
                for (int u = 0; u <= LAST; ++u)
                    sum = fmaf(d_filter[v * (2 * RADIUS + 1) + u], tile[j + v][i + u], sum);
            const int x = left + RADIUS + i, y = top + RADIUS + j;
            if (x < width && y < height)
                out[y * width + x] = sum;
        }
}

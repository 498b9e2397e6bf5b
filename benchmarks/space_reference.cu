// The trusted kernel of the tiled convolution: a thread for each element, no shared memory.
#ifndef RADIUS
#define RADIUS 2
#endif
__constant__ float d_filter[(2 * RADIUS + 1) * (2 * RADIUS + 1)];

__global__ void naive(float *out, const float *image, int width, int height)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    float sum = 0.0f;
    for (int v = -RADIUS; v <= RADIUS; ++v)
        for (int u = -RADIUS; u <= RADIUS; ++u) {
            const bool inside = x + u >= 0 && x + u < width && y + v >= 0 && y + v < height;
            const float pixel = inside ? image[(y + v) * width + x + u] : 0.0f;
            sum = fmaf(d_filter[(v + RADIUS) * (2 * RADIUS + 1) + u + RADIUS], pixel, sum);
        }
    out[y * width + x] = sum;
}

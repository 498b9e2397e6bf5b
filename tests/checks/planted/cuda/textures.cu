// Textures and surfaces. A read through either may miss what its own launch has written, whatever orders the two (CUDA
// programming guide, "Read/Write Coherency").
#include "planted.cuh"

/// Two threads write one texel.
// race of y; block 64
// s: surface of y, 32 32
extern "C" __global__ void textures_write_write(cudaSurfaceObject_t s, int* y)
{
    int t = threadIdx.x;
    surf2Dwrite(t, s, EITHER(t / 2, t % 32) * 4, EITHER(0, t / 32)); // first second
}

/// Two blocks write one texel.
// race of y; grid 2, block 32
// s: surface of y, 32 32
extern "C" __global__ void textures_blocks_write(cudaSurfaceObject_t s, int* y)
{
    int t = threadIdx.x;
    surf2Dwrite(t + 32 * int(blockIdx.x), s, t * 4, EITHER(7, blockIdx.x)); // first second
}

/// All store the same value in one texel.
// race of y (same value); block 64
// s: surface of y, 32 32
extern "C" __global__ void textures_same_value(cudaSurfaceObject_t s, int* y)
{
    int t = threadIdx.x;
    surf2Dwrite(5, s, EITHER(0, t % 32) * 4, EITHER(1, t / 32)); // first second
}

/// A stencil that writes where neighbours still read.
// race of y; grid 2, block 32
// s: surface of y, 32 32
// other: surface of z, 32 32
extern "C" __global__ void textures_stencil_in_place(cudaSurfaceObject_t s, cudaSurfaceObject_t other, int* y, int* z)
{
    int t = threadIdx.x, row = blockIdx.x, left = 0, right = 0;
    surf2Dread(&left, s, t * 4, row, cudaBoundaryModeClamp);            // first
    surf2Dread(&right, s, t * 4 + 4, row + 1, cudaBoundaryModeClamp);   // first
    surf2Dwrite(left + right, EITHER(s, other), t * 4, row);            // second
}

/// Coordinates beyond the edge are moved to the edge.
// race of y; block 64
// s: surface of y, 32 32
extern "C" __global__ void textures_clamped(cudaSurfaceObject_t s, int* y)
{
    int t = threadIdx.x;
    surf2Dwrite(t, s, t * 4, 3, EITHER(cudaBoundaryModeClamp, cudaBoundaryModeZero)); // first second
}

/// Bytes of one word are texels of their own.
// race of y; block 64
// s: surface of y, 32 32
extern "C" __global__ void textures_bytes(cudaSurfaceObject_t s, unsigned char* y)
{
    int t = threadIdx.x;
    surf2Dwrite((unsigned char)t, s, EITHER(t % 32 & ~1, t % 32), t / 32); // first second
}

/// The layer is that of another block.
// race of y; grid 3, block 16
// s: layered surface of y, 16 16 4
extern "C" __global__ void textures_layers(cudaSurfaceObject_t s, float* y)
{
    int t = threadIdx.x, layer = blockIdx.x;
    surf2DLayeredwrite(float(t + layer), s, t * 4, 2, EITHER(layer / 2, layer)); // first second
}

/// A thread reads the texel that it has written.
// race of y; block 32
// s: surface of y, 32 32
// other: surface of x, 32 32
extern "C" __global__ void textures_own_write(cudaSurfaceObject_t s, cudaSurfaceObject_t other, const int* x, int* y,
                                              int* z)
{
    int t = threadIdx.x, read = 0;
    surf2Dwrite(t, s, t * 4, 0);                  // first
    surf2Dread(&read, EITHER(s, other), t * 4, 0); // second
    z[t] = read;
}

/// A barrier does not make writes visible to surface reads.
// race of y; block 64
// s: surface of y, 32 32
extern "C" __global__ void textures_barrier(cudaSurfaceObject_t s, int* y, int* z)
{
    __shared__ int written[64];
    int t = threadIdx.x, read = 0;
    surf2Dwrite(t, s, t % 32 * 4, t / 32); // first
    written[t] = t;
    __syncthreads();
    PLANT(surf2Dread(&read, s, (63 - t) % 32 * 4, (63 - t) / 32);) // second
    CLEAN(read = written[63 - t];)
    z[t] = read;
}

/// A fence and a flag order the two, but a fetch may miss the write.
// race of y; grid 2, block 1
// image: texture of y, 1024, linear memory
extern "C" __global__ void textures_flag(cudaTextureObject_t image, int* y, int* z, unsigned* flags)
{
    if (blockIdx.x == 0) {
        y[5] = 7; // first
        __threadfence();
        atomicExch(flags, 1u);
    } else {
        while (atomicAdd(flags, 0u) == 0) { }
        __threadfence();
        z[0] = EITHER(tex1Dfetch<int>(image, 5), y[5]); // second
    }
}

/// A fetch of an element that the thread has stored by its pointer.
// race of y; block 32
// image: texture of y, 1024, linear memory
extern "C" __global__ void textures_fetch_of_stored(cudaTextureObject_t image, int* y, int* z)
{
    int t = threadIdx.x;
    y[t] = 3 * t;                                             // first
    z[t] = tex1Dfetch<int>(image, EITHER(t, t + 32)); // second
}

/// Another thread stores what is fetched, with no barrier between.
// race of y; block 64
// image: texture of y, 1024, linear memory
extern "C" __global__ void textures_fetch_before_store(cudaTextureObject_t image, int* y, int* z)
{
    int t = threadIdx.x;
    z[t] = tex1Dfetch<int>(image, 63 - t); // first
    CLEAN(__syncthreads();)
    y[t] = t; // second
}

/// Linear filtering reads the neighbour, too: between two texels, not in the middle of one.
// race of y; block 16
// image: texture of y, 32 32, linear
// s: surface of y, 32 32
extern "C" __global__ void textures_filtered(cudaTextureObject_t image, cudaSurfaceObject_t s, float* y, float* z)
{
    int t = threadIdx.x;
    z[t] = tex2D<float>(image, 2 * t + EITHER(0.75f, 0.5f), 4.5f); // first
    surf2Dwrite(1.0f, s, (2 * (t ^ 1) + 1) * 4, 4);                // second
}

/// A row below, with a fraction.
// race of y; block 16
// image: texture of y, 32 32, linear
extern "C" __global__ void textures_filtered_row(cudaTextureObject_t image, float* y, float* z)
{
    int t = threadIdx.x;
    y[32 + t] = t;                                                 // first
    z[t] = tex2D<float>(image, t + 0.5f, EITHER(1.25f, 2.5f)); // second
}

/// Gathers the four texels around a point.
// race of y; block 8
// image: texture of y, 32 32
extern "C" __global__ void textures_gather(cudaTextureObject_t image, float* y, float* z)
{
    int t = threadIdx.x;
    y[32 * EITHER(3, 4) + 2 * t] = t;                              // first
    z[t] = tex2Dgather<float4>(image, 2 * t + 1.0f, 3.0f, 0).w; // second
}

/// Under `wrap` the texel beyond the edge is the first one.
// race of y; block 1
// image: normalized texture of y, 32 32, linear
extern "C" __global__ void textures_wrapped(cudaTextureObject_t image, float* y, float* z)
{
    y[EITHER(0, 1)] = 2;                                // first
    z[0] = tex2D<float>(image, 1.0f - 1.0f / 256, 0.5f / 32); // second
}

/// A layer of a texture that is written.
// race of y; block 16
// image: layered texture of y, 16 16 4
extern "C" __global__ void textures_layer_fetch(cudaTextureObject_t image, float* y, float* z)
{
    int t = threadIdx.x;
    y[256 * EITHER(2, 1) + t] = t;                                     // first
    z[t] = tex2DLayered<float>(image, t + 0.5f, 0.5f, 2); // second
}

/// A surface that nobody has written.
// uninitialized of z; block 32
// s: surface of y, 32 32
// other: surface of z, 32 32
// z: unwritten
extern "C" __global__ void textures_unwritten(cudaSurfaceObject_t s, cudaSurfaceObject_t other, int* y, int* z,
                                              int* out)
{
    int t = threadIdx.x, read = 0;
    surf2Dread(&read, EITHER(other, s), t * 4, 0); // first
    out[t] = read;
}

/// A filter reaches beyond what the thread wrote into fresh memory: the column is read, the row below is not.
// uninitialized of z; block 1
// image: texture of z, 32 32, linear
// other: texture of y, 32 32, linear
// z: unwritten
extern "C" __global__ void textures_unwritten_fetch(cudaTextureObject_t image, cudaTextureObject_t other, float* y,
                                                    float* z, float* out)
{
    out[0] = tex2D<float>(EITHER(image, other), 3.0f, 0.5f); // first
}

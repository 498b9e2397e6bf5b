// Textures, the nearest element, and surfaces. All run with: grid 4, block 128
#include "values.cuh"

template <int N> struct Images { cudaTextureObject_t t[N]; };
using I1 = Images<1>; using I2 = Images<2>; using I4 = Images<4>; using I6 = Images<6>; using I8 = Images<8>;

/// Inside and around an extent, no nearer than an eighth of an element to a boundary between two.
__device__ inline float place(unsigned word, int extent)
{
    return int(word % (5 * extent)) - 2 * extent + (1 + (word >> 16) % 7) * 0.125f;
}

/// The same in coordinates that go from 0 to 1.
__device__ inline float share(unsigned word, int extent) { return place(word, extent) / extent; }

/// A value's bits, word by word.
template <class T> __device__ inline void emit(unsigned*& y, T value)
{
    constexpr int count = (sizeof(T) + 3) / 4;
    union { T value; unsigned words[count]; } both;
    for (int k = 0; k < count; ++k) both.words[k] = 0;
    both.value = value;
    for (int k = 0; k < count; ++k) *y++ = both.words[k];
}

// images: float32*1 37 clamp; float32*1 37 border; float32*1 37 clamp normalized; float32*1 37 wrap normalized;
//         float32*1 37 mirror normalized; float32*1 37 border normalized
extern "C" __global__ void row(const unsigned* x, unsigned* y, I6 images)
{
    int i = thread_of_grid();
    unsigned* to = y + 8 * i;
    for (int k = 0; k < 2; ++k) emit(to, tex1D<float>(images.t[k], place(x[i], 37)));
    for (int k = 2; k < 6; ++k) emit(to, tex1D<float>(images.t[k], share(x[i], 37)));
}

// images: float32*1 19x13 clamp; float32*1 19x13 border; float32*1 19x13 clamp normalized;
//         float32*1 19x13 wrap normalized; float32*1 19x13 mirror normalized; float32*1 19x13 border normalized
extern "C" __global__ void plane(const unsigned* x, unsigned* y, I6 images)
{
    int i = thread_of_grid();
    unsigned* to = y + 8 * i;
    for (int k = 0; k < 2; ++k) emit(to, tex2D<float>(images.t[k], place(x[i], 19), place(x[i + 1024], 13)));
    for (int k = 2; k < 6; ++k) emit(to, tex2D<float>(images.t[k], share(x[i], 19), share(x[i + 1024], 13)));
}

// images: float32*1 16x6x5 clamp; float32*1 16x6x5 border; float32*1 16x6x5 clamp normalized;
//         float32*1 16x6x5 wrap normalized; float32*1 16x6x5 mirror normalized; float32*1 16x6x5 border normalized
extern "C" __global__ void brick(const unsigned* x, unsigned* y, I6 images)
{
    int i = thread_of_grid();
    unsigned *to = y + 8 * i, a = x[i], b = x[i + 1024], c = x[i + 2048];
    for (int k = 0; k < 2; ++k) emit(to, tex3D<float>(images.t[k], place(a, 16), place(b, 6), place(c, 5)));
    for (int k = 2; k < 6; ++k) emit(to, tex3D<float>(images.t[k], share(a, 16), share(b, 6), share(c, 5)));
}

// images: int16*2 16x6x5 wrap/mirror/clamp normalized; int16*2 16x6x5 border/wrap/mirror normalized;
//         int16*2 16x6x5 clamp/border/wrap normalized; int16*2 16x6x5 mirror/clamp/border normalized
extern "C" __global__ void mixed_modes(const unsigned* x, unsigned* y, I4 images)
{
    int i = thread_of_grid();
    unsigned *to = y + 8 * i, a = x[i], b = x[i + 1024], c = x[i + 2048];
    for (int k = 0; k < 4; ++k) emit(to, tex3D<short2>(images.t[k], share(a, 16), share(b, 6), share(c, 5)));
}

// images: uint8*1 19x13; int8*2 19x13; uint8*4 19x13; uint16*4 19x13; int16*1 19x13; uint32*2 19x13; int32*4 19x13;
//         uint32*1 19x13
extern "C" __global__ void integers(const unsigned* x, unsigned* y, I8 images)
{
    int i = thread_of_grid();
    unsigned* to = y + 16 * i;
    float a = place(x[i], 19), b = place(x[i + 1024], 13);
    emit(to, tex2D<uchar1>(images.t[0], a, b)); emit(to, tex2D<char2>(images.t[1], a, b));
    emit(to, tex2D<uchar4>(images.t[2], a, b)); emit(to, tex2D<ushort4>(images.t[3], a, b));
    emit(to, tex2D<short1>(images.t[4], a, b)); emit(to, tex2D<uint2>(images.t[5], a, b));
    emit(to, tex2D<int4>(images.t[6], a, b)); emit(to, tex2D<unsigned>(images.t[7], a, b));
}

// images: float16*1 19x13; float16*2 19x13; float16*4 19x13; float32*1 19x13; float32*2 19x13; float32*4 19x13
extern "C" __global__ void floats(const unsigned* x, unsigned* y, I6 images)
{
    int i = thread_of_grid();
    unsigned* to = y + 16 * i;
    float a = place(x[i], 19), b = place(x[i + 1024], 13);
    emit(to, tex2D<float>(images.t[0], a, b)); emit(to, tex2D<float2>(images.t[1], a, b));
    emit(to, tex2D<float4>(images.t[2], a, b)); emit(to, tex2D<float1>(images.t[3], a, b));
    emit(to, tex2D<float2>(images.t[4], a, b)); emit(to, tex2D<float4>(images.t[5], a, b));
}

// images: uint8*1 16x16 share; int8*4 16x16 share; uint16*2 64x64 share; int16*4 64x64 share wrap normalized
extern "C" __global__ void shares(const unsigned* x, unsigned* y, I4 images)
{
    int i = thread_of_grid();
    unsigned* to = y + 16 * i;
    float a = place(x[i], 16), b = place(x[i + 1024], 16);
    emit(to, tex2D<float>(images.t[0], a, b)); emit(to, tex2D<float4>(images.t[1], a, b));
    emit(to, tex2D<float2>(images.t[2], place(x[i], 64), place(x[i + 1024], 64)));
    emit(to, tex2D<float4>(images.t[3], share(x[i], 64), share(x[i + 1024], 64)));
}

// images: float32*4 300 memory; uint8*2 300 memory; int16*1 300 memory; uint32*2 300 memory; float16*4 300 memory;
//         uint8*4 300 memory share
extern "C" __global__ void fetched(const unsigned* x, unsigned* y, I6 images)
{
    int i = thread_of_grid(), at = int(x[i] % 340) - 20;
    unsigned* to = y + 24 * i;
    emit(to, tex1Dfetch<float4>(images.t[0], at)); emit(to, tex1Dfetch<uchar2>(images.t[1], at));
    emit(to, tex1Dfetch<short>(images.t[2], at)); emit(to, tex1Dfetch<uint2>(images.t[3], at));
    emit(to, tex1Dfetch<float4>(images.t[4], at)); emit(to, tex1Dfetch<float4>(images.t[5], at));
}

// images: float32*4 19x13; uint8*4 19x13; int16*2 19x13 wrap/mirror normalized; float32*1 19x13 border
extern "C" __global__ void gathered(const unsigned* x, unsigned* y, I4 images)
{
    int i = thread_of_grid();
    unsigned* to = y + 32 * i;
    // The four are taken around a place an eighth and more away from the middle of an element.
    float a = place(x[i], 19) + 0.5f, b = place(x[i + 1024], 13) + 0.5f;
    emit(to, tex2Dgather<float4>(images.t[0], a, b, 0)); emit(to, tex2Dgather<float4>(images.t[0], a, b, 1));
    emit(to, tex2Dgather<float4>(images.t[0], a, b, 2)); emit(to, tex2Dgather<float4>(images.t[0], a, b, 3));
    emit(to, tex2Dgather<uchar4>(images.t[1], a, b, 2)); emit(to, tex2Dgather<uchar4>(images.t[1], a, b, 0));
    emit(to, tex2Dgather<short4>(images.t[2], a / 19, b / 13, 1)); emit(to, tex2Dgather<float4>(images.t[3], a, b, 0));
}

// images: float32*2 37; float32*2 19x13 wrap normalized; uint16*4 16x6x5 border; float32*2 19x13
extern "C" __global__ void levels(const unsigned* x, unsigned* y, I4 images)
{
    int i = thread_of_grid();
    unsigned *to = y + 16 * i, a = x[i], b = x[i + 1024], c = x[i + 2048];
    float level = (int)(c % 9) - 2;
    emit(to, tex1DLod<float2>(images.t[0], place(a, 37), level));
    emit(to, tex2DLod<float2>(images.t[1], share(a, 19), share(b, 13), level));
    emit(to, tex3DLod<ushort4>(images.t[2], place(a, 16), place(b, 6), place(c, 5), level));
    float2 dx = make_float2(level, 0.5f), dy = make_float2(0, 3);
    emit(to, tex2DGrad<float2>(images.t[3], place(a, 19), place(b, 13), dx, dy));
}

// images: float32*1 37; uint8*4 19x13; int16*2 16x6x5; float32*1 37 surface; uint8*4 19x13 surface; int16*2 16x6x5 surface
extern "C" __global__ void extents(const unsigned* x, unsigned* y, I6 images)
{
    unsigned* to = y + 18 * thread_of_grid();
#define ASK(instruction, handle) asm volatile(instruction ".b32 %0, [%1];" : "=r"(*to++) : "l"(handle))
    for (int k = 0; k < 3; ++k) {
        ASK("txq.width", images.t[k]);
        if (k > 0) ASK("txq.height", images.t[k]);
        if (k > 1) ASK("txq.depth", images.t[k]);
        ASK("suq.width", images.t[k + 3]);
        if (k > 0) ASK("suq.height", images.t[k + 3]);
        if (k > 1) ASK("suq.depth", images.t[k + 3]);
    }
}

// --- surfaces: what is in them afterwards counts, too -------------------------------------------------------------------

#define BOTH(read, ...) emit(to, read(__VA_ARGS__, cudaBoundaryModeClamp)); emit(to, read(__VA_ARGS__, cudaBoundaryModeZero))

// images: float32*1 37 surface; uint8*1 37 surface; int16*4 37 surface; uint32*4 37 surface
extern "C" __global__ void surface_rows_read(const unsigned* x, unsigned* y, I4 images)
{
    int i = thread_of_grid(), at = int(x[i] % 80) - 20;
    unsigned* to = y + 24 * i;
    BOTH(surf1Dread<float>, images.t[0], 4 * at); BOTH(surf1Dread<unsigned char>, images.t[1], at);
    BOTH(surf1Dread<short4>, images.t[2], 8 * at); BOTH(surf1Dread<uint4>, images.t[3], 16 * at);
}

// images: float32*2 19x13 surface; uint8*4 19x13 surface; int16*1 19x13 surface; float32*4 19x13 surface
extern "C" __global__ void surface_planes_read(const unsigned* x, unsigned* y, I4 images)
{
    int i = thread_of_grid(), a = int(x[i] % 40) - 10, b = int(x[i + 1024] % 30) - 8;
    unsigned* to = y + 24 * i;
    BOTH(surf2Dread<float2>, images.t[0], 8 * a, b); BOTH(surf2Dread<uchar4>, images.t[1], 4 * a, b);
    BOTH(surf2Dread<short>, images.t[2], 2 * a, b); BOTH(surf2Dread<float4>, images.t[3], 16 * a, b);
    emit(to, surf2Dread<float2>(images.t[0], 8 * (x[i] % 19), x[i + 1024] % 13));
}

// images: float32*1 16x6x5 surface; uint8*2 16x6x5 surface; int32*2 16x6x5 surface; float16*4 16x6x5 surface
extern "C" __global__ void surface_bricks_read(const unsigned* x, unsigned* y, I4 images)
{
    int i = thread_of_grid(), a = int(x[i] % 40) - 10, b = int(x[i + 1024] % 16) - 5, c = int(x[i + 2048] % 14) - 4;
    unsigned* to = y + 20 * i;
    BOTH(surf3Dread<float>, images.t[0], 4 * a, b, c); BOTH(surf3Dread<uchar2>, images.t[1], 2 * a, b, c);
    BOTH(surf3Dread<int2>, images.t[2], 8 * a, b, c); BOTH(surf3Dread<ushort4>, images.t[3], 8 * a, b, c);
}

/// One thread an element, those of some rows outside too: what is outside is dropped, or lands on one edge only.
// grid 2 2 1, block 16 8, images: float32*1 20x13 surface; uint8*4 20x13 surface; uint32*2 20x13 surface;
//         float32*4 20x13 surface; int16*2 20x13 surface; uint8*1 20x13 surface
extern "C" __global__ void surface_planes_written(const unsigned* x, unsigned* y, I6 images)
{
    int a = blockIdx.x * 16 + threadIdx.x - 4, b = blockIdx.y * 8 + threadIdx.y, i = (a + 4) + 32 * b;
    surf2Dwrite(unit(x[i]), images.t[0], 4 * a, b, cudaBoundaryModeZero);
    surf2Dwrite(make_uchar4(x[i], x[i + 512], x[i + 1024], x[i + 1536]), images.t[1], 4 * a, b, cudaBoundaryModeZero);
    surf2Dwrite(make_uint2(x[i], x[i + 512]), images.t[2], 8 * a, b, cudaBoundaryModeZero);
    if (a >= 0 && a < 20 && b < 13) {
        surf2Dwrite(make_float4(unit(x[i]), 1, unit(x[i + 512]), -0.0f), images.t[3], 16 * a, b);
        y[i] = 1;
    }
    // Under clamp just one column lands on the first element of a row, and one row on the last.
    if (a >= -1 && a != 0 && a < 20 && b != 12 && b < 14)
        surf2Dwrite(make_short2(x[i], x[i + 512]), images.t[4], 4 * a, b, cudaBoundaryModeClamp);
    if (a >= -1 && a != 0 && a < 20 && b != 12 && b < 14)
        surf2Dwrite((unsigned char)x[i], images.t[5], a, b, cudaBoundaryModeClamp);
}

// grid 1, block 16 6 5, images: float32*1 37 surface; uint16*1 16x6x5 surface; float32*4 16x6x5 surface; uint8*4 37 surface
extern "C" __global__ void surface_bricks_written(const unsigned* x, unsigned* y, I4 images)
{
    int a = threadIdx.x, b = threadIdx.y, c = threadIdx.z, i = a + 16 * (b + 6 * c);
    surf1Dwrite(unit(x[i]), images.t[0], 4 * (i - 100), cudaBoundaryModeZero);
    surf3Dwrite((unsigned short)x[i], images.t[1], 2 * (a + 1), b - 1, c, cudaBoundaryModeZero);
    surf3Dwrite(make_float4(unit(x[i]), 2, 3, unit(x[i + 512])), images.t[2], 16 * (15 - a), 5 - b, 4 - c);
    if (i < 37) surf1Dwrite(make_uchar4(x[i], i, 3, 4), images.t[3], 4 * i);
    y[i] = i;
}

/// Read and written through one surface, each element by one thread.
// grid 5, block 4 13, images: float32*1 20x13 surface
extern "C" __global__ void surface_in_place(const unsigned* x, unsigned* y, I1 images)
{
    int a = blockIdx.x * 4 + threadIdx.x, b = threadIdx.y;
    float value = surf2Dread<float>(images.t[0], 4 * a, b);
    surf2Dwrite(value * 0.5f + a, images.t[0], 4 * a, b);
    y[a + 20 * b] = __float_as_uint(value);
}

// --- layers and cubes ---------------------------------------------------------------------------------------------------

// images: float32*1 37x5 layered clamp; uint8*4 37x5 layered border; int16*2 37x5 layered wrap normalized;
//         float32*2 37x5 layered mirror normalized
extern "C" __global__ void layered_rows(const unsigned* x, unsigned* y, I4 images)
{
    int i = thread_of_grid(), layer = x[i + 2048] % 5;
    unsigned* to = y + 8 * i;
    emit(to, tex1DLayered<float>(images.t[0], place(x[i], 37), layer));
    emit(to, tex1DLayered<uchar4>(images.t[1], place(x[i], 37), layer));
    emit(to, tex1DLayered<short2>(images.t[2], share(x[i], 37), layer));
    emit(to, tex1DLayeredLod<float2>(images.t[3], share(x[i], 37), layer, 2.0f));
}

// images: float32*1 19x13x4 layered clamp; uint16*4 19x13x4 layered border; int8*2 19x13x4 layered wrap/mirror normalized;
//         float16*2 19x13x4 layered mirror/border normalized
extern "C" __global__ void layered_planes(const unsigned* x, unsigned* y, I4 images)
{
    int i = thread_of_grid(), layer = x[i + 2048] % 4;
    unsigned* to = y + 8 * i;
    emit(to, tex2DLayered<float>(images.t[0], place(x[i], 19), place(x[i + 1024], 13), layer));
    emit(to, tex2DLayered<ushort4>(images.t[1], place(x[i], 19), place(x[i + 1024], 13), layer));
    emit(to, tex2DLayered<char2>(images.t[2], share(x[i], 19), share(x[i + 1024], 13), layer));
    emit(to, tex2DLayered<float2>(images.t[3], share(x[i], 19), share(x[i + 1024], 13), layer));
}

/// Layers that are not there: the documents say nothing.
// images: float32*1 37x5 layered; float32*1 19x13x4 layered; float32*1 8x8x18 cube-layered
extern "C" __global__ void layers_outside(const unsigned* x, unsigned* y, Images<3> images)
{
    int i = thread_of_grid(), layers[] = {-1, 5, 6, 255, 256, 65535, 65536, -70000, 1 << 30, 18, 3, 4, 17};
    unsigned* to = y + 4 * i;
    int layer = layers[i % 13];
    emit(to, tex1DLayered<float>(images.t[0], 7.5f, layer));
    emit(to, tex2DLayered<float>(images.t[1], 7.5f, 3.5f, layer));
    emit(to, texCubemapLayered<float>(images.t[2], 1.0f, 0.3f, 0.2f, layer));
}

/// A direction, no nearer than an eighth of an element to a boundary or to an edge of the cube.
__device__ inline float3 direction(const unsigned* x, int i, int extent)
{
    float s = (x[i] % extent + (1 + (x[i] >> 16) % 7) * 0.125f) / extent * 2 - 1;
    float t = (x[i + 1024] % extent + (1 + (x[i + 1024] >> 16) % 7) * 0.125f) / extent * 2 - 1;
    float m = 0.25f + unit(x[i + 2048]) * 8;
    s *= m, t *= m;
    if (x[i + 2048] & 1) m = -m;
    switch (x[i + 3072] % 3) {
    case 0: return make_float3(m, s, t);
    case 1: return make_float3(s, m, t);
    default: return make_float3(s, t, m);
    }
}

// images: float32*1 8x8x6 cube; uint8*4 13x13x6 cube; int16*2 5x5x6 cube; float16*4 32x32x6 cube
extern "C" __global__ void cubes(const unsigned* x, unsigned* y, I4 images)
{
    int i = thread_of_grid();
    unsigned* to = y + 12 * i;
    float3 a = direction(x, i, 8), b = direction(x, i, 13), c = direction(x, i, 5), d = direction(x, i, 32);
    emit(to, texCubemap<float>(images.t[0], a.x, a.y, a.z)); emit(to, texCubemap<uchar4>(images.t[1], b.x, b.y, b.z));
    emit(to, texCubemap<short2>(images.t[2], c.x, c.y, c.z)); emit(to, texCubemap<float4>(images.t[3], d.x, d.y, d.z));
    emit(to, texCubemapLod<float>(images.t[0], a.x, a.y, a.z, 1.5f));
}

// images: float32*1 8x8x18 cube-layered; uint32*2 13x13x12 cube-layered
extern "C" __global__ void cubes_in_layers(const unsigned* x, unsigned* y, I2 images)
{
    int i = thread_of_grid();
    unsigned* to = y + 4 * i;
    float3 a = direction(x, i, 8), b = direction(x, i, 13);
    emit(to, texCubemapLayered<float>(images.t[0], a.x, a.y, a.z, x[i + 4096] % 3));
    emit(to, texCubemapLayered<uint2>(images.t[1], b.x, b.y, b.z, x[i + 4096] % 2));
}

/// Edges and corners, where two coordinates are as large: the documents say nothing.
// grid 1, block 27, images: float32*1 8x8x6 cube
extern "C" __global__ void cube_edges(const unsigned* x, unsigned* y, I1 images)
{
    int i = threadIdx.x;
    float a = i % 3 - 1, b = i / 3 % 3 - 1, c = i / 9 - 1;
    y[i] = __float_as_uint(texCubemap<float>(images.t[0], a, b, c));
}

// images: float32*2 19x13x4 layered surface; uint8*4 19x13x4 layered surface; int16*1 37x5 layered surface;
//         float32*4 37x5 layered surface
extern "C" __global__ void layered_surfaces_read(const unsigned* x, unsigned* y, I4 images)
{
    int i = thread_of_grid(), a = int(x[i] % 40) - 10, b = int(x[i + 1024] % 30) - 8, layer = x[i + 2048] % 4;
    unsigned* to = y + 20 * i;
    BOTH(surf2DLayeredread<float2>, images.t[0], 8 * a, b, layer); BOTH(surf2DLayeredread<uchar4>, images.t[1], 4 * a, b, layer);
    BOTH(surf1DLayeredread<short>, images.t[2], 2 * a, layer); BOTH(surf1DLayeredread<float4>, images.t[3], 16 * a, layer);
}

// grid 4, block 16 8, images: float32*1 12x5x4 layered surface; uint8*4 12x5x4 layered surface; uint32*2 12x5 layered surface
extern "C" __global__ void layered_surfaces_written(const unsigned* x, unsigned* y, Images<3> images)
{
    int a = int(threadIdx.x) - 2, b = int(threadIdx.y) - 1, layer = blockIdx.x, i = threadIdx.x + 16 * (threadIdx.y + 8 * layer);
    surf2DLayeredwrite(unit(x[i]), images.t[0], 4 * a, b, layer, cudaBoundaryModeZero);
    if (a >= 0 && a < 12 && b >= 0 && b < 5)
        surf2DLayeredwrite(make_uchar4(x[i], x[i + 512], 7, layer), images.t[1], 4 * a, b, layer);
    if (b == 0) surf1DLayeredwrite(make_uint2(x[i], layer), images.t[2], 8 * a, layer, cudaBoundaryModeZero);
    y[i] = i;
}

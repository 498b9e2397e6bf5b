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

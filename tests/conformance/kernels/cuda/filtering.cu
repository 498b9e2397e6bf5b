// Linear texture filtering, and coordinates beside boundaries. All run with: grid 4, block 128
#include "values.cuh"

template <int N> struct Images { cudaTextureObject_t t[N]; };
using I4 = Images<4>; using I6 = Images<6>;

/// Inside and around an extent: anywhere, or on a boundary between two weights or elements.
__device__ inline float place(unsigned word, int extent)
{
    if (word & 1) return (int(word >> 8) * (5.0f / (1 << 24)) - 2) * extent;
    int steps = int((word >> 2) % (5 * 512 * extent)) - 2 * 512 * extent;
    return steps * (1.0f / 512) + ((word & 2) ? 0.0f : 1e-6f);
}

/// The same in coordinates that go from 0 to 1.
__device__ inline float share(unsigned word, int extent) { return place(word, extent) / extent; }

/// A value's bits, word by word.
template <class T> __device__ inline void emit(unsigned*& y, T value)
{
    constexpr int count = sizeof(T) / 4;
    union { T value; unsigned words[count]; } both;
    both.value = value;
    for (int k = 0; k < count; ++k) *y++ = both.words[k];
}

// images: float32*1 37 linear; float32*1 37 linear border; float32*1 37 linear normalized;
//         float32*1 37 linear wrap normalized; float32*1 37 linear mirror normalized; float32*1 37 linear border normalized
extern "C" __global__ void row(const unsigned* x, unsigned* y, I6 images)
{
    int i = thread_of_grid();
    unsigned* to = y + 8 * i;
    for (int k = 0; k < 2; ++k) emit(to, tex1D<float>(images.t[k], place(x[i], 37)));
    for (int k = 2; k < 6; ++k) emit(to, tex1D<float>(images.t[k], share(x[i], 37)));
}

// images: float32*1 19x13 linear; float32*1 19x13 linear border; float32*1 19x13 linear normalized;
//         float32*1 19x13 linear wrap normalized; float32*1 19x13 linear mirror normalized;
//         float32*1 19x13 linear border normalized
extern "C" __global__ void plane(const unsigned* x, unsigned* y, I6 images)
{
    int i = thread_of_grid();
    unsigned* to = y + 8 * i;
    for (int k = 0; k < 2; ++k) emit(to, tex2D<float>(images.t[k], place(x[i], 19), place(x[i + 1024], 13)));
    for (int k = 2; k < 6; ++k) emit(to, tex2D<float>(images.t[k], share(x[i], 19), share(x[i + 1024], 13)));
}

// images: float32*1 17x6x5 linear; float32*1 17x6x5 linear border; float32*1 17x6x5 linear normalized;
//         float32*1 17x6x5 linear wrap normalized; float32*1 17x6x5 linear mirror normalized;
//         float32*1 17x6x5 linear border normalized
extern "C" __global__ void brick(const unsigned* x, unsigned* y, I6 images)
{
    int i = thread_of_grid();
    unsigned *to = y + 8 * i, a = x[i], b = x[i + 1024], c = x[i + 2048];
    for (int k = 0; k < 2; ++k) emit(to, tex3D<float>(images.t[k], place(a, 17), place(b, 6), place(c, 5)));
    for (int k = 2; k < 6; ++k) emit(to, tex3D<float>(images.t[k], share(a, 17), share(b, 6), share(c, 5)));
}

/// The nearest element at the same places.
// images: float32*1 37; float32*1 37 border; float32*1 19x13 normalized; float32*1 19x13 wrap/mirror normalized;
//         float32*1 17x6x5 mirror/wrap/border normalized; float32*1 9000 wrap normalized
extern "C" __global__ void nearest(const unsigned* x, unsigned* y, I6 images)
{
    int i = thread_of_grid();
    unsigned *to = y + 8 * i, a = x[i], b = x[i + 1024], c = x[i + 2048];
    for (int k = 0; k < 2; ++k) emit(to, tex1D<float>(images.t[k], place(a, 37)));
    for (int k = 2; k < 4; ++k) emit(to, tex2D<float>(images.t[k], share(a, 19), share(b, 13)));
    emit(to, tex3D<float>(images.t[4], share(a, 17), share(b, 6), share(c, 5)));
    emit(to, tex1D<float>(images.t[5], share(a, 9000)));
}

// images: uint8*4 19x13 linear share; int8*4 19x13 linear share border; uint16*4 19x13 linear share wrap normalized;
//         int16*4 19x13 linear share mirror normalized; float16*4 19x13 linear; float32*4 19x13 linear wrap normalized
extern "C" __global__ void formats(const unsigned* x, unsigned* y, I6 images)
{
    int i = thread_of_grid();
    unsigned *to = y + 24 * i, a = x[i], b = x[i + 1024];
    for (int k = 0; k < 2; ++k) emit(to, tex2D<float4>(images.t[k], place(a, 19), place(b, 13)));
    for (int k = 2; k < 4; ++k) emit(to, tex2D<float4>(images.t[k], share(a, 19), share(b, 13)));
    emit(to, tex2D<float4>(images.t[4], place(a, 19), place(b, 13)));
    emit(to, tex2D<float4>(images.t[5], share(a, 19), share(b, 13)));
}

// images: uint8*4 17x6x5 linear share; int8*4 17x6x5 linear share border; uint16*4 17x6x5 linear share;
//         int16*4 17x6x5 linear share; float16*4 17x6x5 linear; float32*4 17x6x5 linear border
extern "C" __global__ void formats_of_bricks(const unsigned* x, unsigned* y, I6 images)
{
    int i = thread_of_grid();
    unsigned *to = y + 24 * i, a = x[i], b = x[i + 1024], c = x[i + 2048];
    for (int k = 0; k < 6; ++k) emit(to, tex3D<float4>(images.t[k], place(a, 17), place(b, 6), place(c, 5)));
}

// images: uint8*1 37 linear share; int8*1 37 linear share; uint16*1 37 linear share; int16*1 37 linear share;
//         float16*1 37 linear; float32*2 37 linear
extern "C" __global__ void formats_of_rows(const unsigned* x, unsigned* y, I6 images)
{
    int i = thread_of_grid();
    unsigned* to = y + 8 * i;
    for (int k = 0; k < 5; ++k) emit(to, tex1D<float>(images.t[k], place(x[i], 37)));
    emit(to, tex1D<float2>(images.t[5], place(x[i], 37)));
}

/// The channels that an image does not have.
// images: uint8*1 19x13 linear share border; float32*2 19x13 linear; float16*1 19x13 border; int32*2 19x13
extern "C" __global__ void missing_channels(const unsigned* x, unsigned* y, I4 images)
{
    int i = thread_of_grid();
    unsigned* to = y + 16 * i;
    float a = place(x[i], 19), b = place(x[i + 1024], 13);
    for (int k = 0; k < 3; ++k) emit(to, tex2D<float4>(images.t[k], a, b));
    emit(to, tex2D<int4>(images.t[3], a, b));
}

// images: float32*4 19x13 linear; int8*4 19x13 share; float16*2 19x13 normalized wrap; uint8*1 19x13 share linear border
extern "C" __global__ void gathered(const unsigned* x, unsigned* y, I4 images)
{
    int i = thread_of_grid();
    unsigned* to = y + 24 * i;
    float a = place(x[i], 19), b = place(x[i + 1024], 13);
    emit(to, tex2Dgather<float4>(images.t[0], a, b, 3)); emit(to, tex2Dgather<float4>(images.t[1], a, b, 1));
    emit(to, tex2Dgather<float4>(images.t[2], a / 19, b / 13, 1)); emit(to, tex2Dgather<float4>(images.t[3], a, b, 0));
    emit(to, tex2Dgather<float4>(images.t[2], a / 19, b / 13, 3)); emit(to, tex2Dgather<float4>(images.t[3], a, b, 3));
}

// images: float32*1 37x5 linear layered border; uint8*4 19x13x4 linear share layered;
//         float16*2 19x13x4 linear layered wrap/mirror normalized; int16*2 37x5 linear share layered wrap normalized
extern "C" __global__ void layers(const unsigned* x, unsigned* y, I4 images)
{
    int i = thread_of_grid(), layer = x[i + 2048] % 5;
    unsigned *to = y + 16 * i, a = x[i], b = x[i + 1024];
    emit(to, tex1DLayered<float>(images.t[0], place(a, 37), layer));
    emit(to, tex2DLayered<float4>(images.t[1], place(a, 19), place(b, 13), layer));
    emit(to, tex2DLayered<float2>(images.t[2], share(a, 19), share(b, 13), layer));
    emit(to, tex1DLayered<float2>(images.t[3], share(a, 37), layer));
}

// images: float32*1 8x8x6 linear cube; uint8*4 13x13x6 linear share cube; float16*2 5x5x6 cube;
//         float32*1 8x8x18 linear cube-layered
extern "C" __global__ void cubes(const unsigned* x, unsigned* y, I4 images)
{
    int i = thread_of_grid();
    unsigned* to = y + 8 * i;
    float3 d = make_float3(unit(x[i]) - 0.5f, unit(x[i + 1024]) - 0.5f, unit(x[i + 2048]) - 0.5f);
    emit(to, texCubemap<float>(images.t[0], d.x, d.y, d.z)); emit(to, texCubemap<float4>(images.t[1], d.x, d.y, d.z));
    emit(to, texCubemap<float2>(images.t[2], d.x, d.y, d.z));
    emit(to, texCubemapLayered<float>(images.t[3], d.x, d.y, d.z, x[i + 3072] % 3));
}

/// Numbers that are no coordinates: infinite, NaN, subnormal, beyond every integer.
// images: float32*1 37 linear; float32*1 37 linear wrap normalized; float32*1 37 border; float32*1 37 mirror normalized
extern "C" __global__ void odd_coordinates(const unsigned* x, unsigned* y, I4 images)
{
    int i = thread_of_grid();
    unsigned* to = y + 4 * i;
    float a = __uint_as_float((x[i] & 15) == 0 ? x[i] | 0x7f800000 : (x[i] & 15) == 1 ? x[i] & 0x807fffff : x[i]);
    for (int k = 0; k < 4; ++k) emit(to, tex1D<float>(images.t[k], a));
}

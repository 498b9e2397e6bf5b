"""Kernels that sample textures and access surfaces, for the table of `programs`."""

from __future__ import annotations

TEXTURES = """
template <class T> __global__ void sample1(T* out, cudaTextureObject_t t, const float* x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = tex1D<T>(t, x[i]);
}
template <class T> __global__ void sample2(T* out, cudaTextureObject_t t, const float* x, const float* y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = tex2D<T>(t, x[i], y[i]);
}
template <class T>
__global__ void sample3(T* out, cudaTextureObject_t t, const float* x, const float* y, const float* z)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = tex3D<T>(t, x[i], y[i], z[i]);
}
template <class T> __global__ void fetch(T* out, cudaTextureObject_t t, const int* x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = tex1Dfetch<T>(t, x[i]);
}
template <class T, int C> __global__ void gather(T* out, cudaTextureObject_t t, const float* x, const float* y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = tex2Dgather<T>(t, x[i], y[i], C);
}
__global__ void levels(float* out, cudaTextureObject_t t, const float* x, const float* y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float2 step = make_float2(0.5f, 2.0f);
    out[3 * i] = tex2DLod<float>(t, x[i], y[i], 2.0f);
    out[3 * i + 1] = tex2DGrad<float>(t, x[i], y[i], step, step);
    out[3 * i + 2] = tex2D<float>(t, x[i], y[i]);
}
template <class T, cudaSurfaceBoundaryMode M>
__global__ void shift(cudaSurfaceObject_t s, cudaSurfaceObject_t t, int by)
{
    int x = threadIdx.x, y = blockIdx.x;
    T value = surf2Dread<T>(s, (x + by) * int(sizeof(T)), y - by, M);
    surf2Dwrite(value, t, (x - by) * int(sizeof(T)), y, M);
}
__global__ void lines(cudaSurfaceObject_t s, int n)
{
    int i = threadIdx.x;
    short4 value = surf1Dread<short4>(s, i * 8);
    value.y = i;
    if (i < n) surf1Dwrite(value, s, i * 8);
}
__global__ void bricks(cudaSurfaceObject_t s)
{
    int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
    unsigned char value = surf3Dread<unsigned char>(s, x, y, z);
    surf3Dwrite((unsigned char)(value + 16 * z + 4 * y), s, x, y, z);
}
__global__ void bytes_of(cudaSurfaceObject_t s, int at, int row) { surf2Dwrite(7, s, at, row); }
__global__ void bytes_near(cudaSurfaceObject_t s, int at, int row)
{
    surf2Dwrite(7, s, at, row, cudaBoundaryModeClamp);
}
__global__ void whole(float* out, cudaTextureObject_t t)
{
    asm("tex.2d.v4.f32.s32 {%0, %0, %0, %0}, [%1, {%2, %2}];" : "=f"(out[0]) : "l"(t), "r"(1));
}
__global__ void extents(int* out, cudaTextureObject_t t, cudaSurfaceObject_t s)
{
    asm("txq.width.b32 %0, [%1];" : "=r"(out[0]) : "l"(t));
    asm("txq.height.b32 %0, [%1];" : "=r"(out[1]) : "l"(t));
    asm("suq.depth.b32 %0, [%1];" : "=r"(out[2]) : "l"(s));
}
"""
"""Textures and surfaces of one to three dimensions."""
KERNELS_OF_TEXTURES = (
    *("sample2<uchar1>", "sample2<char2>", "sample2<ushort4>", "sample2<short1>", "sample2<uint2>"),
    *("sample2<int4>", "sample2<float>", "sample2<float2>", "sample2<float4>"),
    *("sample1<float>", "sample3<float>", "sample3<short2>", "sample1<int>", "fetch<float4>", "fetch<uchar2>"),
    *(
        "gather<float4, 0>",
        "gather<uint4, 1>",
        "levels",
        "lines",
        "bricks",
        "bytes_of",
        "bytes_near",
        "whole",
        "extents",
    ),
    *("shift<float2, cudaBoundaryModeClamp>", "shift<float2, cudaBoundaryModeZero>"),
)

LAYERS = """
template <class T> __global__ void row(T* out, cudaTextureObject_t t, const int* layer, const float* x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = tex1DLayered<T>(t, x[i], layer[i]);
}
template <class T>
__global__ void plane(T* out, cudaTextureObject_t t, const int* layer, const float* x, const float* y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = i % 2 ? tex2DLayered<T>(t, x[i], y[i], layer[i]) : tex2DLayeredLod<T>(t, x[i], y[i], layer[i], 1.5f);
}
template <class T>
__global__ void cube(T* out, cudaTextureObject_t t, const float* x, const float* y, const float* z)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = i % 2 ? texCubemap<T>(t, x[i], y[i], z[i]) : texCubemapLod<T>(t, x[i], y[i], z[i], 1.5f);
}
template <class T>
__global__ void cubes(T* out, cudaTextureObject_t t, const int* which, const float* x, const float* y, const float* z)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = texCubemapLayered<T>(t, x[i], y[i], z[i], which[i]);
}
// Every element goes to the place that is `by` further along each axis, in the next layer.
template <class T> __global__ void move(cudaSurfaceObject_t s, cudaSurfaceObject_t t, int by)
{
    int x = threadIdx.x, y = threadIdx.y, layer = blockIdx.x, size = sizeof(T);
    T value = surf2DLayeredread<T>(s, x * size, y, layer);
    surf2DLayeredwrite(value, t, (x + by) * size, y + by, layer + 1, cudaBoundaryModeZero);
}
__global__ void lines(cudaSurfaceObject_t s, float* out)
{
    int x = threadIdx.x, layer = blockIdx.x;
    out[x + blockDim.x * layer] = surf1DLayeredread<float>(s, 4 * (x - 2), layer, cudaBoundaryModeClamp);
    surf1DLayeredwrite(float(x), s, 4 * (int(blockDim.x) - 5 - x), layer, cudaBoundaryModeZero);
}
__global__ void one(cudaSurfaceObject_t s, int x, int y, int layer) { surf2DLayeredwrite(7, s, x, y, layer); }
"""
"""Layered textures and surfaces, and cubes."""
KERNELS_OF_LAYERS = (
    *("row<float>", "row<uchar2>", "plane<float>", "plane<short4>", "cube<float>", "cube<uchar4>"),
    *("cubes<float>", "cubes<uint2>", "move<float2>", "move<unsigned char>", "lines", "one"),
)

"""The kernels that the device tests run: a table, so that a GPU host with no compiler can get them built."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from gpuregress.foundation.records import Source
from gpuregress.toolchain import programs
from tests.devices import special_registers, texture_programs


@dataclass(frozen=True, slots=True)
class Text:
    """A source's text, the kernels and the variables that must be in it."""

    text: str
    kernels: tuple[str, ...]
    symbols: tuple[str, ...] = ()


PROGRAMS = {
    "saxpy": Text(
        """
__global__ void saxpy(int n, float a, const float* x, float* y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}
__global__ void write_one_past(float* y, int n) { if (threadIdx.x == 0) y[n] = 1.0f; }
__global__ void write_one_before(float* y) { if (threadIdx.x == 0) y[-1] = 1.0f; }
""",
        ("saxpy", "write_one_past", "write_one_before"),
    ),
    "templates": Text(
        """
namespace ops {
template <class T, int N> __global__ void times(T* y, const T* x) { y[threadIdx.x] = x[threadIdx.x] * T(N); }
}
""",
        ("ops::times<float, 2>", "ops::times<double, 3>", "ops::times<int, -4>"),
    ),
    "symbols": Text(
        """
__constant__ float taps[4] = {1, 2, 3, 4};
namespace state { __device__ int calls = 40; }
__global__ void weigh(float* y)
{
    y[threadIdx.x] = taps[threadIdx.x];
    if (threadIdx.x == 0) atomicAdd(&state::calls, 1);
}
""",
        ("weigh",),
        ("taps", "state::calls"),
    ),
    "arguments": Text(
        """
struct Params { char tag; double scale; short shift; float2 pair; };
__global__ void take(double* out, char a, double b, short c, long long d, Params p, const float* none, unsigned char e)
{
    out[0] = a; out[1] = b; out[2] = c; out[3] = (double)d;
    out[4] = p.tag; out[5] = p.scale; out[6] = p.shift; out[7] = p.pair.y;
    out[8] = none == nullptr; out[9] = e;
}
""",
        ("take",),
    ),
    "shared": Text(
        """
__global__ void block_sum(int* sums, const int* x)
{
    __shared__ int part[128];
    int t = threadIdx.x;
    part[t] = x[blockIdx.x * 128 + t];
    for (int step = 64; step > 0; step /= 2) {
        __syncthreads();
        if (t < step) part[t] += part[t + step];
    }
    if (t == 0) sums[blockIdx.x] = part[0];
}
__global__ void reverse(int* y, const int* x, int n)
{
    extern __shared__ int words[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) words[i] = x[i];
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = words[n - 1 - i];
}
""",
        ("block_sum", "reverse"),
    ),
    "atomics": Text(
        """
__global__ void count(int* bins, const int* x, int n, float* total, unsigned* largest, unsigned long long* wide)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    atomicAdd(&bins[x[i]], 1);
    atomicAdd(total, 0.5f);
    atomicMax(largest, (unsigned)(i * 7919 % 10007));
    atomicAdd(wide, 1ull << 33);
}
""",
        ("count",),
    ),
    "warps": Text(
        """
__global__ void warp_sums(int* sums, unsigned* votes, const int* x)
{
    int value = x[threadIdx.x];
    votes[threadIdx.x / 32] = __ballot_sync(0xffffffffu, value & 1);
    for (int step = 16; step > 0; step /= 2) value += __shfl_down_sync(0xffffffffu, value, step);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = value;
}
""",
        ("warp_sums",),
    ),
    "printing": Text(
        r"""
#include <cstdio>
__global__ void speak(int n, float x)
{
    if (threadIdx.x < n) printf("thread %d says %.2f %s\n", threadIdx.x, x, "done");
}
""",
        ("speak",),
    ),
    "indices": Text(
        """
__global__ void where(int* out)
{
    int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    out[block * blockDim.x * blockDim.y * blockDim.z + thread] = block * 1000 + thread;
}
__global__ void __launch_bounds__(64) narrow(int* out) { out[threadIdx.x] = 1; }
""",
        ("where", "narrow"),
    ),
    "heap": Text(
        """
__global__ void fill_heap(long long* y, unsigned long long size)
{
    long long n = 0;
    while (malloc(size)) ++n;
    y[0] = n;
}
__global__ void keep(int** place, int value) { *place = new int(value); }
__global__ void give_back(int** place, int* y) { *y = **place; delete *place; }
""",
        ("fill_heap", "keep", "give_back"),
    ),
    "faults": Text(
        """
#include <cassert>
__global__ void far_read(int* y, const int* x) { y[threadIdx.x] = x[threadIdx.x + (1ll << 34)]; }
__global__ void far_write(int* y, const int* x) { y[threadIdx.x + (1ll << 34)] = 1; }
__global__ void through_null(int* y, const int* x) { *(int*)(x[0] * 0ll + 8) = 1; }
__global__ void misaligned(int* y, const int* x) { y[0] = *(const int*)((const char*)x + 1 + x[0]); }
__global__ void asserts(int* y, const int* x) { assert(x[threadIdx.x] != 0); y[0] = 1; }
__global__ void traps(int* y, const int* x) { if (x[0] == 0) __trap(); y[0] = 1; }
__global__ void forever(int* y, const int* x) { while (*(volatile const int*)x == 0) { } y[0] = 1; }
""",
        ("far_read", "far_write", "through_null", "misaligned", "asserts", "traps", "forever"),
    ),
    "functions": Text(
        """
#include <cmath>
#include <cuda_fp16.h>
__global__ void evaluate(float* out, const float* x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i], p = fabsf(v);
    float* y = out + 16 * i;
    y[0] = expf(v);   y[1] = logf(p);        y[2] = sinf(v);     y[3] = cosf(v);
    y[4] = powf(p, 0.7f); y[5] = sqrtf(p);   y[6] = rsqrtf(p);   y[7] = tanhf(v);
    y[8] = 1.0f / v;  y[9] = v / 3.0f;       y[10] = erff(v);    y[11] = __expf(v);
    y[12] = __sinf(v); y[13] = __fdividef(v, 7.0f); y[14] = cbrtf(v);
    y[15] = __half2float(__hadd(__float2half(v), __hmul(__float2half(v), __float2half(0.3f))));
}
__global__ void doubles(double* out, const double* x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double v = x[i];
    double* y = out + 4 * i;
    y[0] = exp(v); y[1] = sqrt(fabs(v)); y[2] = 1.0 / v; y[3] = sin(v);
}
""",
        ("evaluate", "doubles"),
    ),
    "grids": Text(
        """
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void turn(int* a, int* b)
{
    cg::grid_group grid = cg::this_grid();
    a[grid.thread_rank()] = 2 * grid.thread_rank();
    grid.sync();
    b[grid.thread_rank()] = a[grid.size() - 1 - grid.thread_rank()];
}
__global__ void plain(int* a) { if (blockIdx.x + threadIdx.x == 0) a[0] = gridDim.x * blockDim.x; }
__global__ void heavy(float* y, const float* x)
{
    float kept[64];
    for (int i = 0; i < 64; ++i) kept[i] = x[i * blockDim.x + threadIdx.x];
    for (int k = 0; k < 9; ++k)
        for (int i = 0; i < 64; ++i) kept[i] = kept[i] * kept[(i * 7 + 3) % 64] + kept[(i + 1) % 64];
    for (int i = 0; i < 64; ++i) y[i * blockDim.x + threadIdx.x] = kept[i];
}
""",
        ("turn", "plain", "heavy"),
    ),
    "textures": Text(texture_programs.TEXTURES, texture_programs.KERNELS_OF_TEXTURES),
    "layers": Text(texture_programs.LAYERS, texture_programs.KERNELS_OF_LAYERS),
    "clusters": Text(
        """
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void __cluster_dims__(2, 2, 1) turn(int* out, const int* in)
{
    __shared__ int kept[64];
    auto cluster = cg::this_cluster();
    int block = blockIdx.x + gridDim.x * blockIdx.y, rank = cluster.block_rank();
    kept[threadIdx.x] = in[64 * block + threadIdx.x];
    cluster.sync();
    out[64 * block + threadIdx.x] = cluster.map_shared_rank(kept, (rank + 1) % 4)[threadIdx.x] + 1000 * rank;
    cluster.sync();
}
__global__ void __cluster_dims__(16, 1, 1) wide(int* out) { out[blockIdx.x] = 1; }
""",
        ("turn", "wide"),
    ),
    "tensors": Text(
        r"""
#include <cuda.h>
typedef unsigned long long u64;
__device__ unsigned where(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
extern __shared__ __align__(1024) unsigned char box[];
__device__ void begin(u64* gate, int bytes)
{
    asm volatile("mbarrier.init.shared.b64 [%0], 1; fence.proxy.async;" :: "r"(where(gate)) : "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" :: "r"(where(gate)), "r"(bytes) : "memory");
}
__device__ void end(u64* gate, unsigned char* y, int bytes)
{
    asm volatile("{ .reg .pred p; WAIT: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @!p bra WAIT; }"
                 :: "r"(where(gate)) : "memory");
    for (int i = threadIdx.x; i < bytes; i += blockDim.x) y[i] = box[i];
}
__global__ void tile(const __grid_constant__ CUtensorMap map, unsigned char* y, int bytes, int x0, int x1, int x2)
{
    __shared__ u64 gate;
    if (threadIdx.x == 0) {
        begin(&gate, bytes);
        asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                     " [%0], [%1, {%2, %3, %4}], [%5];"
                     :: "r"(where(box)), "l"(&map), "r"(x0), "r"(x1), "r"(x2), "r"(where(&gate)) : "memory");
    }
    __syncthreads();
    end(&gate, y, bytes);
}
__global__ void pixels(const __grid_constant__ CUtensorMap map, unsigned char* y, int bytes, int c, int w, int n, int k)
{
    __shared__ u64 gate;
    if (threadIdx.x == 0) {
        begin(&gate, bytes);
        asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes"
                     " [%0], [%1, {%2, %3, %4}], [%5], {%6};"
                     :: "r"(where(box)), "l"(&map), "r"(c), "r"(w), "r"(n), "r"(where(&gate)), "h"((short)k)
                     : "memory");
    }
    __syncthreads();
    end(&gate, y, bytes);
}
__global__ void put(const __grid_constant__ CUtensorMap map, const unsigned char* x, int bytes, int x0, int x1, int x2,
                    int adds, int pixels)
{
    for (int i = threadIdx.x; i < bytes; i += blockDim.x) box[i] = x[i];
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    if (threadIdx.x) return;
    if (pixels && adds)
        asm volatile("cp.reduce.async.bulk.tensor.3d.global.shared::cta.add.im2col_no_offs.bulk_group"
                     " [%0, {%1, %2, %3}], [%4];"
                     :: "l"(&map), "r"(x0), "r"(x1), "r"(x2), "r"(where(box)) : "memory");
    else if (pixels)
        asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.im2col_no_offs.bulk_group [%0, {%1, %2, %3}], [%4];"
                     :: "l"(&map), "r"(x0), "r"(x1), "r"(x2), "r"(where(box)) : "memory");
    else if (adds)
        asm volatile("cp.reduce.async.bulk.tensor.3d.global.shared::cta.add.tile.bulk_group [%0, {%1, %2, %3}], [%4];"
                     :: "l"(&map), "r"(x0), "r"(x1), "r"(x2), "r"(where(box)) : "memory");
    else
        asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%1, %2, %3}], [%4];"
                     :: "l"(&map), "r"(x0), "r"(x1), "r"(x2), "r"(where(box)) : "memory");
    asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
}
""",
        ("tile", "pixels", "put"),
    ),
    "slow": Text(
        """
__global__ void spin(unsigned* out, long long rounds)
{
    unsigned v = threadIdx.x + blockIdx.x;
    for (long long k = 0; k < rounds; ++k) v = v * 1664525u + 1013904223u;
    out[blockIdx.x * blockDim.x + threadIdx.x] = v;
}
""",
        ("spin",),
    ),
    "meeting": Text(
        r"""
extern "C" __global__ void counted(int* out)
{
    __shared__ int box[32];
    int t = threadIdx.x;
    if (t >= 32) {
        asm volatile("bar.sync 2, 32;" ::: "memory");
        box[t - 32] = 100 + t;
        asm volatile("bar.sync 1, 64;" ::: "memory");
        out[t] = t;
    } else {
        asm volatile("bar.sync 1, 64;" ::: "memory");
        out[t] = box[t];
    }
}
extern "C" __global__ void rows(int* out, const int* x)
{
    int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    out[t] = x[threadIdx.x] + 2 * x[threadIdx.y] + 3 * x[threadIdx.z] + 5 * x[2 * threadIdx.x];
}
extern "C" __global__ void asked(int* out, const int* x)
{
    int v = x[threadIdx.x];
    int positive = __syncthreads_count(v > 0);
    int all = __syncthreads_and(v > -5);
    int some = __syncthreads_or(v == 77);
    out[threadIdx.x] = positive + 1000 * (all != 0) + 2000 * (some != 0);
}
extern "C" __global__ void guarded(int* out, const int* x)
{
    int v = x[threadIdx.x], w;
    asm volatile("{ .reg .pred p; setp.gt.s32 p, %1, 3; mov.u32 %0, 1;\n @!p mov.u32 %0, 2;\n @p add.u32 %0, %0, 8; }"
                 : "=&r"(w) : "r"(v));
    out[threadIdx.x] = w;
}
""",
        (),
    ),
    "special": Text(special_registers.source(), ()),
}


def source(name: str, folder: Path, arch: str = "sm_90") -> Source:
    """One of the programs as a file in a folder."""
    wanted = PROGRAMS[name]
    path = folder / f"{name}.cu"
    path.write_text(wanted.text, encoding="utf-8")
    return Source(str(path), kernels=wanted.kernels, symbols=wanted.symbols, arch=arch)


def build_all(arch: str = "sm_90") -> int:
    """Builds every program into the cache that `GPUREGRESS_CACHE` names; how many."""
    with TemporaryDirectory() as folder:
        return len(programs.build([source(name, Path(folder), arch) for name in PROGRAMS]))


if __name__ == "__main__":
    print(f"{build_all(*sys.argv[1:])} programs built")  # noqa: T201 - a script's result

"""Dynamic checks: a launch with all of them against the same launch without, by the processor's time."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.rows import Row
from gpuregress.foundation.records import CHECKS, Dim3, Instruments, LaunchShape, Program, Source, Texture
from gpuregress.gpu.descriptors import TextureDescription
from gpuregress.toolchain import cache, programs
from gpuregress.virtual_gpu.device import CpuDevice

COUNT = 1 << 20
RUNS = 3
SOURCE = """
extern "C" __global__ void axpy(float* y, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += 2.0f * x[i];
}
extern "C" __global__ void matmul(float* y, const float* x, int n) {
    __shared__ float a[16][16], b[16][16];
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty, column = blockIdx.x * 16 + tx;
    float sum = 0;
    for (int k = 0; k < 256; k += 16) {
        a[ty][tx] = x[row * 256 + k + tx];
        b[ty][tx] = x[(k + ty) * 256 + column];
        __syncthreads();
        for (int j = 0; j < 16; ++j) sum += a[ty][j] * b[j][tx];
        __syncthreads();
    }
    y[row * 256 + column] = sum;
}
extern "C" __global__ void reduction(float* y, const float* x, int n) {
    __shared__ float s[256];
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * 256 + t];
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (t < half) s[t] += s[t + half];
        __syncthreads();
    }
    if (t == 0) y[blockIdx.x] = s[0];
}
extern "C" __global__ void histogram(float* y, const float* x, int n) {
    __shared__ int bins[64];
    int t = threadIdx.x;
    if (t < 64) bins[t] = 0;
    __syncthreads();
    atomicAdd(&bins[(int)(x[blockIdx.x * 256 + t] * 64) & 63], 1);
    __syncthreads();
    if (t < 64) atomicAdd((int*)y + t, bins[t]);
}
extern "C" __global__ void transposed(float* y, const float* x, int n) {
    __shared__ float tile[16][17];
    int column = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
    tile[threadIdx.y][threadIdx.x] = x[row * 1024 + column];
    __syncthreads();
    y[(blockIdx.x * 16 + threadIdx.y) * 1024 + blockIdx.y * 16 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
extern "C" __global__ void scatter(float* y, const float* x, int n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, j = i * 0x9e3779b1 & (n - 1);
    y[((j ^ j >> 10) * 0x85ebca6b) & (n - 1)] = x[i];  // a permutation
}
extern "C" __global__ void textures(cudaSurfaceObject_t y, cudaTextureObject_t x, int n) {
    int column = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
    surf2Dwrite(tex2D<float>(x, column + 0.3f, row + 0.7f), y, column * 4, row);
}
extern "C" __global__ void atomics(float* y, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd((int*)y + (int)(x[i] * 1024), 1);
}
"""
SURFACE, TEXTURE = Texture(surface=True), Texture(filter="linear")
SHAPES: dict[str, tuple[Dim3, Dim3]] = {
    "axpy": ((COUNT // 256, 1, 1), (256, 1, 1)),
    "matmul": ((16, 16, 1), (16, 16, 1)),
    "reduction": ((COUNT // 256, 1, 1), (256, 1, 1)),
    "histogram": ((COUNT // 256, 1, 1), (256, 1, 1)),
    "transposed": ((64, 64, 1), (16, 16, 1)),
    "scatter": ((COUNT // 256, 1, 1), (256, 1, 1)),
    "textures": ((64, 64, 1), (16, 16, 1)),
    "atomics": ((COUNT // 256, 1, 1), (256, 1, 1)),
}


GOAL = 0.2
SCATTER_GOAL = 0.04
"""Each write of `scatter` to a shuffled place waits for memory twice: for the element, and for its shadow cell. The
cells are four times the buffer, 16 MiB. So the ratio is 6 where the processor's cache is free for them, and 23 was seen
where other programs used it."""


def measure() -> list[Row]:
    """Measure a row for each kernel."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "k.cu"
        path.write_text(SOURCE)
        program = programs.compile(Source(str(path), options=("-lineinfo",)))
        return [_row(program, kernel) for kernel in SHAPES]


def _row(program: Program, kernel: str) -> Row:
    plain, checked = (_seconds(program, kernel, checks) for checks in ((), tuple(CHECKS)))
    what = f"dynamic checks: {kernel}"
    goal = SCATTER_GOAL if kernel == "scatter" else GOAL
    return Row(what, f"{1e3 * checked:.1f} ms", f"unchecked: {1e3 * plain:.1f} ms", plain / checked, goal)


def _seconds(program: Program, kernel: str, checks: tuple[str, ...]) -> float:
    """The processor's time of one launch, the best of a few."""
    grid, block = SHAPES[kernel]
    name, best = program.entries[kernel].mangled, float("inf")
    with CpuDevice(cache) as device:
        device.instrument(Instruments(checks))
        module = device.load(program, None, [name])
        y, x = (device.allocate(letter, 4 * COUNT, itemsize=4) for letter in "yx")
        for region in (y, x):
            region.write(np.random.default_rng(1).random(COUNT, np.float32).view(np.uint8))
        handles = [
            device.texture(region, TextureDescription("float32", 1, (1024, 1024, 0), sampler))
            for region, sampler in ((y, SURFACE), (x, TEXTURE))
        ]
        given = handles if kernel == "textures" else (y.address, x.address)
        arguments = tuple(value.to_bytes(size, "little") for value, size in ((given[0], 8), (given[1], 8), (COUNT, 4)))
        for _ in range(RUNS):
            start = time.process_time()
            found = device.launch(module, name, LaunchShape(grid, block, 0), arguments).findings
            best = min(best, time.process_time() - start)
            assert not found, found
    return best

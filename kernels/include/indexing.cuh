// $Revision: 1.0 $
// The index arithmetic that almost every kernel needs, in one place. Header of this repository's kernels: a job that uses
// it names the folder under `compile: include:`.
#pragma once

namespace indexing {

/// This thread's place along x in the whole grid.
__device__ inline int global_x() { return blockIdx.x * blockDim.x + threadIdx.x; }

/// This thread's place along y in the whole grid.
__device__ inline int global_y() { return blockIdx.y * blockDim.y + threadIdx.y; }

/// How many threads the grid has along x: the stride of a grid-stride loop.
__device__ inline int grid_stride() { return gridDim.x * blockDim.x; }

/// `value`, moved to the nearest end of [low, high] if it is outside.
__device__ inline int clamp(int value, int low, int high) { return value < low ? low : (value > high ? high : value); }

}  // namespace indexing

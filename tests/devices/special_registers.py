"""Special registers in control flow: a kernel for each, and what it must store, worked out in numpy.

Each kernel branches and loops on its register around shuffles, votes and barriers: an analysis that takes what varies
in a block for the same in all threads changes the result.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from gpuregress.foundation.records import Dim3

Numbers = npt.NDArray[np.uint32]
GRID: Dim3 = (2, 3, 2)
BLOCK: Dim3 = (24, 4, 4)
SHARED = 4 * 24 * 4 * 4
"""Dynamic shared memory, bytes: a word a thread."""

_BODY = """
extern "C" __global__ void on_NAME(unsigned* out) {
  extern __shared__ unsigned box[];
  unsigned n = blockDim.x * blockDim.y * blockDim.z;
  unsigned t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  unsigned b = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  unsigned v, acc = t;
  asm("mov.u32 %0, %%REGISTER;" : "=r"(v));
  unsigned odd = __ballot_sync(0xffffffff, v & 1);
  if (v & 1) acc += 1000 * __shfl_sync(odd, t + 3 * v, __ffs(odd) - 1);
  for (unsigned i = 0; i < (v & 3); ++i) acc = acc * 3 + i;
  box[t] = acc;
  __syncthreads();
  unsigned other = box[n - 1 - t];
  __syncthreads();
  unsigned high = __ballot_sync(0xffffffff, v & 2);
  if (v & 2) {
    box[t] = other ^ v;
    __syncwarp(high);
    other += box[(t & ~31u) + __ffs(high) - 1];
  }
  __syncthreads();
  out[b * n + t] = acc + 7 * other + v;
}
extern "C" __global__ void kept_NAME(unsigned* out) {
  extern __shared__ unsigned box[];
  unsigned n = blockDim.x * blockDim.y * blockDim.z;
  unsigned t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  unsigned b = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  unsigned v, w = 1;
  asm("mov.u32 %0, %%REGISTER;" : "=r"(v));
  unsigned pure = __popc(v * 2654435761u) + 33 * __clz(v ^ 12345u);
  for (unsigned i = 0; i < (v & 3); ++i) w = w * 3 + i;
  box[t] = 5 * t + w;
  __syncthreads();
  unsigned other = box[n - 1 - t];
  unsigned near = __shfl_xor_sync(0xffffffff, other + v, 1);
  if (v & 2) for (unsigned i = 0; i < (v & 7); ++i) w ^= w << 3;
  __syncthreads();
  out[b * n + t] = w + 3 * pure + other + 9 * near;
}
"""
_ROW = """
extern "C" __global__ void row_NAME(unsigned* out, const unsigned* in) {
  unsigned n = blockDim.x * blockDim.y * blockDim.z;
  unsigned t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  unsigned b = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  unsigned v;
  asm("mov.u32 %0, %%REGISTER;" : "=r"(v));
  out[b * n + t] = in[v & 63] + 5 * v;
}
"""


def _coordinates() -> dict[str, Numbers]:
    """The registers' values by block and thread, both linear: uint32 of shape (blocks, threads)."""
    threads, blocks = BLOCK[0] * BLOCK[1] * BLOCK[2], GRID[0] * GRID[1] * GRID[2]
    t, b = np.meshgrid(np.arange(threads), np.arange(blocks))
    lane = t % 32
    bits = np.uint64(1) << lane.astype(np.uint64)
    actual: dict[str, npt.NDArray[np.generic]] = {
        "laneid": lane,
        "lanemask_eq": bits,
        "lanemask_lt": bits - np.uint64(1),
        "lanemask_le": 2 * bits - np.uint64(1),
        "lanemask_gt": ~(2 * bits - np.uint64(1)) & np.uint64(0xFFFFFFFF),
        "lanemask_ge": ~(bits - np.uint64(1)) & np.uint64(0xFFFFFFFF),
        "cluster_ctarank": 0 * t,
        "cluster_nctarank": 0 * t + 1,
        "dynamic_smem_size": 0 * t + SHARED,
    }
    for axis, (thread, block) in {
        "x": (t % BLOCK[0], b % GRID[0]),
        "y": (t // BLOCK[0] % BLOCK[1], b // GRID[0] % GRID[1]),
        "z": (t // (BLOCK[0] * BLOCK[1]), b // (GRID[0] * GRID[1])),
    }.items():
        position = "xyz".index(axis)
        actual |= {f"tid.{axis}": thread, f"ctaid.{axis}": block, f"clusterid.{axis}": block}
        actual |= {f"ntid.{axis}": 0 * t + BLOCK[position]}
        actual |= {f"nctaid.{axis}": 0 * t + GRID[position], f"nclusterid.{axis}": 0 * t + GRID[position]}
        actual |= {f"cluster_ctaid.{axis}": 0 * t, f"cluster_nctaid.{axis}": 0 * t + 1}
    return {name: values.astype(np.uint32) for name, values in actual.items()}


VALUES: Mapping[str, Numbers] = _coordinates()


def kernel(register: str) -> str:
    """The part of a kernel's name that stands for a register."""
    return register.replace(".", "_")


def source() -> str:
    """CUDA C++: a kernel for each register, and two more for each that varies in a grid."""
    texts = ((name, _ROW + (_BODY if varies(name) else "")) for name in VALUES)
    return "".join(text.replace("NAME", kernel(name)).replace("REGISTER", name) for name, text in texts)


def varies(register: str) -> bool:
    """Whether not all threads of the grid find the same."""
    return bool((VALUES[register] != VALUES[register][0, 0]).any())


def _of_first(values: Numbers, chosen: npt.NDArray[np.bool_]) -> Numbers:
    """In each lane the value of the first lane of its warp that is chosen; 0 where none is."""
    shape = (values.shape[0], -1, 32)
    warps, first = values.reshape(shape), chosen.reshape(shape).argmax(axis=2)
    taken = np.take_along_axis(warps, first[..., None], axis=2)
    actual = np.where(chosen.reshape(shape).any(axis=2, keepdims=True), taken, 0)
    return np.broadcast_to(actual, warps.shape).reshape(values.shape).astype(np.uint32)


def meeting(v: Numbers) -> Numbers:
    """What `on_…` stores where the register holds `v`, shape (blocks, threads)."""
    t = np.broadcast_to(np.arange(v.shape[1], dtype=np.uint32), v.shape)
    acc = t + np.where(v & 1, 1000 * _of_first(t + 3 * v, v & 1 != 0), 0).astype(np.uint32)
    for step in range(3):
        acc = np.where((v & 3) > step, acc * 3 + step, acc).astype(np.uint32)
    other: Numbers = acc[:, ::-1].astype(np.uint32)
    chosen = v & 2 != 0
    other = np.where(chosen, other + _of_first(other ^ v, chosen), other).astype(np.uint32)
    return (acc + 7 * other + v).astype(np.uint32)


def kept(v: Numbers) -> Numbers:
    """What `kept_…` stores."""
    t = np.broadcast_to(np.arange(v.shape[1], dtype=np.uint32), v.shape)
    ones = np.vectorize(lambda value: int(value).bit_count(), otypes=[np.uint32])(v * np.uint32(2654435761))
    leading = np.vectorize(lambda value: 32 - int(value).bit_length(), otypes=[np.uint32])(v ^ np.uint32(12345))
    w = np.ones_like(v)
    for step in range(3):
        w = np.where((v & 3) > step, w * 3 + step, w).astype(np.uint32)
    other = (5 * t + w)[:, ::-1].astype(np.uint32)
    near = (other + v)[:, np.arange(v.shape[1]) ^ 1]
    for step in range(7):
        w = np.where((v & 2 != 0) & ((v & 7) > step), w ^ (w << 3), w).astype(np.uint32)
    return np.asarray(w + 3 * (ones + 33 * leading) + other + 9 * near, np.uint32)


def row(v: Numbers, table: Numbers) -> Numbers:
    """What `row_…` stores."""
    return np.asarray(table[v & 63] + 5 * v, np.uint32)

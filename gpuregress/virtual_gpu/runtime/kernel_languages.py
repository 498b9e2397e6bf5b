"""Names of barriers in CUDA C++, Numba and Triton, for messages."""

from __future__ import annotations

from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.runtime.faults import FaultContext
from gpuregress.virtual_gpu.runtime.program import Site


class KernelLanguage(Record):
    """A kernel language and its names of barriers.

    Attributes:
        warp_barrier: what orders the lanes of a warp; Triton has a barrier of the block only.
        block_barrier: what orders the threads of a block.
    """

    warp_barrier: str
    block_barrier: str


CUDA = KernelLanguage("__syncwarp", "__syncthreads")
NUMBA = KernelLanguage("cuda.syncwarp", "cuda.syncthreads")
TRITON = KernelLanguage("tl.debug_barrier", "tl.debug_barrier")


def language_of(scene: FaultContext, site: Site) -> KernelLanguage:
    """Return the language of a kernel.

    Numba mangles the names of its kernels and Triton does not.

    Args:
        scene: the launch.
        site: an instruction of it.
    """
    if not any(".py:" in line for line in site.lines):
        return CUDA
    return NUMBA if scene.name.startswith("_Z") else TRITON

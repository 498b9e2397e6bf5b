"""Limits of GPU architectures, from the CUDA C++ Programming Guide.

The one table of such numbers: jobs are checked against it, and the virtual GPU refuses what is beyond it. What the
guide does not say was asked of nvJitLink 13.5.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpuregress.records.cases import Dim3


@dataclass(frozen=True, slots=True)
class Architecture:
    """The limits of one architecture; bytes, unless another unit is named.

    Attributes:
        name: `sm_90`.
        warp_size: threads.
        max_threads: threads of a block.
        max_block: threads of a block along x, y, z.
        max_grid: blocks of a grid along x, y, z.
        portable_cluster: blocks of a cluster without an attribute on the function.
        static_shared: shared variables of a kernel.
        shared: static and dynamic shared memory of a block, with the opt-in attribute.
        shared_per_multiprocessor: of all its blocks, with what is reserved.
        reserved_shared: the system's own, of each block.
        registers: 32-bit registers of a block.
        multiprocessors: of the card that is modelled.
        threads_per_multiprocessor: threads.
        blocks_per_multiprocessor: blocks.
        local: local memory of a thread.
        constant: `__constant__` variables of a program.
        parameters: a kernel's parameters.
        barriers: of a block.
        max_mbarrier_count: arrivals that an mbarrier may expect.
    """

    name: str
    warp_size: int
    max_threads: int
    max_block: Dim3
    max_grid: Dim3
    portable_cluster: int
    static_shared: int
    shared: int
    shared_per_multiprocessor: int
    reserved_shared: int
    registers: int
    multiprocessors: int
    threads_per_multiprocessor: int
    blocks_per_multiprocessor: int
    local: int
    constant: int
    parameters: int
    barriers: int
    max_mbarrier_count: int


SM_90 = Architecture(
    name="sm_90",
    warp_size=32,
    max_threads=1024,
    max_block=(1024, 1024, 64),
    max_grid=(2**31 - 1, 65535, 65535),
    portable_cluster=8,
    static_shared=48 << 10,
    shared=227 << 10,
    shared_per_multiprocessor=228 << 10,
    reserved_shared=1 << 10,
    registers=65536,
    multiprocessors=132,
    threads_per_multiprocessor=2048,
    blocks_per_multiprocessor=32,
    local=512 << 10,
    constant=64 << 10,
    parameters=32764,
    barriers=16,
    max_mbarrier_count=(1 << 20) - 1,
)
"""An H200's."""

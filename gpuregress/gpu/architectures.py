"""Table of GPU architectures: limits, forms of PTX, variants of targets, measured tables.

All facts that depend on `sm_XX` are here, one row for each architecture of the pinned compiler. Jobs are checked
against the limits, and the virtual GPU refuses what is beyond them. They are from the CUDA C++ Programming Guide; what
it does not say was asked of nvJitLink 13.5. The forms of PTX are from the PTX ISA manual, "Target ISA Notes", and were
compared with nvJitLink 13.5 for every form of the conformance catalog.
"""

from __future__ import annotations

import re

from gpuregress.gpu.programs import Dim3
from gpuregress.gpu.records import Record

DEFAULT_HEAP = 8 << 20
"""Bytes of the heap of kernels where a job says nothing, as CUDA's own (`cudaLimitMallocHeapSize`)."""


class ArchitectureLimits(Record):
    """The limits of one architecture; bytes, unless another unit is named.

    Attributes:
        name: `sm_90`.
        warp_size: threads.
        max_threads: threads of a block.
        max_block: threads of a block along x, y, z.
        max_grid: blocks of a grid along x, y, z.
        portable_cluster: blocks of a cluster without an attribute on the function.
        largest_cluster: blocks of a cluster with it.
        static_shared: shared variables of a kernel.
        shared: static and dynamic shared memory of a block, with the opt-in attribute.
        shared_per_multiprocessor: of all its blocks, with what is reserved.
        reserved_shared: the system's own, of each block.
        registers: 32-bit registers of a block.
        multiprocessors: of the GPU that is modelled.
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
    largest_cluster: int
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


SM_90 = ArchitectureLimits(
    name="sm_90",
    warp_size=32,
    max_threads=1024,
    max_block=(1024, 1024, 64),
    max_grid=(2**31 - 1, 65535, 65535),
    portable_cluster=8,
    largest_cluster=16,
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


class TensorCore(Record):
    """How a tensor core sums products.

    Attributes:
        fraction: bits below the greatest exponent that a term keeps.
        row_bits: bits of a row of A in one sum; a longer row makes several, each rounded to the accumulator's type.
            None: one sum for a whole row.
        is_measured: whether this was measured on a GPU, sparse products and those of 8-bit floats, too. Else it is
            from the literature, which has neither.
    """

    fraction: int
    row_bits: int | None = None
    is_measured: bool = False


class Architecture(Record):
    """One row of the table.

    Attributes:
        number: 90 of `sm_90`.
        variants: letters of its targets with features that newer architectures lack: `a` its own, `f` its family's.
        forms: pattern of the mnemonics whose modifiers or types older architectures lack; opcodes that they lack are
            marked in the table of opcodes.
        special_registers: pattern of the special registers that older architectures lack.
        limits: None: no device here is checked against them.
        measured: the folder of `virtual_gpu/data/` with its special-function unit's results; "": not measured.
        tensor_core: None: it cannot be a job's `card`.
    """

    number: int
    variants: str = ""
    forms: str = ""
    special_registers: str = ""
    limits: ArchitectureLimits | None = None
    measured: str = ""
    tensor_core: TensorCore | None = None

    @property
    def name(self) -> str:
        """The name of its target without a letter: `sm_90`."""
        return f"sm_{self.number}"


ARCHITECTURES = (
    Architecture(
        number=90,
        variants="a",
        forms=r"::cluster|\.cluster(\.|$)|^(st|red)\.async|^cp\.(reduce\.)?async\.bulk"
        r"|^fence\.(proxy\.async|mbarrier_init)|\.oob\b"
        r"|^mbarrier\.(try_wait|expect_tx|complete_tx|arrive\.expect_tx)|^(atom|red)\b.*(\.v[248]\b|bf16|b128)"
        r"|^(add|sub|mul|setp?|ex2|tanh)\b.*bf16|^(add|min|max)\.[us]16x2|^(min|max)\.s32\.relu"
        r"|^cvt\b.*\.(bf16\.(?!f32)\w+|(?!f32)\w+\.bf16)$|^cvt\.r[nz]\b.*\.tf32|^mma\b.*\.m16n8k\d+\b.*f64",
        special_registers=r"%(n?cluster|is_explicit_cluster|aggr_smem_size)",
        limits=SM_90,
        measured="sm_90",
        tensor_core=TensorCore(25, is_measured=True),
    ),
    Architecture(75),
    Architecture(
        80,
        "",
        r"bf16|tf32|\.NaN|\.relu|L2::cache_hint|L2::256B"
        r"|^prefetch\b.*evict|^(min|max)\b.*f16|^cvt\b.*\.f16x2\.f32|^w?mma\b.*f64|\.and\.popc"
        r"|^mma\b.*\.m16n8k(16|32|64|128|256)\b",
        r"%reserved_smem_offset",
        tensor_core=TensorCore(24, 128),  # P. Xie et al., "MMA-Sim", arXiv:2511.10909
    ),
    Architecture(86, "", r"\.xorsign"),
    Architecture(87),
    Architecture(88),
    Architecture(89, "", r"e4m3|e5m2"),
    Architecture(100, "af", r"^(ld|st)\b.*\.(v8\.[busf]32|v4\.[busf]64)|^(add|sub|mul|fma)\b.*f32x2"),
    Architecture(103, "af"),
    Architecture(107, "af"),
    Architecture(110, "af"),
    Architecture(120, "af"),
    Architecture(121, "af"),
)
"""The first row is the virtual GPU's."""


# --- names and numbers ------------------------------------------------------------------------------------------------
# Architectures of the pinned compiler.


KNOWN = tuple(sorted(row.number for row in ARCHITECTURES))
_VARIANTS = {row.number: ("", *row.variants) for row in ARCHITECTURES}
_NAME = re.compile(r"sm_([0-9]{2,3})([af]?)")


CARDS = tuple(sorted(row.name for row in ARCHITECTURES if row.tensor_core))
"""Architectures whose tensor cores the CPU device emulates."""


def number(arch: str) -> int:
    """The number of an architecture: 90 of `sm_90a`; 0 where it has none."""
    match = re.match(r"sm_(\d+)", arch)
    return int(match[1]) if match else 0


def problem(arch: str) -> str | None:
    """Explain why a text is not an architecture of this compiler; None if it is one."""
    match = _NAME.fullmatch(arch)
    if match and match[2] in _VARIANTS.get(int(match[1]), ()):
        return None
    names = ", ".join(f"sm_{known}" for known in KNOWN)
    return f"unknown architecture {arch[:40]!r}; this compiler knows {names}, and sm_90a, sm_100a, sm_100f and so on"


def is_specific(arch: str) -> bool:
    """Tell whether code for an architecture runs on it alone: `sm_90a`."""
    return arch.endswith("a")


def named(own: str, wanted: str) -> str:
    """Return what to build for when a GPU of architecture `wanted` is named, and a source says `own`.

    Features of `sm_90a` are those of an sm_90: a GPU is called sm_90, and the code for it stays that for sm_90a.
    """
    return own if is_specific(own) and number(own) == number(wanted) else wanted

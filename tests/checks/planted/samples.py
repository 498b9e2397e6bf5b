"""The demonstration programs of NVIDIA/compute-sanitizer-samples, and what compute-sanitizer documents of each.

Their code is not in this repository: the folder is given to `python -m tests.checks.planted samples FOLDER`. The
findings are those of chapter "Compute Sanitizer Tool Examples" of its manual. Each names a line by a pattern of its
text, since versions of the samples differ in their first lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gpuregress.foundation.records import Dim3, Source
from tests.checks.planted.pairs import ARCH, Pair, Parameter


@dataclass(frozen=True, slots=True)
class Sample:
    """A kernel of the samples.

    Attributes:
        file: in the samples' folder.
        kernel: its name.
        grid: blocks.
        block: threads of a block.
        buffers: name → bytes that are set before the launch, of as many as the sample allocates.
        tool: which of the four tools is demonstrated.
        documented: the tool's finding.
        kinds: the kinds of fault that say the same.
        variable: what the finding should name.
        first: pattern of the text of one line that the finding names.
        second: pattern of the other line; "" if it names one.
    """

    file: str
    kernel: str
    grid: Dim3
    block: Dim3
    buffers: tuple[str, ...]
    tool: str
    documented: str
    kinds: tuple[str, ...]
    variable: str
    first: str
    second: str = ""
    unwritten: tuple[str, ...] = ()


SAMPLES = (
    Sample(
        "Racecheck/block_error.cu",
        "sumKernel",
        (1, 1, 1),
        (128, 1, 1),
        ("data_in", "sum_out"),
        "racecheck",
        "error: race between a write and a read access, block-wide",
        ("race",),
        "smem",
        r"^\s*smem\[",
        r"\+= smem\[",
    ),
    Sample(
        "Racecheck/warp_error.cu",
        "sumKernel",
        (1, 1, 1),
        (64, 1, 1),
        ("data_in", "sum_out"),
        "racecheck",
        "warning: race between a write and a read access, within warps",
        ("race",),
        "smem_first",
        r"^\s*smem_first\[",
        r"\+= smem_first\[",
    ),
    Sample(
        "Synccheck/divergent_threads.cu",
        "myKernel",
        (1, 1, 1),
        (64, 1, 1),
        ("data_in", "sum_out"),
        "synccheck",
        "barrier error: divergent threads in block, 16 threads of the last step",
        ("barrier", "deadlock"),
        "",
        r"^\s{12}__syncthreads\(",
    ),
    Sample(
        "Synccheck/illegal_syncwarp.cu",
        "myKernel",
        (1, 1, 1),
        (32, 1, 1),
        ("sum_out",),
        "synccheck",
        "barrier error: invalid arguments, thread 16 is not in the mask of its __syncwarp",
        ("barrier", "deadlock", "illegal-instruction"),
        "",
        r"__syncwarp\(mask",
    ),
    Sample(
        "Initcheck/memset_error.cu",
        "vectorAdd",
        (2, 1, 1),
        (32, 1, 1),
        ("v",),
        "initcheck",
        "uninitialized global memory read of 4 bytes: the last three quarters of the vector",
        ("uninitialized",),
        "v",
        r"^\s*v\[tx\]",
        unwritten=("v",),
    ),
    Sample(
        "Memcheck/memcheck_demo.cu",
        "unaligned_kernel",
        (1, 1, 1),
        (1, 1, 1),
        (),
        "memcheck",
        "invalid write of 4 bytes: the address is misaligned",
        ("misaligned",),
        "x",
        r"\(char\*\)",
    ),
    Sample(
        "Memcheck/memcheck_demo.cu",
        "out_of_bounds_kernel",
        (1, 1, 1),
        (1, 1, 1),
        (),
        "memcheck",
        "invalid write of 4 bytes: the address is out of bounds",
        ("out-of-bounds", "illegal-access"),
        "",
        r"0x87654320|^\s+out_of_bounds_function\(",
    ),
)


def source(sample: Sample, folder: Path) -> Source:
    """A sample's file to compile; the toolchain leaves out its host code."""
    return Source(str(folder / sample.file), options=("-lineinfo",), arch=ARCH, kernels=(sample.kernel,))


def as_pair(sample: Sample, folder: Path) -> Pair:
    """A sample as a planted error without a twin."""
    lines = (folder / sample.file).read_text(encoding="utf-8").splitlines()
    return Pair(
        program=Path(sample.file).stem,
        name=sample.kernel,
        text=sample.documented,
        kinds=sample.kinds,
        variable=sample.variable,
        variant="",
        grid=sample.grid,
        block=sample.block,
        shared=0,
        cluster=(1, 1, 1),
        is_cooperative=False,
        parameters=tuple(
            Parameter(name, "int", is_buffer=True, is_input=False, is_unwritten=name in sample.unwritten, value=0)
            for name in sample.buffers
        ),
        first=frozenset(_matching(lines, sample.first)),
        second=frozenset(_matching(lines, sample.second)) if sample.second else frozenset(),
    )


def _matching(lines: list[str], pattern: str) -> Iterator[int]:
    return (number for number, line in enumerate(lines, 1) if re.search(pattern, line))

"""The suite's programs: CUDA C++ as users write it, one file a subject, in `cuda/`.

Every kernel takes the same two arguments: random words to read, and zeroed words to write. A comment in the file says
how its kernels are launched, `All run with: grid 4, block 256`; one in the line above a kernel says it for that one,
`// grid 3 2 2, block 8 4 2, shared 5120`. `Compiled with:` names options that the file needs, `Only for:` the
architecture that has what it uses, `images:` textures and surfaces (`images.py`).
"""

from __future__ import annotations

import fnmatch
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from gpuregress.foundation.records import Dim3, Source
from gpuregress.gpu.descriptors import TextureDescription
from gpuregress.gpu.records import replace
from tests.conformance.kernels import images

FOLDER = Path(__file__).with_name("cuda")
ARCHITECTURES = ("sm_80", "sm_90")
WARPGROUPS = "sm_90a"
"""Only for the programs and jobs that name it."""
FLAGS: dict[str, tuple[str, ...]] = {
    "default": (),
    "fast": ("-use_fast_math",),
    "unfused": ("-fmad=false",),
}
READ_WORDS = 8192
WRITTEN_WORDS = 65536

# What hardware leaves open: a pattern of names → why two runs may differ. docs/explanation/cpu-device.md repeats it.
OPEN: dict[str, str] = {
    "jobs/compact/*": "which thread gets which place in the list is the order of their atomics",
    "jobs/dot/*": "the sum's order is that of the blocks' float atomics",
    "warp_synchronous/sides/*": "the sides alternate where ptxas puts a YIELD between a read and a write",
    "warp_synchronous/trip_counts/*": "ptxas puts a YIELD between two reads; as nvcc builds it, the bits are equal",
}

# Changed since the card was last asked, and why: to be recorded again.
UNASKED: dict[str, str] = {}

# What the CPU device does otherwise than the card that was asked, and why: defects, to be mended.
DIFFERENT: dict[str, str] = {}

# Jobs whose source only some architectures have: a pattern of cases → which.
JOBS_ONLY_FOR: dict[str, tuple[str, ...]] = {
    "jobs/cluster/*": ("sm_90",),
    "jobs/wgmma_*": (WARPGROUPS,),
    "jobs/flash_attention/*": (WARPGROUPS,),
    "jobs/triton-matmul-fp8/*": ("sm_90",),
}

# Where only the payload of float64 NaNs is left open: every bit is compared with all of them made one.
ANY_NAN: dict[str, str] = dict.fromkeys(
    (f"math_double/{name}_1/*" for name in ("j0", "j1", "y0", "y1")),
    "two NaNs meet in an fma, and ptxas swaps its factors as it likes: which one's payload goes through is its choice",
)

_SHAPE = re.compile(r"grid (\d+(?: \d+)*), block (\d+(?: \d+)*)(?:, shared (\d+))?")
_IMAGES = re.compile(r"images: (.*)", re.DOTALL)
_KERNEL = re.compile(r'((?:// [^\n]*\n)*)(?:extern "C" __global__ void (?:__\w+__\([^)]*\) )?(\w+)\()')
_MACRO = re.compile(r"\b(ONE|TWO|THREE|TEST)\((\w+)\)")
_SUFFIX = {"ONE": "_1", "TWO": "_2", "THREE": "_3", "TEST": "_1"}


@dataclass(frozen=True, slots=True)
class Shape:
    """How a kernel is launched; `shared` in bytes; the images whose handles it is given."""

    grid: Dim3
    block: Dim3
    shared: int = 0
    images: tuple[TextureDescription, ...] = ()


@dataclass(frozen=True, slots=True)
class Variant:
    """How a program is compiled: for which architecture, with which of `FLAGS`."""

    arch: str
    flags: str

    @property
    def name(self) -> str:
        """`sm_90/fast`."""
        return f"{self.arch}/{self.flags}"


VARIANTS = tuple(Variant(arch, flags) for arch in (*ARCHITECTURES, WARPGROUPS) for flags in FLAGS)


def names() -> tuple[str, ...]:
    """Every program: its file's name without `.cu`."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.cu")))


@cache
def kernels(program: str) -> dict[str, Shape]:
    """A program's kernels and how each is launched, in the file's order."""
    text = (FOLDER / f"{program}.cu").read_text(encoding="utf-8")
    usual = _shape(text.partition("All run with:")[2])
    actual = {name: _own_shape(above, usual) for above, name in _KERNEL.findall(text) if name != "kernel"}
    generated = {name + _SUFFIX[macro]: usual for macro, name in _MACRO.findall(text) if name not in ("name", "kernel")}
    return {**actual, **generated}


def source(program: str, variant: Variant) -> Source:
    """A program to compile."""
    path = FOLDER / f"{program}.cu"
    needed = re.findall(r"^// Compiled with: (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    options = (*(word for line in needed for word in line.split()), *FLAGS[variant.flags])
    return Source(str(path), options=options, arch=variant.arch, kernels=tuple(kernels(program)))


def variants(name: str) -> tuple[Variant, ...]:
    """The variants in which a program can be compiled, or a job's case (`jobs/CASE`)."""
    if name.startswith("jobs/"):
        only = next((archs for item, archs in JOBS_ONLY_FOR.items() if fnmatch.fnmatchcase(name, item)), ARCHITECTURES)
    else:
        text = (FOLDER / f"{name}.cu").read_text(encoding="utf-8")
        only = tuple(re.findall(r"^// Only for: (\w+)$", text, re.MULTILINE)) or ARCHITECTURES
    return tuple(variant for variant in VARIANTS if variant.arch in only)


def any_nan(name: str) -> bool:
    """Whether the payload of this kernel's NaNs is left open."""
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in ANY_NAN)


def left_open(name: str) -> bool:
    """Whether a kernel may write something else: hardware leaves it open, the card was not asked, or it is a defect."""
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in (*OPEN, *UNASKED, *DIFFERENT))


def words(seed: int = 20261120) -> npt.NDArray[np.uint32]:
    """What every kernel reads."""
    return np.random.Generator(np.random.PCG64(seed)).integers(0, 1 << 32, READ_WORDS, np.uint32)


def _shape(text: str) -> Shape:
    match = _SHAPE.search(text)
    assert match is not None, f"no launch in {text[:60]!r}"
    return Shape(_dim3(match[1]), _dim3(match[2]), int(match[3] or 0))


def _own_shape(above: str, usual: Shape) -> Shape:
    """How a kernel is launched, by the comment above it."""
    lines = [line.removeprefix("// ") for line in above.splitlines()]
    shape = next((_shape(line) for line in lines if line.startswith("grid ")), usual)
    match = _IMAGES.search(" ".join(lines))
    return replace(shape, images=images.parse(match[1])) if match else shape


def _dim3(text: str) -> Dim3:
    sizes = [int(word) for word in text.split()] + [1, 1]
    return (sizes[0], sizes[1], sizes[2])

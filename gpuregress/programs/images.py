"""Images that programs load, PTX or fatbins with PTX, as programs of the virtual GPU."""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Iterator
from pathlib import Path

from gpuregress.foundation.errors import CompileError
from gpuregress.gpu import architectures
from gpuregress.gpu.architectures import SM_90
from gpuregress.gpu.programs import Dim3, Program
from gpuregress.gpu.records import replace
from gpuregress.toolchain import fatbins, ptx_declarations, ptx_linker

_ELF, _LINKED = b"\x7fELF", b"GLNK"
_PART, _LINKED_HEAD = struct.Struct("<Q"), 16
_MODULE = re.compile(r"^\s*\.version\b", re.MULTILINE)
_CALL_BY_ADDRESS = re.compile(r"\.call(?:prototype|targets)\b")
REMEDY = (
    "build with PTX: nvcc -gencode arch=compute_90,code=compute_90, NVRTC --gpu-architecture=compute_90 and nvrtcGetPTX"
)


class NoPtx(CompileError):
    """An image holds machine code alone."""


class NoImage(CompileError):
    """Bytes that no GPU could load."""


def ptx_of(image: bytes) -> str:
    """Return the PTX of an image; that for the newest architecture that the virtual GPU runs.

    Raises:
        NoPtx: there is none.
        NoImage: it is none.
        CompileError: the image is damaged.
    """
    if image[:4] == _ELF:
        raise NoPtx(f"a cubin holds only machine code of a GPU, which the virtual GPU cannot run: {REMEDY}")
    if image[:4] == _LINKED:
        return _linked(_modules_of_parts(image))
    if image[:4] != fatbins.MAGIC:
        text = image.rstrip(b"\0").decode("utf-8", "replace")
        modules = _MODULE.split(text)
        if len(modules) < 2:
            raise NoImage("the image is neither PTX nor a fatbin")
        return text if len(modules) == 2 else _linked(modules[1:])
    most = architectures.number(SM_90.name)
    try:
        found = [item for item in fatbins.images(image) if item.is_ptx and item.architecture <= most]
        if not found:
            raise NoPtx(f"the fatbin has no PTX for {SM_90.name} or an older architecture: {REMEDY}")
        newest = max(found, key=lambda item: item.architecture)
        return newest.contents().rstrip(b"\0").decode("utf-8", "replace")
    except ValueError as error:
        raise CompileError(f"the fatbin cannot be read: {error}") from error


def _parts(image: bytes) -> Iterator[bytes]:
    """Split what the driver's linker has made."""
    place = _LINKED_HEAD
    while place < len(image):
        (size,) = _PART.unpack_from(image, place)
        place += _PART.size
        yield image[place : place + size]
        place += size


def _modules_of_parts(image: bytes) -> list[str]:
    """The modules of what is linked. What has no PTX is left out: the library of the device runtime is always there.

    Raises:
        NoPtx: nothing has PTX.
    """
    modules: list[str] = []
    lack: NoPtx | None = None
    for part in _parts(image):
        try:
            modules += _MODULE.split(ptx_of(part))[1:]
        except NoPtx as error:
            lack = error
    if lack is not None and not modules:
        raise lack
    return modules


def _linked(modules: list[str]) -> str:
    """Put modules of PTX, without the word `.version`, together as one."""
    first, *others = [f".version{module}" for module in modules]
    return ptx_linker.linked(first, others)


def program_of(ptx: str, path: Path) -> Program:
    """Describe a PTX text, which is written to a file, as a compiler would."""
    path.write_text(ptx, encoding="utf-8")
    declared = ptx_declarations.parse(ptx)
    return Program(
        key=hashlib.sha256(ptx.encode()).hexdigest(),
        ptx=str(path),
        cubin="",
        entries=declared.entries,
        symbols={name: name for name in declared.variables},
        compiler="of the program",
        options=(),
        arch=SM_90.name,
    )


def calls_by_address(ptx: str) -> bool:
    """Whether functions of a module may be called by their addresses, which all of its kernels must agree on."""
    return _CALL_BY_ADDRESS.search(ptx) is not None


def in_clusters(program: Program, kernel: str, cluster: Dim3, path: Path) -> Program:
    """Return a program one kernel of which is launched in clusters of a size that only the launch tells."""
    text = Path(program.ptx).read_text(encoding="utf-8")
    edited = ptx_declarations.with_cluster(text, kernel, cluster)
    return replace(program_of(edited, path), symbols=program.symbols)

"""What this machine can run, piece by piece, and the command that mends each lack."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata

from gpuregress import storage, toolchain
from gpuregress.devices import registry
from gpuregress.devices.cuda import host
from gpuregress.errors import GpuregressError, Interrupted
from gpuregress.records import Source
from gpuregress.session.compilation import sources
from gpuregress.toolchain import cache

_KERNEL = 'extern "C" __global__ void doctor(int *x) { *x = 1; }\n'
_PACKAGES = ("llvmlite", "numpy", "polars", "cuda-bindings", "nvidia-cuda-nvrtc", "nvidia-cuda-runtime")
_REINSTALL = "pip install --force-reinstall gpuregress"


@dataclass(frozen=True, slots=True)
class Piece:
    """One thing that was looked at.

    Attributes:
        device: `cpu`, `cuda` or `both`: who needs it.
        name: what it is.
        state: what was found: a version, a path, or what is wrong.
        well: whether it is as it should be.
        needed: whether the device cannot work without it.
        mend: the command that mends it, "" where nothing is wrong.
    """

    device: str
    name: str
    state: str
    well: bool
    needed: bool = True
    mend: str = ""


@dataclass(frozen=True, slots=True)
class Health:
    """All pieces, and the devices that can be used."""

    pieces: tuple[Piece, ...]
    devices: tuple[str, ...]


def examine() -> Health:
    """Looks at everything; changes nothing but the caches."""
    pieces = (*_base(), _compiler(), *_gpu())
    broken = {piece.device for piece in pieces if piece.needed and not piece.well}
    devices = (
        () if "both" in broken else tuple(name for name in registry.available() if name.partition(":")[0] not in broken)
    )
    return Health(pieces, devices)


def _base() -> Iterator[Piece]:
    yield Piece("both", "python", f"{platform.python_version()} ({sys.executable})", well=True)
    machine = f"{platform.system()} {platform.machine()}, {len(os.sched_getaffinity(0))} cores"
    yield Piece("both", "machine", machine, well=platform.system() == "Linux", mend="use Linux on x86-64 or arm64")
    for package in _PACKAGES:
        try:
            yield Piece("both", package, metadata.version(package), well=True)
        except metadata.PackageNotFoundError:
            yield Piece("both", package, "not installed", well=False, mend=_REINSTALL)
    yield _cache()


def _cache() -> Piece:
    folder = cache.folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        mend = "export GPUREGRESS_CACHE=/a/folder/you/can/write"
        return Piece("both", "cache", f"{folder}: {error.strerror}", well=False, mend=mend)
    return Piece("both", "cache", str(folder), well=True)


def _compiler() -> Piece:
    with storage.scratch() as folder:
        path = folder / "doctor.cu"
        path.write_text(_KERNEL, encoding="utf-8")
        try:
            sources.compile_source(Source(str(path), kernels=("doctor",)))
        except Interrupted:
            raise
        except GpuregressError as error:
            return Piece("both", "compiler", str(error).splitlines()[0], well=False, mend=_REINSTALL)
    return Piece("both", "compiler", f"{toolchain.compiler_version()} compiles", well=True)


def _gpu() -> Iterator[Piece]:
    for finding in host.prerequisites():
        state = finding.problem or "found"
        yield Piece("cuda", finding.piece, state, well=not finding.problem, needed=finding.needed, mend=finding.mend)

"""Health of this machine: each thing that a run needs, and the command that repairs it."""

from __future__ import annotations

import os
import platform
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from gpuregress.execution import device_registry as registry
from gpuregress.execution.cuda import prerequisites
from gpuregress.foundation import storage, usermodules
from gpuregress.foundation.errors import GpuregressError, Interrupted
from gpuregress.foundation.records import Source
from gpuregress.gpu.records import Record
from gpuregress.jobs.spec import job_files
from gpuregress.session import compilation
from gpuregress.toolchain import cache, programs
from gpuregress.toolchain.python_kernels import compiler as python_compiler

_KERNEL = 'extern "C" __global__ void doctor(int *x) { *x = 1; }\n'
_REINSTALL = "pip install --force-reinstall gpuregress"
_CPU = "pip install 'gpuregress[cpu]'"
_COMPILER_PACKAGES = ("cuda-bindings", "nvidia-cuda-nvrtc", "nvidia-cuda-runtime")
"""What compiles CUDA C++. A host that runs what another one has built needs none of them."""


class HealthCheck(Record):
    """One thing that was examined.

    Attributes:
        device: `cpu`, `cuda` or `both`: the devices that need it.
        name: of the thing.
        state: a version, a path, or what is wrong.
        well: whether it is as it should be.
        needed: whether the device cannot work without it.
        mend: the command that repairs it, "" where nothing is wrong.
    """

    device: str
    name: str
    state: str
    well: bool
    needed: bool = True
    mend: str = ""


class Health(Record):
    """The result of all checks, and the devices that can be used."""

    pieces: tuple[HealthCheck, ...]
    devices: tuple[str, ...]


def examine(configs: Path | None = None) -> Health:
    """Examine everything; nothing but the caches is changed.

    Args:
        configs: the folder of a project's jobs, which may need a kernel language; None: no job does.
    """
    pieces = (*_base(), _compiler(), *_languages(configs), *_gpu())
    broken = {piece.device for piece in pieces if piece.needed and not piece.well}
    if "both" in broken:
        return Health(pieces, ())
    return Health(pieces, tuple(name for name in registry.available() if name.partition(":")[0] not in broken))


def _base() -> Iterator[HealthCheck]:
    yield HealthCheck("both", "python", f"{platform.python_version()} ({sys.executable})", well=True)
    machine = f"{platform.system()} {platform.machine()}, {len(os.sched_getaffinity(0))} cores"
    yield HealthCheck(
        "both", "machine", machine, well=platform.system() == "Linux", mend="use Linux on x86-64 or arm64"
    )
    yield _package("both", "numpy", _REINSTALL)
    yield _package("both", "orjson", _REINSTALL)
    yield _package("cpu", "llvmlite", _CPU)
    for package in _COMPILER_PACKAGES:
        yield _package("both", package, _CPU, needed=False)
    yield _cache()


def _package(device: str, package: str, mend: str, *, needed: bool = True) -> HealthCheck:
    version = usermodules.installed_version(package)
    if version:
        return HealthCheck(device, package, version, well=True, needed=needed)
    return HealthCheck(device, package, "not installed", well=False, needed=needed, mend=mend)


def _cache() -> HealthCheck:
    folder = cache.folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        mend = "export GPUREGRESS_CACHE=/a/folder/you/can/write"
        return HealthCheck("both", "cache", f"{folder}: {error.strerror}", well=False, mend=mend)
    return HealthCheck("both", "cache", str(folder), well=True)


def _compiler() -> HealthCheck:
    with storage.scratch() as folder:
        path = folder / "doctor.cu"
        path.write_text(_KERNEL, encoding="utf-8")
        try:
            compilation.compile_source(Source(str(path), kernels=("doctor",)))
        except Interrupted:
            raise
        except GpuregressError as error:
            state = str(error).splitlines()[0]
            if all(map(usermodules.installed_version, _COMPILER_PACKAGES)):
                return HealthCheck("both", "compiler", state, well=False, mend=_REINSTALL)
            return HealthCheck("both", "compiler", state, well=False, needed=False, mend=_CPU)
    return HealthCheck("both", "compiler", f"{programs.compiler_version()} compiles", well=True)


def _languages(configs: Path | None) -> Iterator[HealthCheck]:
    """Compilers of kernels in Python: each is needed by the jobs that name its language."""
    texts = []
    if configs:
        texts = [path.read_text(encoding="utf-8", errors="replace") for path in job_files.job_files(configs)]
    for language in python_compiler.LANGUAGES:
        count = sum(re.search(rf"\blanguage[\"']?\s*:\s*[\"']?{language}\b", text) is not None for text in texts)
        version = python_compiler.version(language)
        state = version or "not installed"
        if configs:
            jobs = {0: "no job needs it", 1: "1 job needs it"}.get(count, f"{count} jobs need it")
            state += f" ({jobs})"
        mend = "" if version else f"pip install 'gpuregress[{language}]'"
        yield HealthCheck("both", language, state, well=bool(version) or not count, needed=False, mend=mend)


def _gpu() -> Iterator[HealthCheck]:
    for finding in prerequisites.prerequisites():
        state = finding.problem or "found"
        yield HealthCheck(
            "cuda", finding.piece, state, well=not finding.problem, needed=finding.needed, mend=finding.mend
        )

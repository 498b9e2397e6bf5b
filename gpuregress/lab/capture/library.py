"""Injection library, compiled once and kept in the cache, and the CUPTI library that it needs."""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from gpuregress.foundation import storage
from gpuregress.foundation.errors import HarnessError
from gpuregress.toolchain import cache

_SOURCES = Path(__file__).parent / "injection"
_OPTIONS = ("-O2", "-std=gnu11", "-shared", "-fPIC", "-fvisibility=hidden", "-ftls-model=initial-exec", "-w")
_COMPILERS = ("cc", "gcc", "clang")
_SECONDS = 120
_CUPTI_FOLDERS = ("extras/CUPTI/lib64", "lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib")


def build() -> Path:
    """Return the injection library, compiled if the cache does not have it.

    Raises:
        HarnessError: there is no compiler, or it fails.
        StorageError: the cache cannot be written.
    """
    compiler = _find_compiler()
    sources = sorted(_SOURCES.glob("*.c"))
    texts = [storage.read_bytes(path) for path in (*sources, *sorted(_SOURCES.glob("*.h")))]
    key = cache.digest(("injection library", *_OPTIONS, *compiler, _version(compiler), *texts))
    with cache.making(key):
        if cache.load(key) is None:
            cache.store(key, {"compiler": _version(compiler)}, {".so": _compile(compiler, sources)})
    return cache.file_path(key, ".so")


def _find_compiler() -> list[str]:
    named = shlex.split(os.environ.get("CC", ""))
    if named and shutil.which(named[0]):
        return named
    found = next((name for name in _COMPILERS if shutil.which(name)), None)
    if found is None:
        raise HarnessError(
            f"there is no C compiler ({', '.join(_COMPILERS)}) to build the injection library with: "
            "install gcc, or name a compiler in the variable CC"
        )
    return [found]


def _version(compiler: list[str]) -> str:
    try:
        done = subprocess.run([*compiler, "--version"], capture_output=True, text=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        raise HarnessError(f"the C compiler {compiler[0]} cannot be started: {error}") from error
    return done.stdout.partition("\n")[0]


def _compile(compiler: list[str], sources: list[Path]) -> bytes:
    with storage.scratch() as folder:
        target = folder / "capture.so"
        command = [*compiler, *_OPTIONS, *map(str, sources), "-o", str(target), "-ldl", "-lpthread"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
        except (OSError, subprocess.SubprocessError) as error:
            raise HarnessError(f"the C compiler {compiler[0]} cannot be started: {error}") from error
        if done.returncode or not target.exists():
            lines = (done.stderr or done.stdout).strip().splitlines() or ["it says nothing"]
            reason = next((line for line in lines if "error" in line), lines[0])
            raise HarnessError(f"{compiler[0]} cannot build the injection library: {reason}")
        return target.read_bytes()


def find_cupti() -> Path:
    """Return the library of CUPTI, which comes with the CUDA toolkit and as a wheel.

    Raises:
        HarnessError: there is none.
    """
    named = os.environ.get("GPUREGRESS_CAPTURE_CUPTI")
    if named:
        if not Path(named).exists():
            raise HarnessError(f"GPUREGRESS_CAPTURE_CUPTI names {named}, which is not there")
        return Path(named)
    for folder in _cupti_folders():
        for pattern in ("libcupti.so", "libcupti.so.*[0-9]"):
            found = sorted(folder.glob(pattern))
            if found:
                return found[-1]
    raise HarnessError(
        "CUPTI (libcupti.so) is not there: it comes with the CUDA toolkit; or install it by "
        "`pip install nvidia-cuda-cupti`, or name it in the variable GPUREGRESS_CAPTURE_CUPTI"
    )


def _cupti_folders() -> Iterator[Path]:
    """The folders where CUPTI may be: of the toolkit that is on the path, then wheels, then the usual place."""
    compiler = shutil.which("nvcc")
    roots = [Path(os.environ[name]) for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    roots += [Path(compiler).resolve().parent.parent] if compiler else []
    roots += [Path("/usr/local/cuda")]
    for root in roots:
        yield from (root / folder for folder in _CUPTI_FOLDERS)
    spec = importlib.util.find_spec("nvidia")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        yield from (Path(place) / folder for folder in ("cuda_cupti/lib", "cu13/lib", "cu12/lib"))

"""Cache keys of a source: all that decides the bits of its program, and no path of this machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from gpuregress.foundation import usermodules
from gpuregress.foundation.records import PythonKernel, Source, to_json
from gpuregress.gpu.records import replace
from gpuregress.toolchain import cache, nvrtc_options
from gpuregress.toolchain.cubin_linker import PINNED
from gpuregress.toolchain.include_scanner import SourceInputs
from gpuregress.toolchain.python_kernels import compiler as python_compiler
from gpuregress.toolchain.python_kernels import source_inputs

_HEADER_WHEELS = ("nvidia-cuda-runtime", "nvidia-cuda-crt", "nvidia-cuda-cccl", "nvidia-curand")


def own(source: Source, files: SourceInputs) -> str:
    """Calculate the key of the program that this host makes; see `candidates`."""
    *_, key = candidates(source, files)
    return key


def candidates(source: Source, files: SourceInputs) -> Iterator[str]:
    """Yield the keys of the programs that this host takes, the cheapest to ask for first and its own last.

    Args:
        source: in C++, Python, PTX or machine code.
        files: the files that decide its program.
    """
    suffix = Path(source.path).suffix
    names = [*source.kernels, "", *source.symbols]
    if suffix == ".cubin":
        yield cache.digest(("cubin", source.arch, *names, files.contents[0]))
    elif suffix == ".ptx":
        yield cache.digest(("ptx", package_digest(), source.contract, source.arch, *names, files.contents[0]))
    elif source.python is not None:
        installed = python_compiler.version(source.python.language)
        packages = source_inputs.packages(files)
        version = f"{installed} {json.dumps(packages)}" if packages else installed
        yield _of_python(source, source.python, files, version)
    else:
        content = _cxx_content(source, files)
        yield cache.digest(("c++", package_digest(), PINNED, *content))
        version = _minor(installed_nvrtc() or PINNED)  # takes long to ask for
        if version != PINNED:
            yield cache.digest(("c++", package_digest(), version, *content))


def shared(source: Source, files: SourceInputs) -> str:
    """Calculate the key of what a source in C++ has in common for all names that are asked for.

    It is that of the note which program has all kernels that are no templates, or of a failure that names do not mend.
    """
    return own(replace(source, kernels=("",), symbols=(), harness=""), files)


def types(source: Source, files: SourceInputs, name: str) -> str:
    """Calculate the key of the note which program has the types of a kernel or variable.

    Args:
        source: in C++, compiled for its types.
        files: the files that decide its program.
        name: that is asked for.
    """
    return own(replace(source, kernels=("", name), symbols=(), harness=""), files)


def newest(source: Source, files: SourceInputs) -> str:
    """Calculate the key of the note which program of a Python source was made by the newest compiler, on any host."""
    assert source.python is not None
    return _of_python(source, source.python, files, "built elsewhere")


def in_folder(key: str, files: SourceInputs) -> str:
    """Calculate the key of a program that depends on the folder of its files.

    Args:
        key: of the same program anywhere.
        files: where they are.
    """
    return cache.digest((key, *(str(path) for path in files.files)))


@lru_cache(maxsize=1)
def installed_nvrtc() -> str:
    """Return NVRTC's version by its wheel, "" where there is none."""
    return usermodules.installed_version("nvidia-cuda-nvrtc")


@lru_cache(maxsize=1)
def header_versions() -> str:
    """Return the versions of the compiler and of CUDA's headers by their wheels, as far as they are installed.

    A program's key has the compiler's minor version alone. A failure may be mended by the next wheel.
    """
    versions = [installed_nvrtc()]
    versions += [usermodules.installed_version(wheel) for wheel in _HEADER_WHEELS]
    return " ".join(versions)


def _cxx_content(source: Source, files: SourceInputs) -> list[str | bytes]:
    content: list[str | bytes] = [source.contract, source.arch, *nvrtc_options.options_for(source), ""]
    content += [*source.kernels, "", *source.symbols, ""]
    if source.harness:
        content.append(source.harness)
    if source.host_code == "blank":
        content.append("host code")
    content.append(files.structure)
    for path, text in zip(files.files, files.contents, strict=True):
        content += [path.name, text]
    return content


def _of_python(source: Source, kernel: PythonKernel, files: SourceInputs, version: str) -> str:
    record = to_json(kernel)
    if not kernel.arguments:
        del record["arguments"]  # few kernels have heuristics
    content: list[str | bytes] = [source.contract, source.arch, *source.options, ""]
    content += [*source.kernels, "", *source.symbols, ""]
    content += [json.dumps(record), files.structure, *(path.name for path in files.files), *files.contents]
    return cache.digest(("python", package_digest(), version, *content))


@lru_cache(maxsize=1)
def package_digest() -> str:
    """Digest the code and the headers of this package, which decide a program's PTX, too."""
    root = Path(__file__).parent
    files = sorted((*root.rglob("*.py"), *root.glob("data/*")))
    return cache.digest([file.read_bytes() for file in files])


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])

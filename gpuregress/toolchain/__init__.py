"""Compilation of CUDA C++ to PTX and cubin, cached by content."""

from gpuregress.toolchain.cache import check_folder
from gpuregress.toolchain.include_scanner import SourceInputs
from gpuregress.toolchain.programs import (
    build,
    build_cubin,
    compile,  # noqa: A004 - callers write toolchain.compile
    compiler_version,
    find,
    inputs,
    resources,
    warnings,
)

__all__ = [
    "SourceInputs",
    "build",
    "build_cubin",
    "check_folder",
    "compile",
    "compiler_version",
    "find",
    "inputs",
    "resources",
    "warnings",
]

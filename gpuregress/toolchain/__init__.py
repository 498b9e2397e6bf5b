"""Compilation of CUDA C++ to PTX and cubin, cached by content."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpuregress.toolchain.cache import check_folder as check_folder
    from gpuregress.toolchain.cubin_linker import build_cubin as build_cubin
    from gpuregress.toolchain.cubin_linker import resources as resources
    from gpuregress.toolchain.include_scanner import SourceInputs as SourceInputs
    from gpuregress.toolchain.programs import build as build
    from gpuregress.toolchain.programs import compile as compile  # noqa: A004 - callers write toolchain.compile
    from gpuregress.toolchain.programs import compiler_version as compiler_version
    from gpuregress.toolchain.programs import find as find
    from gpuregress.toolchain.programs import foreign_compiler as foreign_compiler
    from gpuregress.toolchain.programs import inputs as inputs
    from gpuregress.toolchain.programs import warnings as warnings

_HOMES = {
    "check_folder": "cache",
    "SourceInputs": "include_scanner",
    **dict.fromkeys(("build_cubin", "resources"), "cubin_linker"),
    **dict.fromkeys(
        ("build", "compile", "compiler_version", "find", "foreign_compiler", "inputs", "warnings"), "programs"
    ),
}
"""Name → the module that has it; a worker whose programs are built loads no compiler."""

if not TYPE_CHECKING:  # a type checker would take any name for one that is there

    def __getattr__(name: str) -> Any:
        """Load a name when it is first used."""
        if name not in _HOMES:
            raise AttributeError(f"module 'gpuregress.toolchain' has no attribute {name!r}")
        value = getattr(importlib.import_module(f"gpuregress.toolchain.{_HOMES[name]}"), name)
        globals()[name] = value
        return value

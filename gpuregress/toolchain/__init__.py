"""Compilation of CUDA C++ to PTX and cubin, cached by content."""

from gpuregress.toolchain.cache import check_folder as check_folder
from gpuregress.toolchain.include_scanner import SourceInputs as SourceInputs
from gpuregress.toolchain.programs import build as build
from gpuregress.toolchain.programs import build_cubin as build_cubin
from gpuregress.toolchain.programs import compile as compile  # noqa: A004 - callers write toolchain.compile
from gpuregress.toolchain.programs import compiler_version as compiler_version
from gpuregress.toolchain.programs import find as find
from gpuregress.toolchain.programs import foreign_compiler as foreign_compiler
from gpuregress.toolchain.programs import inputs as inputs
from gpuregress.toolchain.programs import resources as resources
from gpuregress.toolchain.programs import warnings as warnings

"""Compilation of a Python source by the compiler of its language."""

from __future__ import annotations

import importlib
import sysconfig
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Protocol

from gpuregress.foundation import usermodules
from gpuregress.foundation.errors import CodeLine, CompileError, MissingCompiler
from gpuregress.foundation.records import CompiledLaunch, PythonKernel, Source
from gpuregress.gpu.records import Record
from gpuregress.toolchain import compiler_messages
from gpuregress.toolchain.python_kernels import program_slice, stand_ins

_MODULES = {"triton": "triton_compiler", "numba": "numba_compiler", "warp": "warp_compiler", "python": "ptx_function"}
_EXTRAS = {"triton": "triton", "numba": "numba-cuda", "warp": "warp-lang"}
LANGUAGES = tuple(_EXTRAS)
"""The languages whose compilers are packages, which may be missing."""

_PACKAGES = {"cutlass": "nvidia-cutlass-dsl", "tilelang": "tilelang", "warp": "warp-lang"}
"""Modules of kernel languages that a function which returns PTX may import → the packages that have them."""

STEERING = (
    *("TRITON_", "MLIR_", "LLVM_", "NUMBA_", "USE_IR_LOC"),
    *("DISABLE_LLVM_", "DISABLE_MMA_", "ALLOW_LHS_TMEM_", "STORE_TMEM_"),
    *("CUTE_", "CUTLASS_", "TILELANG_", "TL_", "TVM_", "WARP_"),
)
"""Beginnings of environment variables that these compilers read: they are in no cache's key."""


class _Compiler(Protocol):
    """A compiler of one language: a module of this package."""

    def prepare(self, arch: str) -> None: ...

    def compile_kernel(
        self, module: ModuleType, kernel: PythonKernel, arch: str
    ) -> tuple[str, CompiledLaunch | None]: ...

    def describe_error(self, wrong: BaseException, text: str) -> tuple[str, int]: ...


class CompiledPython(Record):
    """What a Python source was compiled to.

    Attributes:
        ptx: a whole module.
        launch: what the compiler decided about its launches; None: nothing.
        compiler: `triton 3.9.0`.
        missed: package that the code looked for in vain, and went on without → the line that did.
    """

    ptx: str
    launch: CompiledLaunch | None
    compiler: str
    missed: Mapping[str, str] = {}


@cache
def version(language: str) -> str:
    """Return the version of a language's compiler; "" where it is not installed, or where there is none."""
    if language not in _EXTRAS:
        return ""
    return usermodules.installed_version(_EXTRAS[language])


def missing_text(file: str, language: str) -> str:
    """Return the message that a language's compiler is not installed.

    Args:
        file: that needs it.
        language: `triton`, `numba` or `warp`.
    """
    advice = f"pip install 'gpuregress[{language}]'"
    return f"{file} needs {_EXTRAS[language]}, which is not installed: {advice}"


def _report_missing_package(wrong: BaseException, file: str) -> None:
    """Raise MissingCompiler if an import of a kernel language failed, because its package is not installed.

    Args:
        wrong: what the import of the user's file, or its function, raised.
        file: the user's, for messages.
    """
    cause: BaseException | None = wrong
    while cause is not None:
        if isinstance(cause, ModuleNotFoundError) and cause.name in _PACKAGES:
            package = _PACKAGES[cause.name]
            raise MissingCompiler(f"{file} needs {package}, which is not installed: pip install {package}") from wrong
        cause = cause.__cause__


def compile_source(source: Source) -> CompiledPython:
    """Compile a Python source to PTX.

    Raises:
        CompileError: it does not compile; names the file and line.
        MissingCompiler: its compiler is not installed.
    """
    kernel = source.python
    assert kernel is not None
    shown = compiler_messages.shown(Path(source.path))
    extra = kernel.language
    if extra in _EXTRAS and not version(extra):
        raise MissingCompiler(missing_text(shown, extra))
    compiler: _Compiler = importlib.import_module(f"{__package__}.{_MODULES[extra]}")
    compiler.prepare(source.arch)

    def compiled(module: ModuleType) -> tuple[str, CompiledLaunch | None]:
        if not hasattr(module, kernel.function):
            raise CompileError(f"there is no {kernel.function!r}")
        return compiler.compile_kernel(module, kernel, source.arch)

    partial = None
    if kernel.language == "triton":
        partial = program_slice.partial_import(Path(source.path), kernel.function)
    try:
        ptx, launch = usermodules.call_with(source.path, compiled, partial)
    except CompileError as error:
        stand_ins.check(shown)
        raise CompileError(f"{shown}: {error}", source_line=error.source_line) from error
    except usermodules.UserModuleError as error:
        stand_ins.check(shown)
        _report_missing_package(error, shown)
        raise CompileError(str(error).replace(source.path, shown)) from error
    except (Exception, usermodules.UserCodeExit) as wrong:
        stand_ins.check(shown)
        _report_missing_package(wrong, shown)
        content = Path(source.path).read_text(encoding="utf-8", errors="replace")
        reason, line = compiler.describe_error(wrong, content)
        if line:
            source_line = CodeLine(source.path, line)
            raise CompileError(f"{shown}:{line}: {reason}", source_line=source_line) from wrong
        raise CompileError(f"{shown}: {reason or usermodules.describe_error(wrong, source.path)}") from wrong
    stand_ins.check(shown)
    folders = [Path(source.path).parent, *(Path(folder) for folder in (sysconfig.get_path("purelib"),) if folder)]
    ptx = compiler_messages.portable_paths(ptx, folders)
    missed = partial.missed if partial is not None else {}
    return CompiledPython(ptx, launch, f"{_EXTRAS.get(extra, 'python')} {version(extra)}".strip(), missed)

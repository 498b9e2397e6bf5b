"""Source of a kernel from Python: a path, CUDA C++ or PTX; its compilation."""

from __future__ import annotations

import atexit
import functools
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from gpuregress.execution.workers.compiler_pool import CompilerPool
from gpuregress.foundation import storage
from gpuregress.foundation.errors import CompileError, GpuregressError, UsageError
from gpuregress.foundation.records import Program, Source
from gpuregress.toolchain import include_scanner, programs

SUFFIXES = (*include_scanner.SUFFIXES, ".ptx", ".cubin")
_TEXT = re.compile(r"[\n{};]")
_PTX = re.compile(r"(?:\s+|//[^\n]*\n|/\*.*?\*/)*\.version\b", re.DOTALL)


def path_of(source: str | os.PathLike[str]) -> Path:
    """Return the file of a source; a text is saved as one.

    Args:
        source: a path, or the text itself.

    Raises:
        UsageError: it is a path to no file, or of an unknown kind.
        TypeError: it is neither a path nor text.
    """
    if not isinstance(source, str | os.PathLike):
        raise TypeError(f"source is {source!r}: expected a path, or the text of a kernel")
    if isinstance(source, str) and is_text(source):
        suffix = ".ptx" if _PTX.match(source) else ".cu"
        return saved(source, f"kernel{suffix}")
    path = Path(source).absolute()
    if not path.is_file():
        raise UsageError(f"there is no file {source}: pass a path, or the text of a kernel")
    if path.suffix not in SUFFIXES:
        python = ": a kernel in Python needs a job (docs/how-to/triton-and-numba.md)" if path.suffix == ".py" else ""
        raise UsageError(f"{source} is not CUDA C++, PTX or a cubin, by its name{python}")
    return path


def is_text(source: str) -> bool:
    """Tell whether a source is the text of a kernel, and no path."""
    return bool(_TEXT.search(source))


def saved(text: str, name: str) -> Path:
    """Save a text as a file that lives as long as this process.

    Args:
        text: its contents.
        name: of the file, which messages show.
    """
    path = _folder(os.getpid()) / hashlib.sha256(text.encode()).hexdigest()[:16] / name
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        storage.write_atomic(path, text.encode(), durable=False)
    return path


@functools.cache
def _folder(_process: int) -> Path:
    """The folder of this process's sources; a copy made by fork gets its own."""
    folder = Path(tempfile.mkdtemp(prefix="gpuregress-kernels-"))
    owner = os.getpid()
    atexit.register(lambda: shutil.rmtree(folder, ignore_errors=True) if os.getpid() == owner else None)
    return folder


def macros(defines: Mapping[str, object] | None) -> dict[str, str]:
    """Return macros as the compiler takes them: `True` is 1."""
    return {name: str(int(value)) if isinstance(value, bool) else str(value) for name, value in (defines or {}).items()}


def compiled(source: Source, *, has_cubin: bool) -> Program:
    """Compile a source, or find it in the cache; the compiler is a process, as for a job.

    Args:
        source: what to compile.
        has_cubin: whether machine code is wanted, for a GPU.

    Raises:
        CompileError: it does not compile, or has no such kernel.
        HarnessError: the compiler is not installed.
    """
    found = programs.find(source)
    if found is not None and (found.cubin or not has_cubin):
        return found
    with CompilerPool(1, cubins=has_cubin) as compilers:
        compilers.submit("kernel", source)
        while not (results := compilers.collect()):
            compilers.wait()
    ((_, result),) = results
    if isinstance(result, GpuregressError):
        raise result
    return result


def text_of(path: Path) -> str:
    """Return the text of a C++ source; "" for PTX and cubins.

    Raises:
        CompileError: it cannot be read.
    """
    if path.suffix in (".ptx", ".cubin"):
        return ""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise CompileError(f"cannot read {path}: {error.strerror}") from error

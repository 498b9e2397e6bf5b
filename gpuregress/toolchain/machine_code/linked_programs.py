"""Machine code of compiled programs, found in the cache or assembled."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpuregress.foundation import storage
from gpuregress.foundation.errors import InfeasibleSource
from gpuregress.foundation.records import Program
from gpuregress.gpu.records import replace
from gpuregress.toolchain import cache

PINNED = "13.5"
"""The minor version of NVRTC and nvJitLink that pyproject.toml asks for: part of every key.

Compiled results change with it, and a host without a compiler must find what was built elsewhere.
"""


def build_cubin(program: Program) -> Program:
    """Return the program with a cubin for its architecture, from the cache or assembled.

    Args:
        program: from `compile`.

    Raises:
        CompileError: the assembler refuses the PTX, now or before.
        HarnessError: it is not in the cache, and neither nvJitLink nor ptxas is here.
        StorageError: the cache cannot be written.
    """
    if program.cubin or not program.ptx:
        return program
    key = key_of(program)
    known = cache.load(key)
    if known is not None:
        check_refusal(known)
        return replace(program, cubin=str(cache.file_path(key, ".cubin")))
    with cache.making(key):
        known = cache.load(key)
        if known is None:
            _link(program, key)
        else:
            check_refusal(known)
    return replace(program, cubin=str(cache.file_path(key, ".cubin")))


def _link(program: Program, key: str) -> None:
    """Assemble a program's PTX into the cache."""
    from gpuregress.toolchain.machine_code import link  # noqa: PLC0415 - a warm start needs none of it

    ptx = Path(program.ptx)
    try:
        linked = link.link(storage.read_bytes(ptx).decode(errors="replace"), program.arch, ptx.name)
    except InfeasibleSource as refused:
        store_refusal(key, str(refused))
        raise
    resources = {kernel: dict(figures) for kernel, figures in linked.resources.items()}
    cache.store(key, {"linker": linked.linker, "resources": resources}, {".cubin": linked.cubin})


def resources(program: Program) -> dict[str, dict[str, int]]:
    """Return the resources of a program's kernels: mangled name → `registers`, `spill`, `stack`, … (bytes).

    Empty where no cubin of it was built here or carried here.
    """
    record = cache.load(key_of(program)) or {}
    return {kernel: dict(figures) for kernel, figures in record.get("resources", {}).items()}


def store_refusal(key: str, message: str) -> None:
    """Store that a program cannot be built, for later runs and for hosts without a compiler."""
    cache.store(key, {"infeasible": message}, {})


def check_refusal(record: Mapping[str, Any]) -> None:
    """Raise the error of a program that was refused before."""
    if "infeasible" in record:
        raise InfeasibleSource(str(record["infeasible"]))


def key_of(program: Program) -> str:
    """The cache key of a program's machine code."""
    return cache.digest(("linked", PINNED, program.arch, program.key))

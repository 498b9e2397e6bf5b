"""Cache of compiled modules by content: object code, and the facts of its kernels as JSON."""

from __future__ import annotations

import contextlib
import functools
import gc
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gpuregress.foundation.errors import InfeasibleSource, StorageError
from gpuregress.toolchain import cache
from gpuregress.virtual_gpu.runtime import llvm_backend
from gpuregress.virtual_gpu.runtime.program import CLASSES, CompiledModule, ModuleFacts, Schedule
from gpuregress.virtual_gpu.runtime.record_codec import decode, encode


def compiled(text: str, kernels: Sequence[str], schedule: Schedule | None = None) -> CompiledModule:
    """Compile the kernels of a PTX text, or find them in the cache.

    Args:
        text: the PTX.
        kernels: mangled names; none: all.
        schedule: how the threads of a block are run; the usual way where not given.

    Raises:
        UnsupportedError: every kernel needs an unsupported instruction. Where some do, the others can be launched.
        CompileError: the PTX does not follow the grammar.
        InfeasibleSource: it needs more memory than the architecture has, as was found now or before.
        StorageError: others may write the cache.
    """
    schedule = schedule or Schedule()
    key = cache.digest([text, "\n".join(kernels), llvm_backend.fingerprint(), _own_digest(), repr(schedule)])
    cached = _load(key)
    if cached is not None:
        return cached
    with cache.making(key):
        return _load(key) or _made(key, text, kernels, schedule)


def _made(key: str, text: str, kernels: Sequence[str], schedule: Schedule) -> CompiledModule:
    """Compile the kernels, and store what came of it."""
    from gpuregress.virtual_gpu.compilation.translate import compile_module  # noqa: PLC0415 - costs 100 ms

    try:
        with _without_collection():
            module = compile_module(text, kernels, schedule)
    except InfeasibleSource as refused:
        _store(key, {"infeasible": str(refused)}, {})
        raise
    _store(key, encode(module.facts), {".o": module.code})
    return module


def _store(key: str, record: Any, files: Mapping[str, bytes]) -> None:
    """Store an entry; a cache that cannot be written costs time and nothing else."""
    with contextlib.suppress(StorageError):
        cache.store(key, record, files)


@contextlib.contextmanager
def _without_collection() -> Iterator[None]:
    """Leave the garbage collector off: it would walk through the growing syntax trees, a fifth of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _load(key: str) -> CompiledModule | None:
    """The cached module; None where there is none, or none that can be used."""
    record = cache.load(key)
    if record is None:
        return None
    if "infeasible" in record:
        raise InfeasibleSource(str(record["infeasible"]))
    try:
        facts = decode(record, CLASSES)
        return (
            CompiledModule(cache.file_path(key, ".o").read_bytes(), facts) if isinstance(facts, ModuleFacts) else None
        )
    except (OSError, KeyError, TypeError, ValueError):
        return None


@functools.cache
def _own_digest() -> str:
    """A digest of the compiler's own code, part of every key."""
    root = Path(__file__).parents[1]
    return cache.digest([path.read_bytes() for path in sorted(root.rglob("*.py"))])

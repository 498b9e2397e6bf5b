"""Cache of compiled modules by content: object code, and the facts of its kernels as JSON."""

from __future__ import annotations

import contextlib
import functools
import gc
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from gpuregress.gpu.errors import InfeasibleSource
from gpuregress.virtual_gpu.cache import Cache
from gpuregress.virtual_gpu.runtime import llvm_backend
from gpuregress.virtual_gpu.runtime.program import CLASSES, CompiledModule, ModuleFacts, Schedule
from gpuregress.virtual_gpu.runtime.record_codec import decode, encode


def compiled(
    text: str,
    kernels: Sequence[str],
    schedule: Schedule | None = None,
    *,
    library_files: Collection[str] = (),
    cache: Cache | None = None,
) -> CompiledModule:
    """Compile the kernels of a PTX text, or find them in the cache.

    Args:
        text: the PTX.
        kernels: mangled names; none: all.
        schedule: how the threads of a block are run; the usual way where not given.
        library_files: see `ptx.parser.parse`.
        cache: where compiled modules are kept; None: nowhere.

    Raises:
        UnsupportedError: every kernel needs an unsupported instruction. Where some do, the others can be launched.
        CompileError: the PTX does not follow the grammar.
        InfeasibleSource: it needs more memory than the architecture has, as was found now or before.
    """
    schedule = schedule or Schedule()
    if cache is None:
        return _compile(text, kernels, schedule, library_files)
    words = ["\n".join(kernels), "\n".join(library_files), llvm_backend.fingerprint(), repr(schedule)]
    key = cache.digest([text, *words, *_own_code()])
    module = _load(key, cache)
    if module is not None:
        return module
    with cache.making(key):
        module = _load(key, cache)
        if module is not None:
            return module
        try:
            module = _compile(text, kernels, schedule, library_files)
        except InfeasibleSource as refused:
            cache.keep(key, {"infeasible": str(refused)}, {})
            raise
        cache.keep(key, encode(module.facts), {".o": module.code})
    return module


def _compile(text: str, kernels: Sequence[str], schedule: Schedule, library_files: Collection[str]) -> CompiledModule:
    from gpuregress.virtual_gpu.compilation.translate import compile_module  # noqa: PLC0415 - costs 100 ms

    with _without_collection():
        return compile_module(text, kernels, schedule, library_files)


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


def _load(key: str, cache: Cache) -> CompiledModule | None:
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
def _own_code() -> tuple[bytes, ...]:
    """The compiler's own code, part of every key."""
    root = Path(__file__).parents[1]
    return tuple(path.read_bytes() for path in sorted(root.rglob("*.py")))

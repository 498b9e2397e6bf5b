"""A program as the device keeps it: object code, and what must be known to launch its kernels; cached by content."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gpuregress.devices.cpu.runtime import engine
from gpuregress.devices.cpu.runtime.program import Compiled, KernelFacts, Schedule, VariableFacts
from gpuregress.devices.cpu.runtime.sites import Site
from gpuregress.errors import StorageError
from gpuregress.toolchain import cache

_TUPLES = ("places", "cluster", "required_block")


def compiled(text: str, kernels: Sequence[str], schedule: Schedule | None = None) -> Compiled:
    """Compiles a PTX text's kernels, or finds them in the cache.

    Args:
        text: the PTX.
        kernels: mangled names; none: all.
        schedule: how the threads of a block are run; the usual way where not given.

    Raises:
        UnsupportedError: every kernel needs what is not there. Where some do, the others can still be launched.
        CompileError: the PTX does not follow the grammar.
        StorageError: others may write the cache.
    """
    schedule = schedule or Schedule()
    key = cache.digest([text, "\n".join(kernels), engine.fingerprint(), _own_digest(), repr(schedule)])
    found = _found(key)
    if found is not None:
        return found
    built = _compile(text, kernels, schedule)
    try:
        cache.store(key, _to_record(built), {".o": built.code})
    except StorageError:
        # A cache that cannot be written costs time and nothing else.
        return built
    return built


def _found(key: str) -> Compiled | None:
    """What the cache has; None where it has nothing that can be used."""
    record = cache.load(key)
    try:
        return _from_record(record, cache.file_path(key, ".o").read_bytes()) if record is not None else None
    except (OSError, KeyError, TypeError, ValueError):
        return None


@functools.cache
def _own_digest() -> str:
    """A digest of the code that translates: a change of ours must not find what the old code made."""
    root = Path(__file__).parents[1]
    return cache.digest([path.read_bytes() for path in sorted(root.rglob("*.py"))])


def _compile(text: str, kernels: Sequence[str], schedule: Schedule) -> Compiled:
    from gpuregress.devices.cpu.compilation.translate import compile_module  # noqa: PLC0415 - costs 100 ms

    return compile_module(text, kernels, schedule)


def _to_record(built: Compiled) -> dict[str, Any]:
    record = {item.name: getattr(built, item.name) for item in dataclasses.fields(built) if item.name != "code"}
    record["kernels"] = {name: dataclasses.asdict(facts) for name, facts in built.kernels.items()}
    record["sites"] = [dataclasses.astuple(site) for site in built.sites]
    record["variables"] = [dataclasses.astuple(item) for item in built.variables]
    return record


def _from_record(record: dict[str, Any], code: bytes) -> Compiled:
    kernels = {
        name: KernelFacts(**facts | {key: tuple(facts[key]) for key in _TUPLES if facts[key] is not None})
        for name, facts in record["kernels"].items()
    }
    return Compiled(
        code,
        kernels,
        tuple(Site(*item) for item in record["sites"]),
        tuple(
            VariableFacts(name, size, itemsize, data, tuple(tuple(entry) for entry in addresses))
            for name, size, itemsize, data, addresses in record["variables"]
        ),
        tuple(record["tables"]),
        tuple((name, start, size) for name, start, size in record["shared"]),
        dict(record["functions"]),
        record["dynamic_start"],
        dict(record["refused"]),
    )

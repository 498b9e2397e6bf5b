"""Commuting atomic operations: on integers, of one kind, with results that nobody reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from gpuregress.virtual_gpu.analysis import effects
from gpuregress.virtual_gpu.ptx.modifiers import lanes, type_of
from gpuregress.virtual_gpu.ptx.tree import Function, Instruction, Statement
from gpuregress.virtual_gpu.ptx.types import INDEX_BITS

_COMMUTATIVE = frozenset(["add", "min", "max", "and", "or", "xor"])
_PLAIN_ATOMIC = _COMMUTATIVE.union(["relaxed", "gpu", "cta", "sys", "global", "shared"])


def commuting_kind(item: Instruction, read: Collection[str]) -> str:
    """Return the kind of an atomic operation that commutes with those of its kind, as `add.u32`; "" for others.

    Args:
        item: any instruction.
        read: the registers that its function reads.
    """
    words = [word for word in item.modifiers if word in _COMMUTATIVE]
    if item.opcode not in ("atom", "red") or not words or "async" in item.modifiers or lanes(item) > 1:
        return ""
    if type_of(item) not in INDEX_BITS or not _PLAIN_ATOMIC.union((type_of(item),)).issuperset(item.modifiers):
        return ""
    names = {name.partition("@")[0] for name in effects.sets(item)}
    return f"{words[0]}.{type_of(item)}" if names.isdisjoint(read) else ""


def registers_read(statements: Iterable[Statement]) -> frozenset[str]:
    """Return the registers that statements read."""
    return frozenset(name for item in statements for name in effects.reads(item))


def usual_kind(functions: Iterable[Function]) -> str:
    """Return the kind of most of the commuting atomic operations of a program; "" where there are none."""
    kinds = Counter(kind for function in functions for kind in _kinds(function.body or ()) if kind)
    return max(sorted(kinds), key=kinds.__getitem__, default="")


def _kinds(body: Sequence[Statement]) -> Iterable[str]:
    atomics = [item for item in body if isinstance(item, Instruction) and item.opcode in ("atom", "red")]
    read = registers_read(body) if atomics else frozenset[str]()
    return (commuting_kind(item, read) for item in atomics)

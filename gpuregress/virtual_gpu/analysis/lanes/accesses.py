"""Accesses of a kernel to memory that other lanes of the warp may reach."""

from __future__ import annotations

from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.analysis import effects
from gpuregress.virtual_gpu.analysis.control_flow_graph import ControlFlowGraph
from gpuregress.virtual_gpu.analysis.points_to import PointsTo
from gpuregress.virtual_gpu.ptx.modifiers import is_synchronizing, lanes, space_of, type_of
from gpuregress.virtual_gpu.ptx.opcode_table import MemoryEffect, info
from gpuregress.virtual_gpu.ptx.tree import Address, Call, Instruction, Symbol
from gpuregress.virtual_gpu.ptx.types import size

_OPCODES = frozenset(["ld", "ldu", "st", "atom", "red"])
_COMMUTING = frozenset(["add", "min", "max", "and", "or", "xor"])


class LaneAccess(Record):
    """An access to memory that other lanes may reach.

    Attributes:
        index: the statement.
        address: where.
        count: bytes.
        space: `shared`, `global`, or "" for a generic address.
        objects: first bytes of parameters and names of variables that it may reach; None where they are not known.
        writes, reads: what it does; an atomic operation does both.
        commutes: name of the atomic operation, where neither its order nor its result matters; else "".
        is_synchronizing: whether it is an atomic operation, or a relaxed, acquiring or releasing access.
        is_polled: whether it is repeated until another thread has written what it waits for.
    """

    index: int
    address: Address
    count: int
    space: str
    objects: frozenset[int | str] | None
    writes: bool
    reads: bool
    commutes: str = ""
    is_synchronizing: bool = False
    is_polled: bool = False

    def may_meet(self, other: LaneAccess) -> bool:
        """Whether both may reach the same object, and at least one writes, in an order that matters."""
        if not (self.writes or other.writes) or (self.commutes and self.commutes == other.commutes):
            return False
        if self.space and other.space and self.space != other.space:
            return False
        return self.objects is None or other.objects is None or not self.objects.isdisjoint(other.objects)


def find_accesses(flow: ControlFlowGraph, parameters: dict[str, int], private: frozenset[str]) -> dict[int, LaneAccess]:
    """Find the accesses of a kernel that other lanes may meet, by their statements.

    Args:
        flow: control flow of the kernel.
        parameters: name of each parameter -> its first byte in the parameter space.
        private: names of its local variables.
    """
    candidates = [
        (index, item)
        for index, item in enumerate(flow.statements)
        if isinstance(item, Instruction) and _is_access(item)
    ]
    if not any(info(item).memory is not MemoryEffect.READ for _, item in candidates):
        return {}
    sources = PointsTo(flow.statements, parameters)
    allocates = any(isinstance(item, Call) and item.callee == Symbol("malloc") for item in flow.statements)
    used = frozenset(name for item in flow.statements for name in effects.reads(item))
    accesses = {}
    for index, item in candidates:
        effect = info(item).memory
        address = next((operand for operand in item.operands if isinstance(operand, Address)), None)
        found = None if address is None else sources.of(address.base)
        objects = None if found is None else frozenset(found)
        if address is None or (objects is None and allocates) or (objects is not None and objects <= private):
            continue
        count = lanes(item) * size(type_of(item))
        writes, reads = effect is not MemoryEffect.READ, effect is not MemoryEffect.WRITE
        commutes = _commuting(item, used) if writes and reads else ""
        accesses[index] = LaneAccess(
            index,
            address,
            count,
            space_of(item),
            objects,
            writes,
            reads,
            commutes,
            is_synchronizing(item),
            index in flow.polled,
        )
    return accesses


def _commuting(item: Instruction, used: frozenset[str]) -> str:
    """The operation of an atomic instruction whose order cannot be noticed: on integers, its result unread."""
    operation = next((word for word in item.modifiers if word in _COMMUTING), "")
    is_float = any(word.startswith(("f", "bf")) for word in item.modifiers)
    return operation if not is_float and used.isdisjoint(effects.sets(item)) else ""


def _is_access(statement: Instruction) -> bool:
    if statement.opcode not in _OPCODES or "nc" in statement.modifiers:
        return False
    return space_of(statement) in ("", "global", "shared") and {"async", "shared::cluster"}.isdisjoint(
        statement.modifiers
    )


def may_depend(accesses: dict[int, LaneAccess]) -> bool:
    """Whether there are two different accesses, or one in a loop, that may meet; a quick test for most kernels."""
    written = [item for item in accesses.values() if item.writes]
    return any(item.may_meet(other) for item in written for other in accesses.values())


def are_apart(accesses: dict[int, LaneAccess]) -> bool:
    """Whether a buffer is written, and one that may be the same by another parameter is accessed."""
    everything = [item for item in accesses.values() if item.space != "shared"]
    pointers = {(item.writes, item.objects) for item in everything if item.objects is not None}
    return any(writes and mine.isdisjoint(theirs) for writes, mine in pointers for _, theirs in pointers)

"""Granules of shadow memory: the bytes of a cell, as few as the smallest access of a program has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator

from gpuregress.gpu.graphs import reachable_from
from gpuregress.virtual_gpu.analysis import effects
from gpuregress.virtual_gpu.analysis.control_flow_graph import ControlFlowGraph
from gpuregress.virtual_gpu.analysis.pointers import PointerProvenance, PointsTo
from gpuregress.virtual_gpu.ptx.modifiers import INDEX_BITS, is_synchronizing, lanes, size, space_of, type_of
from gpuregress.virtual_gpu.ptx.opcode_table import MemoryEffect, Wait, info
from gpuregress.virtual_gpu.ptx.tree import (
    Address,
    Call,
    Function,
    Instruction,
    Integer,
    Label,
    Statement,
    Symbol,
    TextureAddress,
)
from gpuregress.virtual_gpu.runtime.bulk_forms import form_of
from gpuregress.virtual_gpu.runtime.checks.layout import CLOCKS
from gpuregress.virtual_gpu.runtime.machine_layout import SYSTEM_CALLS

_MOST, _USUAL = 16, 4
_ORDERING = {"acquire", "release", "acq_rel", "sc"}
_STRONG = _ORDERING | {"volatile", "relaxed", "mmio"}
_PRIVATE = ("local", "const", "param")


def granules(functions: Iterable[Function]) -> dict[str, int]:
    """The log2 of the bytes of a granule in shared and in global memory."""
    least = {"shared": _MOST, "global": _MOST}
    for function in functions:
        for item in function.statements:
            if isinstance(item, Instruction) and info(item).memory is not MemoryEffect.NONE:
                space = info(item).space or space_of(item)
                for name, count in least.items():
                    if space not in _PRIVATE and space in ("", name):
                        least[name] = min(count, _bytes(item))
    return {name: count.bit_length() - 1 for name, count in least.items()}


def _bytes(instruction: Instruction) -> int:
    if instruction.opcode not in ("ld", "ldu", "st", "atom", "red", "suld", "sust"):
        return _USUAL  # A texture's elements may be smaller: it only reads, and what is written decides.
    step = size(type_of(instruction))
    if instruction.used_bytes is not None:
        whole = (1 << step) - 1
        for lane in range(lanes(instruction)):
            if instruction.used_bytes >> step * lane & whole not in (0, whole):
                return 1
        return step
    return lanes(instruction) * step


def synchronizes(functions: Iterable[Function]) -> bool:
    """Whether strong accesses of a program may order other ones: it has fences, or accesses that acquire or release."""
    for item in _instructions(functions):
        if item.opcode in ("fence", "membar", "mbarrier") or not _ORDERING.isdisjoint(item.modifiers):
            return True
    return False


def orders_in_part(functions: Iterable[Function]) -> bool:
    """Whether a program may order some threads of a block, or some blocks, and leave others.

    A wait for a wgmma does: it orders the reads of the warpgroup before what its own thread does next.
    """
    functions = list(functions)
    return synchronizes(functions) or any(
        item.opcode == "wgmma" or meets_in_part(item) for item in _instructions(functions)
    )


def has_strong_accesses(functions: Iterable[Function]) -> bool:
    """Whether a program has atomic, volatile or ordered accesses. PTX ISA manual, 8.6 "Types of Operations"."""
    return any(_is_strong(item) for item in _instructions(functions))


def _instructions(functions: Iterable[Function]) -> Iterator[Instruction]:
    for function in functions:
        yield from function.instructions


def _is_strong(item: Instruction) -> bool:
    return item.opcode in ("atom", "red") or (item.opcode in ("ld", "st") and not _STRONG.isdisjoint(item.modifiers))


def meets_in_part(instruction: Instruction) -> bool:
    """Whether a barrier may be one of some threads only: some lanes of a warp, or some warps of a block."""
    if instruction.opcode not in ("bar", "barrier") or "cluster" in instruction.modifiers:
        return False
    words, operands = instruction.modifiers, instruction.operands
    if "step" in words:
        return False
    if "warp" in words:
        mask = operands[0] if operands else None
        return not (isinstance(mask, Integer) and mask.value & 0xFFFF_FFFF == 0xFFFF_FFFF)
    if "red" in words:
        return len(operands) > 3
    return "arrive" in words or len(operands) > 1


# --- unwatched --------------------------------------------------------------------------------------------------------
# Memory accesses of a kernel that the dynamic checks cannot watch.


def unwatched(functions: Iterable[Function]) -> tuple[str, ...]:
    """What a kernel accesses unwatched, in words.

    Args:
        functions: the kernel, and those that it calls.
    """
    for item in _instructions(functions):
        if item.opcode == "activemask" or any("clock" in name or "timer" in name for name in effects.reads(item)):
            return (CLOCKS,)
    return ()


# --- written buffers --------------------------------------------------------------------------------------------------
# Points-to analysis of a kernel's writes to global memory: the buffers that it may write.

_OTHER_SPACES = frozenset(["shared", "local", "param", "const"])


def written_buffers(flow: ControlFlowGraph, parameters: dict[str, int]) -> frozenset[int | str] | None:
    """Return the first bytes of the parameters, and the variables, that a kernel may write through.

    A parameter may be a pointer, or the handle of a surface.

    Args:
        flow: control flow of the kernel.
        parameters: name of each parameter -> its first byte in the parameter space.

    Returns:
        None where it may write anywhere.
    """
    sources = PointsTo(flow.statements, parameters)
    written: set[int | str] = set()
    for statement in flow.statements:
        if not _writes_global(statement):
            continue
        address = _address(statement)
        if address is None:
            return None
        targets = sources.of(address.base)
        if targets is None:
            return None
        written.update(targets)
    return frozenset(written)


def _writes_global(statement: Statement) -> bool:
    if isinstance(statement, Call):
        return not isinstance(statement.callee, Symbol) or statement.callee.name not in SYSTEM_CALLS
    if not isinstance(statement, Instruction):
        return False
    facts = info(statement)
    if facts.memory is MemoryEffect.COPY:
        # `cp.async` writes shared memory only, and so do the bulk copies whose target that is.
        if "bulk" not in statement.modifiers:
            return False
        form = form_of(statement.modifiers)
        return form is not None and form.target == "global"
    if facts.memory in (MemoryEffect.NONE, MemoryEffect.READ):
        return False
    return (facts.space or space_of(statement)) not in _OTHER_SPACES


def _address(statement: Statement) -> Address | TextureAddress | None:
    """The address, or the handle, that an instruction writes through; None where it is not known."""
    if not isinstance(statement, Instruction) or statement.opcode in ("cp", "tensormap", "multimem"):
        return None
    for operand in statement.operands:
        if isinstance(operand, Address | TextureAddress):
            return operand
    return None


# --- barrier intervals ------------------------------------------------------------------------------------------------
# Barrier intervals that only read shared memory: code between two barriers of the whole block.
#
# No thread races there: all earlier writes are ordered by the barrier before, all later ones by the barrier after.

_OTHER_BARRIERS = frozenset(["warp", "step", "cluster"])
_OTHER_THAN_SHARED = frozenset(["global", "local", "param", "const"])


def shared_reads(flow: ControlFlowGraph, index: int) -> tuple[Instruction, ...] | None:
    """Return the reads of shared memory from one wait to the next ones.

    Args:
        flow: control flow of the kernel.
        index: the statement after which the code starts; -1: the start of the kernel.

    Returns:
        None where the code may write shared memory, or is not between barriers of the whole block.
    """
    if index >= 0 and not _is_barrier(flow.statements[index]):
        return None
    reads: dict[Instruction, None] = {}
    for start, end in flow.until_waits(index).values():
        for at in range(start, end):
            statement = flow.statements[at]
            if isinstance(statement, Label):
                continue
            if at in flow.waits or not isinstance(statement, Instruction) or not _only_reads(statement):
                return None
            if info(statement).memory is MemoryEffect.READ and space_of(statement) == "shared":
                reads[statement] = None
        if end in flow.waits and not _is_barrier(flow.statements[end]):
            return None
    return tuple(reads)


def _is_barrier(statement: Statement) -> bool:
    """Whether a statement is a barrier for all threads of the block."""
    if not isinstance(statement, Instruction) or statement.opcode not in ("bar", "barrier"):
        return False
    is_whole = _OTHER_BARRIERS.isdisjoint(statement.modifiers) and not meets_in_part(statement)
    return is_whole and statement.guard is None


def _only_reads(instruction: Instruction) -> bool:
    """Whether an instruction writes no shared memory."""
    facts = info(instruction)
    if facts.memory in (MemoryEffect.NONE, MemoryEffect.READ):
        return True
    is_plain = facts.memory in (MemoryEffect.WRITE, MemoryEffect.UPDATE) and "async" not in instruction.modifiers
    return is_plain and (facts.space or space_of(instruction)) in _OTHER_THAN_SHARED


# --- departures -------------------------------------------------------------------------------------------------------
# Effects on memory after which a thread does not wait any more.
#
# They are called departures. A lane that has executed one went another way than the lanes of its warp that wait later.
# A lane that returns early, and does nothing more, executes none.

_EFFECTS = (MemoryEffect.WRITE, MemoryEffect.UPDATE, MemoryEffect.COPY)


def departures(flow: ControlFlowGraph) -> frozenset[int]:
    """Return the statements of a kernel that are departures; none if no thread of it waits.

    Args:
        flow: its control flow. A call counts as a wait, since the function that is called may wait.
    """
    waits = {index for index, item in enumerate(flow.statements) if _may_wait(flow, index, item)}
    if not waits:
        return frozenset()
    last = dict.fromkeys(range(len(flow.blocks)), -1)
    for index in waits:
        number = flow.block_at(index)
        last[number] = max(last[number], index)
    waits_in = {number for number, index in last.items() if index >= 0}
    waiting = set(reachable_from(waits_in, flow.predecessors.__getitem__))
    effects_after_waits: set[int] = set()
    for number, block in enumerate(flow.blocks):
        if any(successor in waiting for successor in block.successors):
            continue
        first = max(block.start, last[number] + 1)
        effects_after_waits.update(index for index in range(first, block.end) if _has_effect(flow.statements[index]))
    return frozenset(effects_after_waits)


def _may_wait(flow: ControlFlowGraph, index: int, statement: Statement) -> bool:
    if isinstance(statement, Call):
        return True
    return index in flow.waits and isinstance(statement, Instruction) and info(statement).wait is not Wait.STEP


def _has_effect(statement: Statement) -> bool:
    return isinstance(statement, Instruction) and info(statement).memory in _EFFECTS


# --- volatile data ----------------------------------------------------------------------------------------------------
# Shared variables that are volatile and hold data, not flags.
#
# To PTX a volatile access is strong, so that two of them are no data race. That suits flags: a thread polls them, or
# atomic operations change them, too. Elsewhere `volatile` was written for lanes of one warp that wait for nothing, and
# a missing barrier between warps is an error: these accesses are checked as plain ones.


def volatile_data(functions: Iterable[Function], variables: Iterable[str]) -> frozenset[str]:
    """Return the names of the shared variables whose volatile accesses are to be checked as plain ones.

    Args:
        functions: all of a module, with bodies.
        variables: the names of the module's variables.
    """
    bodies, names = tuple(functions), frozenset(variables)
    if not any(is_volatile_shared(item) for item in _instructions(bodies)):
        return frozenset()
    data: set[str] = set()
    flags: set[str] = set()
    for function in bodies:
        flow = ControlFlowGraph(function)
        sources = PointerProvenance(flow.statements, {}, {*names, *(item.name for item in function.variables)})
        for index, item in enumerate(flow.statements):
            if not isinstance(item, Instruction) or space_of(item) not in ("", "shared"):
                continue
            is_data = is_volatile_shared(item) and index not in flow.polled
            is_flag = not is_data and (index in flow.polled or is_synchronizing(item))
            if item.address is None or not (is_data or is_flag):
                continue
            name = variable_of(sources, item.address)
            if is_data:
                data.add(name)
                continue
            if not name:
                return frozenset()  # The flag may be anywhere.
            flags.add(name)
    return frozenset(data - flags - {""})


def variable_of(sources: PointerProvenance, address: Address) -> str:
    """Return the only variable that an address may be derived from; "" where that is not known."""
    origin = sources.of(address.base)
    return origin.name if origin is not None and origin.certain else ""


def is_volatile_shared(item: Statement) -> bool:
    """Whether a statement is a volatile access to shared memory."""
    return isinstance(item, Instruction) and "volatile" in item.modifiers and space_of(item) == "shared"


# --- commuting atomics ------------------------------------------------------------------------------------------------
# Commuting atomic operations: on integers, of one kind, with results that nobody reads.

_PLAIN_ATOMIC = effects.COMMUTATIVE.union(["relaxed", "gpu", "cta", "sys", "global", "shared"])


def commuting_kind(item: Instruction, read: Collection[str]) -> str:
    """Return the kind of an atomic operation that commutes with those of its kind, as `add.u32`; "" for others.

    Args:
        item: any instruction.
        read: the registers that its function reads.
    """
    words = [word for word in item.modifiers if word in effects.COMMUTATIVE]
    if item.opcode not in ("atom", "red") or not words or "async" in item.modifiers or lanes(item) > 1:
        return ""
    if type_of(item) not in INDEX_BITS or not _PLAIN_ATOMIC.union((type_of(item),)).issuperset(item.modifiers):
        return ""
    results = {name.partition("@")[0] for name in effects.sets(item)}
    if not results.isdisjoint(read):
        return ""
    return f"{words[0]}.{type_of(item)}"


def usual_kind(functions: Iterable[Function]) -> str:
    """Return the kind of most of the commuting atomic operations of a program; "" where there are none."""
    kinds: Counter[str] = Counter()
    for function in functions:
        atomics = [item for item in function.instructions if item.opcode in ("atom", "red")]
        if atomics:
            read = effects.registers_read(function.statements)
            kinds.update(commuting_kind(item, read) for item in atomics)
    del kinds[""]
    return max(sorted(kinds), key=kinds.__getitem__, default="")

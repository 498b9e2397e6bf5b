"""Definitions and uses of registers by a statement, and its effects on control flow and waiting."""

from __future__ import annotations

from gpuregress.virtual_gpu.ptx.modifiers import is_ordered, space_of
from gpuregress.virtual_gpu.ptx.opcode_table import MemoryEffect, ResultKind, Wait, info
from gpuregress.virtual_gpu.ptx.tree import (
    Address,
    Call,
    Instruction,
    Integer,
    Label,
    Minus,
    Negated,
    Operand,
    Pair,
    Register,
    Selected,
    Statement,
    Symbol,
    TextureAddress,
    Vector,
)

CARRY = "%cc"
"""The carry flag, which liveness analysis treats like a register."""


def sets(statement: Statement) -> tuple[str, ...]:
    """The registers that a statement defines."""
    if isinstance(statement, Instruction):
        known = statement.registers.get("sets")
        return known if known is not None else statement.registers.setdefault("sets", _set_by(statement))
    if isinstance(statement, Label):
        return ()
    return tuple(name for item in statement.results for name in _names(item))


def reads(statement: Statement) -> tuple[str, ...]:
    """The registers that a statement uses, its guard included."""
    if isinstance(statement, Instruction):
        known = statement.registers.get("reads")
        return known if known is not None else statement.registers.setdefault("reads", _read_by(statement))
    if isinstance(statement, Label):
        return ()
    return (*_guard(statement), *(name for item in (*statement.arguments, statement.callee) for name in _names(item)))


def reads_after_wait(statement: Statement) -> tuple[str, ...]:
    """The registers that a statement that waits uses when it goes on."""
    has_read = isinstance(statement, Instruction) and info(statement).reads_before_wait
    return () if has_read else reads(statement)


def sets_after_wait(statement: Statement) -> tuple[str, ...]:
    """The registers that a statement that waits is certain to define only when it goes on."""
    if not isinstance(statement, Instruction):
        return ()
    facts = info(statement)
    return sets(statement) if facts.reads_before_wait or facts.results_in_context else ()


def context_operands(statement: Statement) -> tuple[str, ...]:
    """The registers that a statement reads from the context of the warp's threads."""
    if not isinstance(statement, Instruction) or not info(statement).operands_in_context:
        return ()
    return tuple(name for item in statement.operands[1:] for name in _names(item))


def context_results(statement: Statement) -> tuple[str, ...]:
    """The registers that a statement sets in the context of the warp's threads, and nowhere else."""
    if not isinstance(statement, Instruction) or statement.guard is not None:
        return ()
    return sets(statement) if info(statement).results_in_context else ()


def _set_by(instruction: Instruction) -> tuple[str, ...]:
    carry = (CARRY,) if "cc" in instruction.modifiers else ()
    return carry + tuple(name for item in _results(instruction) for name in _names(item))


def _read_by(instruction: Instruction) -> tuple[str, ...]:
    carry = (CARRY,) if info(instruction).reads_carry else ()
    operands = instruction.operands[len(_results(instruction)) :]
    live_if = (instruction.live_if,) if instruction.live_if else ()
    return (*_guard(instruction), *live_if, *carry, *(name for item in operands for name in _names(item)))


def _guard(statement: Instruction | Call) -> tuple[str, ...]:
    return (statement.guard.register,) if statement.guard else ()


def _results(instruction: Instruction) -> tuple[Operand, ...]:
    """The operand that an instruction defines, or none: an `mbarrier.arrive` may omit its token."""
    if not instruction.operands or isinstance(instruction.operands[0], Address):
        return ()
    return instruction.operands[:1] if info(instruction).result is not ResultKind.NONE else ()


def _names(operand: Operand) -> tuple[str, ...]:
    if isinstance(operand, Register):
        return (operand.name,)
    if isinstance(operand, Negated):
        return (operand.operand.name,)
    if isinstance(operand, Selected):
        return (operand.register.name,)
    if isinstance(operand, Minus):
        return _names(operand.operand)
    if isinstance(operand, Vector):
        return tuple(name for item in operand.elements for name in _names(item))
    if isinstance(operand, Pair):
        return _names(operand.first) + _names(operand.second)
    if isinstance(operand, Address):
        return _names(operand.base)
    if isinstance(operand, TextureAddress):
        return _names(operand.base) + _names(operand.coordinates)
    return ()


def waits(statement: Statement) -> bool:
    """Whether a thread may have to wait for others at a statement."""
    return isinstance(statement, Instruction) and info(statement).wait is not Wait.NONE


def may_change_between_reads(statement: Statement) -> bool:
    """Whether a statement reads memory that another thread may write meanwhile: a loop over it may be a spin loop."""
    if not isinstance(statement, Instruction):
        return False
    facts = info(statement)
    return facts.observes_threads or (facts.memory is MemoryEffect.READ and is_ordered(statement))


def is_shared_access(statement: Statement, effect: MemoryEffect) -> bool:
    """Whether a statement has an effect on shared memory, by its state space: a generic address may be any."""
    return isinstance(statement, Instruction) and info(statement).memory is effect and space_of(statement) == "shared"


def is_mbarrier_test(statement: Statement) -> bool:
    """Whether a statement asks an mbarrier whether a phase is complete."""
    return (
        isinstance(statement, Instruction)
        and statement.opcode == "mbarrier"
        and statement.modifiers[:1] in (("test_wait",), ("try_wait",))
    )


def changes_more_than_registers(statement: Statement) -> bool:
    """Whether a statement that is repeated may change anything but registers, or reads a clock.

    An atomic operation that writes what was there does not; a lock is taken by one that does so until it is free. A
    test of an mbarrier does not by itself: where copies arrive by it, the compiled code notes that.
    """
    if isinstance(statement, Label) or is_mbarrier_test(statement):
        return False
    if isinstance(statement, Call) or any("clock" in name or "timer" in name for name in reads(statement)):
        return True
    effect = info(statement).memory
    if argument(statement):
        return False
    if effect is MemoryEffect.UPDATE:
        value = statement.operands[-1] if statement.operands else None
        keeps = "cas" in statement.modifiers or isinstance(value, Integer)
        return not (keeps and (value == Integer(0) or not {"add", "inc", "dec"} & set(statement.modifiers)))
    return effect in {MemoryEffect.WRITE, MemoryEffect.COPY}


def writes_memory(statement: Statement) -> bool:
    """Whether a statement may write memory, or calls a function."""
    if isinstance(statement, Call):
        return True
    return isinstance(statement, Instruction) and info(statement).memory not in (MemoryEffect.NONE, MemoryEffect.READ)


def stores(statement: Statement) -> bool:
    """Whether a statement writes memory, or calls a function; an atomic operation is no store."""
    is_update = isinstance(statement, Instruction) and info(statement).memory is MemoryEffect.UPDATE
    return writes_memory(statement) and not is_update and not argument(statement)


def argument(statement: Statement) -> str:
    """The name of the argument or result of an inlined call that a statement reads or writes; "" for others.

    The thread alone has it, and each iteration of a loop writes it before it reads it: it is like a register.
    """
    if not isinstance(statement, Instruction) or space_of(statement) != "param":
        return ""
    addresses = (item.base for item in statement.operands if isinstance(item, Address))
    return next((base.name for base in addresses if isinstance(base, Symbol)), "")


def is_coherent_read(statement: Statement) -> bool:
    """Whether a statement reads memory that other threads may write, and a repeated read may see that."""
    if not isinstance(statement, Instruction) or info(statement).memory is not MemoryEffect.READ:
        return False
    is_fixed = space_of(statement) in ("const", "param", "local") or "nc" in statement.modifiers
    return statement.opcode == "ld" and not is_fixed


def ends_thread(statement: Statement) -> bool:
    """Whether control never reaches the next statement."""
    return isinstance(statement, Instruction) and statement.guard is None and info(statement).ends_block

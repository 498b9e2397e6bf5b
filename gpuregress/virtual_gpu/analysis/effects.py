"""Definitions and uses of registers by a statement, and its effects on control flow and waiting."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from gpuregress.gpu.records import replace
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

S = TypeVar("S", bound=Statement)

CARRY = "%cc"
"""The carry flag, which liveness analysis treats like a register."""


def sets(statement: Statement) -> tuple[str, ...]:
    """The registers that a statement defines."""
    if isinstance(statement, Instruction):
        known = statement.registers.get("sets")
        return known if known is not None else statement.registers.setdefault("sets", _set_by(statement))
    if isinstance(statement, Label):
        return ()
    return _names_in(statement.results)


def reads(statement: Statement) -> tuple[str, ...]:
    """The registers that a statement uses, its guard included."""
    if isinstance(statement, Instruction):
        known = statement.registers.get("reads")
        return known if known is not None else statement.registers.setdefault("reads", _read_by(statement))
    if isinstance(statement, Label):
        return ()
    return _guard(statement) + _names_in(statement.arguments) + _names(statement.callee)


def reads_after_wait(statement: Statement) -> tuple[str, ...]:
    """The registers that a statement that waits uses when it goes on."""
    if isinstance(statement, Instruction) and info(statement).reads_before_wait:
        return ()
    return reads(statement)


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
    return _names_in(statement.operands[1:])


def context_results(statement: Statement) -> tuple[str, ...]:
    """The registers that a statement sets in the context of the warp's threads, and nowhere else."""
    if not isinstance(statement, Instruction) or statement.guard is not None:
        return ()
    return sets(statement) if info(statement).results_in_context else ()


def _set_by(instruction: Instruction) -> tuple[str, ...]:
    names = _names_in(_results(instruction))
    return (CARRY, *names) if "cc" in instruction.modifiers else names


def _read_by(instruction: Instruction) -> tuple[str, ...]:
    names = _guard(instruction)
    if instruction.live_if:
        names += (instruction.live_if,)
    if info(instruction).reads_carry:
        names += (CARRY,)
    return names + _names_in(instruction.operands[len(_results(instruction)) :])


def definitions(statements: Iterable[S]) -> dict[str, list[S]]:
    """Register → the statements that define it."""
    found: dict[str, list[S]] = {}
    for statement in statements:
        for name in sets(statement):
            found.setdefault(name, []).append(statement)
    return found


def registers_read(statements: Iterable[Statement]) -> set[str]:
    """The registers that statements use."""
    names: set[str] = set()
    for statement in statements:
        names.update(reads(statement))
    return names


def _guard(statement: Instruction | Call) -> tuple[str, ...]:
    return (statement.guard.register,) if statement.guard else ()


def _results(instruction: Instruction) -> tuple[Operand, ...]:
    """The operand that an instruction defines, or none: an `mbarrier.arrive` may omit its token."""
    if not instruction.operands or isinstance(instruction.operands[0], Address):
        return ()
    return instruction.operands[:1] if info(instruction).result is not ResultKind.NONE else ()


def _names_in(operands: Iterable[Operand]) -> tuple[str, ...]:
    names: list[str] = []
    for operand in operands:
        names += _names(operand)
    return tuple(names)


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
        return _names_in(operand.elements)
    if isinstance(operand, Pair):
        return _names(operand.first) + _names(operand.second)
    if isinstance(operand, Address):
        return _names(operand.base)
    if isinstance(operand, TextureAddress):
        return _names(operand.base) + _names(operand.coordinates)
    return ()


def renamed(operand: Operand, rename: Callable[[str], str]) -> Operand:
    """Return an operand with other names for its registers and symbols.

    A register stays a register, and a symbol stays a symbol.

    Args:
        operand: the operand.
        rename: returns the new name for an old one, and the old one for names that stay.
    """
    if isinstance(operand, Register | Symbol):
        return replace(operand, name=rename(operand.name))
    if isinstance(operand, Negated):
        return Negated(Register(rename(operand.operand.name)))
    if isinstance(operand, Selected):
        return replace(operand, register=Register(rename(operand.register.name)))
    if isinstance(operand, Minus):
        return replace(operand, operand=renamed(operand.operand, rename))  # type: ignore[arg-type]  # of its type
    if isinstance(operand, Address):
        return replace(operand, base=renamed(operand.base, rename))  # type: ignore[arg-type]  # of its type
    if isinstance(operand, Vector):
        return Vector(tuple(renamed(item, rename) for item in operand.elements))
    if isinstance(operand, Pair):
        return Pair(renamed(operand.first, rename), renamed(operand.second, rename))
    if isinstance(operand, TextureAddress):
        base, coordinates = renamed(operand.base, rename), renamed(operand.coordinates, rename)
        return replace(operand, base=base, coordinates=coordinates)  # type: ignore[arg-type]  # of its type
    return operand


def address_of(instruction: Instruction) -> Address | None:
    """The first address among the operands of an instruction."""
    for operand in instruction.operands:
        if isinstance(operand, Address):
            return operand
    return None


COMMUTATIVE = frozenset(["add", "min", "max", "and", "or", "xor"])
"""The atomic operations whose order does not change memory, on integers."""


def commutative_operation(instruction: Instruction) -> str:
    """The operation of an atomic instruction on integers whose order does not change memory; "" for others."""
    if any(word.startswith(("f", "bf")) for word in instruction.modifiers):
        return ""
    for word in instruction.modifiers:
        if word in COMMUTATIVE:
            return word
    return ""


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
    if effect is not MemoryEffect.UPDATE:
        return effect in {MemoryEffect.WRITE, MemoryEffect.COPY}
    value = statement.operands[-1] if statement.operands else None
    if "cas" not in statement.modifiers and not isinstance(value, Integer):
        return True
    return value != Integer(0) and not {"add", "inc", "dec"}.isdisjoint(statement.modifiers)


def writes_memory(statement: Statement) -> bool:
    """Whether a statement may write memory, or calls a function."""
    if isinstance(statement, Call):
        return True
    return isinstance(statement, Instruction) and info(statement).memory not in (MemoryEffect.NONE, MemoryEffect.READ)


def stores(statement: Statement) -> bool:
    """Whether a statement writes memory, or calls a function; an atomic operation is no store."""
    is_update = isinstance(statement, Instruction) and info(statement).memory is MemoryEffect.UPDATE
    return writes_memory(statement) and not is_update and not argument(statement)


def argument(statement: Statement) -> tuple[str, ...]:
    """The name of the argument or result of an inlined call that a statement reads or writes; none for others.

    The thread alone has it, and each iteration of a loop writes it before it reads it: it is like a register.
    """
    if not isinstance(statement, Instruction) or space_of(statement) != "param":
        return ()
    address = address_of(statement)
    if address is None or not isinstance(address.base, Symbol):
        return ()
    return (address.base.name,)


def is_coherent_read(statement: Statement) -> bool:
    """Whether a statement reads memory that other threads may write, and a repeated read may see that."""
    if not isinstance(statement, Instruction) or info(statement).memory is not MemoryEffect.READ:
        return False
    is_fixed = space_of(statement) in ("const", "param", "local") or "nc" in statement.modifiers
    return statement.opcode == "ld" and not is_fixed


def ends_thread(statement: Statement) -> bool:
    """Whether control never reaches the next statement."""
    return isinstance(statement, Instruction) and statement.guard is None and info(statement).ends_block

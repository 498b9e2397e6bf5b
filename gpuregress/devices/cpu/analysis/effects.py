"""What a statement reads, what it sets, and whether a thread may have to wait there. Pure syntax, no LLVM."""

from __future__ import annotations

from gpuregress.devices.cpu.ptx.tree import (
    Address,
    Call,
    Instruction,
    Label,
    Minus,
    Negated,
    Operand,
    Pair,
    Register,
    Selected,
    Statement,
    TextureAddress,
    Vector,
)

CARRY = "%cc"
"""The carry flag, a register like another for those who keep registers alive."""

_NO_RESULT = frozenset(
    [
        "st",
        "red",
        "bra",
        "brx",
        "ret",
        "exit",
        "trap",
        "brkpt",
        "membar",
        "fence",
        "prefetch",
        "prefetchu",
        "discard",
        "nanosleep",
        "pmevent",
        "sust",
        "stmatrix",
        "cp",
        "griddepcontrol",
        "setmaxnreg",
        "stackrestore",
        "applypriority",
    ]
)
_WAITING = frozenset(["shfl", "vote", "match", "redux", "activemask", "elect", "nanosleep"])
_EXCHANGES = frozenset(["ldmatrix", "stmatrix", "movmatrix", "mma"])
_SPIN_SOURCES = frozenset(["volatile", "acquire", "relaxed", "mmio", "acq_rel"])


def sets(statement: Statement) -> tuple[str, ...]:
    """The registers that a statement sets."""
    if isinstance(statement, Label):
        return ()
    if isinstance(statement, Call):
        return tuple(name for item in statement.results for name in _names(item))
    carry = (CARRY,) if writes_carry(statement) else ()
    if not statement.operands or not _has_result(statement):
        return carry
    first = statement.operands[0]
    return carry + (() if isinstance(first, Address) else _names(first))


def reads(statement: Statement) -> tuple[str, ...]:
    """The registers that a statement reads, its guard included."""
    if isinstance(statement, Label):
        return ()
    found = [statement.guard.register] if statement.guard else []
    if isinstance(statement, Call):
        found += [name for item in statement.arguments for name in _names(item)]
        found += _names(statement.callee)
        return tuple(found)
    if reads_carry(statement):
        found.append(CARRY)
    skip = 1 if _has_result(statement) and statement.operands and not isinstance(statement.operands[0], Address) else 0
    for item in statement.operands[skip:]:
        found += _names(item)
    return tuple(found)


def _has_result(instruction: Instruction) -> bool:
    opcode, modifiers = instruction.opcode, instruction.modifiers
    if opcode in _NO_RESULT:
        return False
    if opcode in ("bar", "barrier"):
        return "red" in modifiers
    if opcode == "mbarrier":
        return modifiers[0] in ("arrive", "arrive_drop", "test_wait", "try_wait", "pending_count")
    if opcode in ("wmma", "tcgen05"):
        return modifiers[0] != "store"
    return opcode != "wgmma"


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


def writes_carry(instruction: Instruction) -> bool:
    """Whether an instruction sets the carry flag: `add.cc`, `madc.hi.cc`."""
    return "cc" in instruction.modifiers


def reads_carry(instruction: Instruction) -> bool:
    """Whether an instruction adds the carry flag: `addc`, `subc`, `madc`."""
    return instruction.opcode in ("addc", "subc", "madc")


def waits(statement: Statement) -> bool:
    """Whether a thread may have to wait for others at a statement."""
    if not isinstance(statement, Instruction):
        return False
    if statement.opcode in ("bar", "barrier"):
        # Who arrives at a cluster's barrier goes on; it is another instruction that waits.
        return not ("cluster" in statement.modifiers and "arrive" in statement.modifiers)
    return statement.opcode in _WAITING or is_exchange(statement)


def is_exchange(instruction: Instruction) -> bool:
    """Whether the lanes of a warp show each other parts of matrices: `mma`, `ldmatrix`, `wmma.mma` and their like."""
    return instruction.opcode in _EXCHANGES or (instruction.opcode == "wmma" and instruction.modifiers[0] == "mma")


def may_change_between_reads(statement: Statement) -> bool:
    """Whether a statement reads what another thread may be about to write: a loop over it may be a spin."""
    if not isinstance(statement, Instruction):
        return False
    if statement.opcode in ("atom", "mbarrier"):
        return True
    return statement.opcode == "ld" and not _SPIN_SOURCES.isdisjoint(statement.modifiers)


def ends_thread(statement: Statement) -> bool:
    """Whether control never goes on behind a statement."""
    if not isinstance(statement, Instruction) or statement.guard is not None:
        return False
    return statement.opcode in ("bra", "brx", "ret", "exit", "trap")

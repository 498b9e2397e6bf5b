"""Type checks of an instruction's registers, as the PTX assembler makes them.

The table of opcodes says which type each operand has. PTX ISA manual, "Operand Type Checking": a type of bits agrees
with every type of its size, integers of one size agree, and floats agree with themselves and with bits. A load, a store
and a conversion also take wider registers. Constants, addresses and special registers are not checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.ptx.modifiers import BITS, is_type
from gpuregress.virtual_gpu.ptx.opcode_table import info
from gpuregress.virtual_gpu.ptx.tree import Function, Instruction, Negated, Operand, Pair, Register, elements

_FLOATS = frozenset(["f16", "f32", "f64"])
_INTEGERS = frozenset(name for name in BITS if name[0] in "su" and name[1:].isdigit())


class ExpectedType(Record):
    """The type of an operand, and whether its register may be wider."""

    name: str
    may_be_wider: bool

    def agrees(self, register: str) -> bool:
        """Whether a register of a type may stand for the operand."""
        if "pred" in (self.name, register):
            return self.name == register
        bits, needed = BITS[register], BITS[self.name]
        if bits != needed and not (self.may_be_wider and bits > needed):
            return False
        if self.name in _FLOATS:
            return register == self.name or (register not in _INTEGERS and register not in _FLOATS)
        return self.name not in _INTEGERS or register not in _FLOATS

    def __str__(self) -> str:
        return f".{self.name} or a wider type" if self.may_be_wider else f".{self.name}"


_PREDICATE = ExpectedType("pred", may_be_wider=False)
_WORD = ExpectedType("u32", may_be_wider=False)


def register_types(function: Function) -> dict[str, str]:
    """The declared type of each register that is not a vector."""
    return {item.name: item.type for item in function.registers if item.lanes == 1}


def wrong_operand(instruction: Instruction, types: Mapping[str, str]) -> str:
    """Say which register has a type that the assembler refuses; "" where none has.

    Args:
        instruction: any.
        types: name of a register → its type; others are not checked.
    """
    guard = instruction.guard
    if guard is not None and types.get(guard.register, "pred") != "pred":
        return f"its guard, {guard.register}, is a .{types[guard.register]}; it must be {_PREDICATE}"
    for number, (operand, expected) in enumerate(zip(instruction.operands, _expected(instruction), strict=False), 1):
        for name, expected_of_name in _registers(operand, expected):
            declared = types.get(name)
            if declared is not None and not expected_of_name.agrees(declared):
                return f"operand {number}, {name}, is a .{declared}; it must be {expected_of_name}"
    return ""


def _registers(operand: Operand, expected: ExpectedType | None) -> Iterator[tuple[str, ExpectedType]]:
    """The registers of an operand, each with the type that is expected of it."""
    if expected is None:
        return
    if isinstance(operand, Pair):
        yield from _registers(operand.first, expected)
        yield from _registers(operand.second, _PREDICATE)
        return
    # The elements of a vector have the type of a load or store, and other types where `mov` packs them.
    parts = elements(operand) if expected.may_be_wider else (operand,)
    for part in parts:
        register = part.operand if isinstance(part, Negated) else part
        if isinstance(register, Register):
            yield register.name, expected


def _expected(instruction: Instruction) -> tuple[ExpectedType | None, ...]:
    letters = info(instruction).operand_types
    return _of_letters(letters, instruction.modifiers) if letters else ()


@lru_cache(maxsize=4096)
def _of_letters(letters: str, modifiers: tuple[str, ...]) -> tuple[ExpectedType | None, ...]:
    types = [word for word in modifiers if is_type(word)]
    if len(types) != (2 if "d" in letters.lower() else 1):
        return ()  # a form of mixed types, whose operands the row does not describe
    first, last = types[0], types[-1]
    widened = last
    if "wide" in modifiers:
        widened = f"{last[0]}{2 * BITS[last]}"
    expected = {
        "t": ExpectedType(last, may_be_wider=False),
        "T": ExpectedType(last, may_be_wider=True),
        "d": ExpectedType(first, may_be_wider=False),
        "D": ExpectedType(first, may_be_wider=True),
        "w": ExpectedType(widened, may_be_wider=False),
        "u": _WORD,
        "p": _PREDICATE,
    }
    return tuple(expected.get(letter) for letter in letters)

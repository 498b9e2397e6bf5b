"""Guesses which variable an address comes from, so that its bounds can be looked up once and not at every access.

A guess need not be right: an access outside the guessed region takes the slow way, which looks everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from gpuregress.devices.cpu.analysis import effects
from gpuregress.devices.cpu.ptx.opcodes import MemoryEffect, info
from gpuregress.devices.cpu.ptx.tree import Address, Instruction, Integer, Operand, Register, Statement, Symbol
from gpuregress.devices.cpu.ptx.types import INDEX_BITS


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where an address comes from.

    Attributes:
        kind: `param`: a pointer in the kernel's parameters; `symbol`: a variable.
        name: the variable's name; "" for a parameter.
        offset: the parameter's byte in the parameter space.
        certain: no other variable came into question.
    """

    kind: Literal["param", "symbol"]
    name: str = ""
    offset: int = 0
    certain: bool = True


class PointerProvenance:
    """Answers for one kernel or function.

    Args:
        statements: its body.
        parameters: the parameters' names → their first byte in the parameter space; empty for a device function.
        variables: the names that stand for memory: the module's and the function's.
    """

    def __init__(self, statements: tuple[Statement, ...], parameters: dict[str, int], variables: set[str]) -> None:
        self._definitions: dict[str, list[Instruction]] = {}
        self._parameters = parameters
        self._variables = variables
        self._known: dict[str, Provenance | None] = {}
        for statement in statements:
            if isinstance(statement, Instruction):
                for name in effects.sets(statement):
                    self._definitions.setdefault(name, []).append(statement)

    def of(self, base: Register | Symbol | Integer) -> Provenance | None:
        """The guess for an address's base."""
        if isinstance(base, Symbol):
            return Provenance("symbol", base.name) if base.name in self._variables else None
        return self._of_register(base.name, set()) if isinstance(base, Register) else None

    def _of_register(self, name: str, seen: set[str]) -> Provenance | None:
        if name in self._known:
            return self._known[name]
        if name in seen:
            return None
        seen.add(name)
        found = _first_of([self._of_instruction(item, seen) for item in self._definitions.get(name, [])])
        self._known[name] = found
        return found

    def _of_instruction(self, instruction: Instruction, seen: set[str]) -> Provenance | None:
        facts = info(instruction)
        if facts.memory is MemoryEffect.READ:
            return self._of_load(instruction)
        # What is subtracted from a pointer is most likely an index.
        positions = (facts.pointer_operands or ())[: 1 if instruction.opcode == "sub" else None]
        return self._best([instruction.operands[position] for position in positions], seen)

    def _best(self, sides: list[Operand], seen: set[str]) -> Provenance | None:
        # A 64-bit parameter may be an index: an operand that was made an address, with cvta, is the pointer.
        pointers = [side for side in sides if self._is_converted(side)]
        found = _first_of([self._of_operand(side, seen) for side in sides])
        return self._of_operand(pointers[0], seen) if found and not found.certain and len(pointers) == 1 else found

    def _is_converted(self, operand: Operand) -> bool:
        if not isinstance(operand, Register):
            return False
        return any(info(item).makes_address for item in self._definitions.get(operand.name, []))

    def _of_operand(self, operand: Operand, seen: set[str]) -> Provenance | None:
        if isinstance(operand, Symbol):
            return Provenance("symbol", operand.name) if operand.name in self._variables else None
        return self._of_register(operand.name, seen) if isinstance(operand, Register) else None

    def _of_load(self, instruction: Instruction) -> Provenance | None:
        address = instruction.operands[1]
        if instruction.modifiers[:1] != ("param",) or INDEX_BITS.get(instruction.modifiers[-1]) != 64:
            return None
        if not isinstance(address, Address) or not isinstance(address.base, Symbol) or len(instruction.modifiers) != 2:
            return None
        start = self._parameters.get(address.base.name)
        return None if start is None else Provenance("param", "", start + address.offset)


def _first_of(guesses: list[Provenance | None]) -> Provenance | None:
    found = [item for item in guesses if item is not None]
    if not found:
        return None
    return found[0] if len(set(found)) == 1 else replace(found[0], certain=False)

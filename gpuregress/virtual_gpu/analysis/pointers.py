"""Provenance of pointers: the variable that an address is most likely derived from.

Its bounds are then looked up once and not at every access. This is a guess, unlike `points_to`: an access outside the
guessed region is looked up among all regions.
"""

from __future__ import annotations

from typing import Literal

from gpuregress.gpu.records import Record, replace
from gpuregress.virtual_gpu.analysis import effects
from gpuregress.virtual_gpu.analysis.value_graph import COORDINATES, parameter_byte
from gpuregress.virtual_gpu.ptx.modifiers import INDEX_BITS
from gpuregress.virtual_gpu.ptx.opcode_table import Arithmetic, MemoryEffect, info
from gpuregress.virtual_gpu.ptx.tree import Address, Instruction, Integer, Operand, Register, Statement, Symbol


class Provenance(Record):
    """The variable or parameter that an address is derived from.

    Attributes:
        kind: `param`: a pointer in the kernel's parameters; `symbol`: a variable.
        name: the variable's name; "" for a parameter.
        offset: the parameter's byte in the parameter space.
        certain: whether it is the only candidate.
    """

    kind: Literal["param", "symbol"]
    name: str = ""
    offset: int = 0
    certain: bool = True


class PointerProvenance:
    """Most likely provenance of the addresses in one kernel or function.

    Args:
        statements: its body.
        parameters: the parameters' names → their first byte in the parameter space; empty for a device function.
        variables: the names of variables: the module's and the function's.
    """

    def __init__(self, statements: tuple[Statement, ...], parameters: dict[str, int], variables: set[str]) -> None:
        self._definitions = effects.definitions(item for item in statements if isinstance(item, Instruction))
        self._parameters = parameters
        self._variables = variables
        self._known: dict[str, Provenance | None] = {}

    def alias(self, name: str, register: str) -> None:
        """Let a further name stand for a value of a register."""
        self._definitions[name] = self._definitions.get(register, [])

    def of(self, base: Register | Symbol | Integer) -> Provenance | None:
        """The provenance of an address's base; None where there is no candidate."""
        return self._of_operand(base, set())

    def _of_register(self, name: str, seen: set[str]) -> Provenance | None:
        if name in self._known:
            return self._known[name]
        if name in seen:
            return None
        seen.add(name)
        self._known[name] = _first_of([self._of_instruction(item, seen) for item in self._definitions.get(name, [])])
        return self._known[name]

    def _of_instruction(self, instruction: Instruction, seen: set[str]) -> Provenance | None:
        facts = info(instruction)
        if facts.memory is MemoryEffect.READ:
            return self._of_load(instruction)
        positions = facts.pointer_operands or ()
        if facts.arithmetic is Arithmetic.SUBTRACT:
            positions = positions[:1]  # What is subtracted from a pointer is most likely an index.
        return self._best([instruction.operands[position] for position in positions], seen)

    def _best(self, sides: list[Operand], seen: set[str]) -> Provenance | None:
        best = _first_of([self._of_operand(side, seen) for side in sides])
        if best is None or best.certain:
            return best
        # A 64-bit parameter may be an index: an operand that was made an address, with cvta, is the pointer.
        pointers = [side for side in sides if self._is_converted(side)]
        return self._of_operand(pointers[0], seen) if len(pointers) == 1 else best

    def _is_converted(self, operand: Operand) -> bool:
        if not isinstance(operand, Register):
            return False
        return any(info(item).makes_address for item in self._definitions.get(operand.name, []))

    def _of_operand(self, operand: Operand, seen: set[str]) -> Provenance | None:
        if isinstance(operand, Register):
            return self._of_register(operand.name, seen)
        if isinstance(operand, Symbol) and operand.name in self._variables:
            return Provenance("symbol", operand.name)
        return None

    def _of_load(self, instruction: Instruction) -> Provenance | None:
        address = instruction.operands[1]
        if instruction.modifiers[:1] != ("param",) or INDEX_BITS.get(instruction.modifiers[-1]) != 64:
            return None
        if not isinstance(address, Address) or not isinstance(address.base, Symbol) or len(instruction.modifiers) != 2:
            return None
        if address.base.name not in self._parameters:
            return None
        return Provenance("param", offset=self._parameters[address.base.name] + address.offset)


def _first_of(candidates: list[Provenance | None]) -> Provenance | None:
    known = [item for item in candidates if item is not None]
    if not known:
        return None
    return known[0] if len(set(known)) == 1 else replace(known[0], certain=False)


# --- points to --------------------------------------------------------------------------------------------------------
# Points-to analysis of addresses: the buffers and variables that an address may point into.
#
# The set holds each pointer that the address may be computed from, whatever the offset. It is sound: an address of
# unknown provenance has no set.


class PointsTo:
    """Points-to sets of one kernel's registers.

    Args:
        statements: its body.
        parameters: the parameters' names → their first byte in the parameter space.
    """

    def __init__(self, statements: tuple[Statement, ...], parameters: dict[str, int]) -> None:
        self._parameters = parameters
        self._definitions = effects.definitions(statements)

    def of(self, operand: Operand) -> list[int | str] | None:
        """The points-to set of an address: first bytes of parameters, names of variables; None where unknown."""
        targets = self._of(operand, set())
        return sorted(targets, key=str) if targets else None

    def _of(self, operand: Operand, seen: set[str]) -> set[int | str] | None:
        if isinstance(operand, Symbol):
            return {operand.name}
        if isinstance(operand, Integer):
            return set()
        if not isinstance(operand, Register):
            return None
        if operand.name in seen or operand.name in COORDINATES or operand.name in ("%laneid", "%warpid"):
            return set()
        seen.add(operand.name)
        targets: set[int | str] = set()
        for definition in self._definitions.get(operand.name, []):
            of_definition = self._of_statement(definition, operand.name, seen)
            if of_definition is None:
                return None
            targets |= of_definition
        return targets

    def _of_statement(self, statement: Statement, name: str, seen: set[str]) -> set[int | str] | None:
        if not isinstance(statement, Instruction) or not statement.modifiers:
            return None
        facts = info(statement)
        if INDEX_BITS.get(statement.modifiers[-1]) != 64 and "wide" not in statement.modifiers:
            return set()  # A number, not an address.
        if facts.memory is MemoryEffect.READ:
            first = parameter_byte(statement, name, self._parameters)
            return None if first is None else {first}
        if facts.pointer_operands is None:
            return None
        targets: set[int | str] = set()
        for position in facts.pointer_operands:
            of_operand = self._of(statement.operands[position], seen)
            if of_operand is None:
                return None
            targets |= of_operand
        return targets

"""Points-to analysis of addresses: the buffers and variables that an address may point into.

The set holds each pointer that the address may be computed from, whatever the offset. It is sound: an address of
unknown provenance has no set.
"""

from __future__ import annotations

from gpuregress.virtual_gpu.analysis import effects
from gpuregress.virtual_gpu.analysis.value_graph import COORDINATES, parameter_byte
from gpuregress.virtual_gpu.ptx.opcode_table import MemoryEffect, info
from gpuregress.virtual_gpu.ptx.tree import Instruction, Integer, Operand, Register, Statement, Symbol
from gpuregress.virtual_gpu.ptx.types import INDEX_BITS


class PointsTo:
    """Points-to sets of one kernel's registers.

    Args:
        statements: its body.
        parameters: the parameters' names → their first byte in the parameter space.
    """

    def __init__(self, statements: tuple[Statement, ...], parameters: dict[str, int]) -> None:
        self._parameters = parameters
        self._definitions: dict[str, list[Statement]] = {}
        for statement in statements:
            for name in effects.sets(statement):
                self._definitions.setdefault(name, []).append(statement)

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
        return self._union(
            [self._of_statement(item, operand.name, seen) for item in self._definitions.get(operand.name, [])]
        )

    def _union(self, parts: list[set[int | str] | None]) -> set[int | str] | None:
        known = [part for part in parts if part is not None]
        return set().union(*known) if len(known) == len(parts) else None

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
        return self._union([self._of(statement.operands[position], seen) for position in facts.pointer_operands])

"""In which of a kernel's buffers an address may lie, wherever in them: those whose pointers it is made of."""

from __future__ import annotations

from gpuregress.devices.cpu.analysis import effects
from gpuregress.devices.cpu.analysis.value_graph import COORDINATES, parameter_byte
from gpuregress.devices.cpu.ptx.tree import Instruction, Integer, Operand, Register, Statement, Symbol

_BITS = {"s32": 32, "u32": 32, "b32": 32, "s64": 64, "u64": 64, "b64": 64}
_NUMBERS = frozenset(["mul", "shl", "shr", "div", "rem"])
_KEEPING = frozenset(["mov", "cvta", "add", "sub", "selp", "and", "or", "min", "max"])


class Sources:
    """Answers for one kernel.

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
        """What an address may come from: the first bytes of parameters, and variables; None: from anywhere."""
        found = self._of(operand, set())
        return sorted(found, key=str) if found else None

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
        found: set[int | str] = set()
        for part in parts:
            if part is None:
                return None
            found |= part
        return found

    def _of_statement(self, statement: Statement, name: str, seen: set[str]) -> set[int | str] | None:
        if not isinstance(statement, Instruction) or not statement.modifiers:
            return None
        opcode, kind = statement.opcode, statement.modifiers[-1]
        if opcode == "mad":
            return self._of(statement.operands[3], seen)
        if _BITS.get(kind, 32) == 32 or opcode in _NUMBERS:
            return set()  # A number, not an address.
        if opcode == "ld":
            first = parameter_byte(statement, name, self._parameters)
            return None if first is None else {first}
        if opcode == "cvt":
            return set() if _BITS.get(kind, 0) < 64 else self._of(statement.operands[1], seen)
        if opcode not in _KEEPING:
            return None
        items = statement.operands[1:3] if opcode == "selp" else statement.operands[1:]
        return self._union([self._of(item, seen) for item in items])

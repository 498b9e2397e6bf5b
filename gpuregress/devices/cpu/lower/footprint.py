"""Which bytes of global memory a kernel may touch, as formulas of a launch: whether blocks may run on several cores.

They may, with the same bytes as one after the other, where no block touches what another one writes. `split` works that
out for each launch, from the formulas made here. What is not understood here makes the answer "unknown": one core.
"""

from __future__ import annotations

from typing import Any

from gpuregress.devices.cpu.lower import effects
from gpuregress.devices.cpu.lower.flow import Flow
from gpuregress.devices.cpu.lower.memory import element_type, lanes, space_of
from gpuregress.devices.cpu.lower.types import size
from gpuregress.devices.cpu.lower.uniform import PURE
from gpuregress.devices.cpu.ptx.tree import (
    Address,
    Instruction,
    Integer,
    Label,
    Operand,
    Register,
    Statement,
    Symbol,
    Vector,
)

Formula = list[Any]
"""Plain JSON, an integer modulo 2^64: ["c", value], ["x", coordinate], ["p", first byte, bytes], ["+", a, b],
["-", a, b], ["*", a, b], ["widen", signed, a]."""

_HARMLESS = PURE | frozenset(
    ["bra", "brx", "ret", "exit", "trap", "bar", "barrier", "shfl", "vote", "match", "redux", "activemask", "elect"]
)
_ORDERED = frozenset(["volatile", "relaxed", "acquire", "release", "mmio", "acq_rel"])
_COORDINATES = frozenset(f"%{name}.{axis}" for name in ("tid", "ntid", "ctaid", "nctaid") for axis in "xyz")
_BITS = {"s32": 32, "u32": 32, "b32": 32, "s64": 64, "u64": 64, "b64": 64}
_MOST_TERMS = 200


def footprint(flow: Flow, parameters: dict[str, int]) -> list[Formula] | None:
    """What a kernel reads and writes in global memory.

    Args:
        flow: its control flow.
        parameters: the parameters' names → their first byte in the parameter space.

    Returns:
        ["write", bytes, formula of the address], ["read", bytes, formula], or ["somewhere", first bytes of the
        parameters whose buffers are read]; None where blocks may talk to each other, or a write is not understood.
    """
    return _Footprint(flow, parameters).found


class _Footprint:
    def __init__(self, flow: Flow, parameters: dict[str, int]) -> None:
        self._parameters = parameters
        self._statements = flow.statements
        self._block_starts = [block.start for block in flow.blocks for _ in range(block.start, block.end)]
        self._all: dict[str, list[int]] = {}
        for index, statement in enumerate(flow.statements):
            for name in effects.sets(statement):
                self._all.setdefault(name, []).append(index)
        self._terms = 0
        self.found: list[Formula] | None = []
        for index, statement in enumerate(flow.statements):
            entry = self._of_statement(statement, index)
            if entry is None:
                self.found = None
                return
            if entry and entry not in self.found:
                self.found.append(entry)

    def _of_statement(self, statement: Statement, index: int) -> Formula | None:
        """An entry; empty where a statement touches no global memory; None where it may do anything."""
        if isinstance(statement, Label):
            return []
        if not isinstance(statement, Instruction) or any(map(self._is_clock, effects.reads(statement))):
            return None
        if statement.opcode in _HARMLESS:
            return []
        if statement.opcode in ("atom", "red"):
            return [] if space_of(statement) == "shared" else None
        if statement.opcode not in ("ld", "st") or not _ORDERED.isdisjoint(statement.modifiers):
            return None
        if space_of(statement) in ("shared", "local", "param", "const"):
            return []
        return self._of_access(statement, index)

    def _is_clock(self, name: str) -> bool:
        return "clock" in name or "timer" in name

    def _of_access(self, instruction: Instruction, index: int) -> Formula | None:
        address = instruction.operands[1 if instruction.opcode == "ld" else 0]
        if not isinstance(address, Address):
            return None
        self._terms = 0
        formula = self._formula(address.base, index)
        count = lanes(instruction) * size(element_type(instruction))
        if formula is not None:
            kind = "read" if instruction.opcode == "ld" else "write"
            return [kind, count, ["+", formula, ["c", address.offset]]]
        buffers = self._buffers(address.base, set()) if instruction.opcode == "ld" else None
        return ["somewhere", sorted(buffers)] if buffers else None

    # --- addresses that grow evenly -----------------------------------------------------------------------------------

    def _definition(self, name: str, index: int) -> int | None:
        """The one statement whose value statement `index` reads: the last in its block, or the only one at all."""
        found = self._all.get(name, [])
        before = [item for item in found if self._block_starts[index] <= item < index]
        chosen = before[-1] if before else found[0] if len(found) == 1 else None
        return None if chosen is None or getattr(self._statements[chosen], "guard", None) is not None else chosen

    def _formula(self, operand: Operand, index: int) -> Formula | None:
        """What an operand of statement `index` holds."""
        self._terms += 1
        if self._terms > _MOST_TERMS:
            return None
        if isinstance(operand, Integer):
            return ["c", operand.value]
        if not isinstance(operand, Register):
            return None
        if operand.name in _COORDINATES:
            return ["x", operand.name[1:]]
        definition = self._definition(operand.name, index)
        return None if definition is None else self._of_definition(operand.name, definition)

    def _of_definition(self, name: str, index: int) -> Formula | None:
        instruction = self._statements[index]
        if not isinstance(instruction, Instruction):
            return None
        opcode, words = instruction.opcode, instruction.modifiers
        bits = _BITS.get(words[-1], 0) if words else 0
        if not bits or not {"cc", "hi", "sat"}.isdisjoint(words):
            return None
        if opcode == "ld":
            first = self._first_byte(instruction, name)
            return None if first is None else ["p", first, bits // 8]
        if opcode == "cvt":
            return self._conversion(instruction, bits, index)
        if opcode not in ("mov", "cvta", "add", "sub", "mul", "mad", "shl", "not", "neg"):
            return None
        if opcode == "cvta" and words[-2].partition("::")[0] != "global" and words[0] != "global":
            return None
        parts = [self._formula(item, index) for item in instruction.operands[1:]]
        if any(item is None for item in parts):
            return None
        if "wide" in words:
            parts[:2] = [["widen", words[-1].startswith("s"), item] for item in parts[:2]]
        if opcode in ("mov", "cvta"):
            return parts[0]
        if opcode == "shl":
            power = instruction.operands[2]
            if not isinstance(power, Integer) or not 0 <= power.value < bits:
                return None
            return ["*", parts[0], ["c", 1 << power.value]]
        if opcode in ("not", "neg"):
            return ["-", ["c", -1 if opcode == "not" else 0], parts[0]]
        if opcode == "mad":
            return ["+", ["*", *parts[:2]], parts[2]]
        return [{"add": "+", "sub": "-", "mul": "*"}[opcode], *parts]

    def _conversion(self, instruction: Instruction, of: int, index: int) -> Formula | None:
        words = instruction.modifiers
        source = self._formula(instruction.operands[1], index)
        if source is None or len(words) != 2 or words[0] not in _BITS:
            return None
        return ["widen", words[-1].startswith("s"), source] if _BITS[words[0]] > of else source

    def _first_byte(self, instruction: Instruction, name: str) -> int | None:
        """The byte of the parameter space from which a load sets a register."""
        target, address = instruction.operands[:2]
        if instruction.modifiers[0] != "param" or not isinstance(address, Address):
            return None
        if not isinstance(address.base, Symbol) or address.base.name not in self._parameters:
            return None
        elements = target.elements if isinstance(target, Vector) else (target,)
        place = [isinstance(item, Register) and item.name == name for item in elements].index(True)
        return self._parameters[address.base.name] + address.offset + place * size(element_type(instruction))

    # --- other reads: in which buffers --------------------------------------------------------------------------------

    def _buffers(self, operand: Operand, seen: set[str]) -> set[int] | None:
        """The parameters that an address may come from; None where it may come from anywhere."""
        if isinstance(operand, Integer):
            return set()
        if not isinstance(operand, Register):
            return None
        if operand.name in seen or operand.name in _COORDINATES or operand.name in ("%laneid", "%warpid"):
            return set()
        seen.add(operand.name)
        found: set[int] = set()
        for definition in self._all.get(operand.name, []):
            part = self._buffers_of(self._statements[definition], operand.name, seen)
            if part is None:
                return None
            found |= part
        return found

    def _buffers_of(self, statement: Statement, name: str, seen: set[str]) -> set[int] | None:
        if not isinstance(statement, Instruction) or not statement.modifiers:
            return None
        opcode, kind = statement.opcode, statement.modifiers[-1]
        if opcode == "mad":
            return self._buffers(statement.operands[3], seen)
        if _BITS.get(kind, 32) == 32 or opcode in ("mul", "shl", "shr", "div", "rem"):
            return set()  # A number, not an address.
        if opcode == "ld":
            first = self._first_byte(statement, name)
            return None if first is None else {first}
        if opcode == "cvt":
            return set() if _BITS.get(kind, 0) < 64 else self._buffers(statement.operands[1], seen)
        if opcode not in ("mov", "cvta", "add", "sub", "selp", "and", "or", "min", "max"):
            return None
        found: set[int] = set()
        for operand in statement.operands[1:3] if opcode == "selp" else statement.operands[1:]:
            part = self._buffers(operand, seen)
            if part is None:
                return None
            found |= part
        return found

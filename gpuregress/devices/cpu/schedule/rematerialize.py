"""Rematerialization of registers behind a wait: values that are cheaper to compute than to save."""

from __future__ import annotations

from collections.abc import Iterable

from gpuregress.devices.cpu.analysis import effects
from gpuregress.devices.cpu.analysis.control_flow_graph import single_definitions
from gpuregress.devices.cpu.builder.services import Services
from gpuregress.devices.cpu.isa.lowering_table import lowering
from gpuregress.devices.cpu.ptx.opcode_table import Arithmetic, MemoryEffect, info
from gpuregress.devices.cpu.ptx.tree import Address, Instruction, Integer, Operand, Register, Symbol

_VARYING = ("%tid.", "%laneid", "%lanemask")
_MOST_VARYING = 3
"""Instructions that depend on the thread, at most: those that do not are worked out once for all threads."""


class Rematerializer:
    """The registers of a kernel that can be rematerialized.

    Args:
        emitter: the kernel's.

    Attributes:
        single_definitions: the registers that one instruction alone sets, with it.
    """

    def __init__(self, emitter: Services) -> None:
        self._kernel_parameters = set(emitter.frame.parameter_offsets)
        self.single_definitions = single_definitions(emitter.flow.statements)
        self._costs: dict[str, int | None] = {}

    def __contains__(self, name: str) -> bool:
        cost = self._cost(name)
        return cost is not None and cost <= _MOST_VARYING

    def rematerialize(self, emitter: Services, live: frozenset[str]) -> None:
        """Compute the live ones again at the emitter's position."""
        self.rematerialize_all(emitter, [name for name in sorted(live) if name in self])

    def rematerialize_all(self, emitter: Services, names: Iterable[str]) -> None:
        """Compute registers of `all_definitions` at the emitter's position, at any cost."""
        made: set[str] = set()
        for name in names:
            self._emit(emitter, name, made)

    def all_definitions(self) -> dict[str, Instruction]:
        """Return the definitions of all registers that can be recomputed, cheap or not."""
        return {name: item for name, item in self.single_definitions.items() if self._cost(name) is not None}

    def _emit(self, emitter: Services, name: str, made: set[str]) -> None:
        if name in made:
            return
        instruction = self.single_definitions[name]
        for other in effects.reads(instruction):
            if other in self.single_definitions:
                self._emit(emitter, other, made)
        made.add(name)
        lowering(instruction)(emitter, instruction)

    def _cost(self, name: str) -> int | None:
        """Instructions that depend on the thread; None where it cannot be made again."""
        if name not in self._costs:
            self._costs[name] = None
            self._costs[name] = self._cost_of(self.single_definitions.get(name))
        return self._costs[name]

    def _cost_of(self, instruction: Instruction | None) -> int | None:
        if instruction is None or not self._is_simple(instruction):
            return None
        total, varies = 0, False
        for operand in instruction.operands[1:]:
            if isinstance(operand, Register):
                cost = self._operand_cost(operand.name)
                if cost is None:
                    return None
                total += cost
                varies = varies or cost > 0 or operand.name.startswith(_VARYING)
        return total + varies

    def _operand_cost(self, name: str) -> int | None:
        if name in self.single_definitions:
            return self._cost(name)
        special = name.startswith(("%tid.", "%ntid.", "%ctaid.", "%nctaid.", "%laneid", "%lanemask"))
        return 0 if special else None

    def _is_simple(self, instruction: Instruction) -> bool:
        facts = info(instruction)
        if facts.memory is MemoryEffect.READ:
            return self._is_parameter(instruction.operands[1]) and len(instruction.modifiers) == 2
        if not facts.is_cheap or "cc" in instruction.modifiers:
            return False
        converts = facts.arithmetic is Arithmetic.CONVERT
        if converts and any(word.startswith(("f", "bf", "e")) for word in instruction.modifiers[-2:]):
            return False
        return all(isinstance(item, Register | Integer | Symbol) for item in instruction.operands)

    def _is_parameter(self, operand: Operand) -> bool:
        if not isinstance(operand, Address) or not isinstance(operand.base, Symbol):
            return False
        return operand.base.name in self._kernel_parameters

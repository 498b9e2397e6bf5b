"""Rematerialization of registers after a wait: values that are cheaper to compute than to save."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gpuregress.gpu.records import replace
from gpuregress.virtual_gpu.analysis import effects
from gpuregress.virtual_gpu.analysis.control_flow_graph import ControlFlowGraph, single_definitions
from gpuregress.virtual_gpu.builder.services import Services
from gpuregress.virtual_gpu.isa.lowering_table import lowering
from gpuregress.virtual_gpu.ptx.opcode_table import Arithmetic, MemoryEffect, info
from gpuregress.virtual_gpu.ptx.tree import Address, Instruction, Integer, Operand, Register, Symbol

# --- reaching definitions ---------------------------------------------------------------------------------------------
# Reaching definitions: the instructions whose value a use of a register may see.
#
# Compilers give a loop's variable the register of its first value. So a register that is set twice may still have one
# known value where it is read before the loop.


class ReachingDefinitions:
    """The definitions of a function's registers, searched backwards from a use when one asks.

    Args:
        flow: the function's control flow.

    Attributes:
        sites: register → the statements that define it.
    """

    def __init__(self, flow: ControlFlowGraph) -> None:
        self._flow = flow
        self.sites: dict[str, list[int]] = {}
        for index, statement in enumerate(flow.statements):
            for name in effects.sets(statement):
                self.sites.setdefault(name, []).append(index)
        self._known: dict[tuple[str, int], int | None] = {}

    def only(self, name: str, index: int) -> int | None:
        """Return the one definition that reaches statement `index`; None where there are several, or perhaps none."""
        number = self._flow.block_at(index)
        site = self._last_in(name, number, index)
        if site is not None:
            return site if self._flow.statements[site].guard is None else None
        key = (name, number)
        if key not in self._known:
            self._known[key] = self._before(name, number)
        return self._known[key]

    def _last_in(self, name: str, number: int, end: int) -> int | None:
        """The last definition in a block, before statement `end`."""
        start = self._flow.blocks[number].start
        return max((site for site in self.sites.get(name, ()) if start <= site < end), default=None)

    def _before(self, name: str, number: int) -> int | None:
        """The only definition that reaches a block's start."""
        only: int | None = None
        pending, seen = [number], {number}
        while pending:
            block = pending.pop()
            if block == 0:
                return None  # Also from the function's start, where nothing is defined.
            for before in self._flow.predecessors[block]:
                site = self._last_in(name, before, self._flow.blocks[before].end)
                if site is not None:
                    if self._flow.statements[site].guard is not None or only not in (None, site):
                        return None
                    only = site
                elif before not in seen:
                    seen.add(before)
                    pending.append(before)
        return only


# --- rematerialize ----------------------------------------------------------------------------------------------------

_VARYING = ("%tid.", "%laneid", "%lanemask")
_SPECIAL = (*_VARYING, "%ntid.", "%ctaid.", "%nctaid.")
_MOST_VARYING = 3
"""Instructions that depend on the thread, at most: those that do not are worked out once for all threads."""


class Rematerializer:
    """The registers of a kernel that can be rematerialized.

    An operand that several instructions set, of which one reaches the use, is rematerialized under another name.

    Args:
        emitter: the kernel's.
    """

    def __init__(self, emitter: Services) -> None:
        self._emitter = emitter
        self._kernel_parameters = set(emitter.frame.parameter_offsets)
        self._single = single_definitions(emitter.flow.statements)
        self._reaching = ReachingDefinitions(emitter.flow)
        self._in_context = {name for item in emitter.flow.statements for name in effects.context_operands(item)}
        self._definitions: dict[str, Instruction | None] = {}
        self._costs: dict[str, int | None] = {}

    def __contains__(self, name: str) -> bool:
        cost = None if name in self._in_context else self._cost(name)
        return cost is not None and cost <= _MOST_VARYING

    def kept(self, names: Iterable[str]) -> list[str]:
        """Return those of some registers that must be kept in memory instead, sorted."""
        return sorted(name for name in names if name not in self)

    def rematerialize(self, emitter: Services, live: frozenset[str]) -> None:
        """Compute the live ones again at the emitter's position."""
        self.rematerialize_all(emitter, [name for name in sorted(live) if name in self])

    def rematerialize_all(self, emitter: Services, names: Iterable[str]) -> None:
        """Compute registers of `all_definitions` at the emitter's position, at any cost."""
        self.emit_all(emitter, names, self.definition)

    def emit_all(
        self, emitter: Services, names: Iterable[str], definition: Callable[[str], Instruction | None]
    ) -> None:
        """Compute registers by given definitions; those without one have their values."""
        computed: set[str] = set()
        for name in names:
            _emit(emitter, name, computed, definition)

    def all_definitions(self) -> dict[str, Instruction]:
        """Return the definitions of all registers that can be recomputed, cheap or not."""
        for name in self._single:
            self._cost(name)
        known = {name: item for name, item in self._definitions.items() if item is not None}
        return {name: item for name, item in known.items() if self._cost(name) is not None}

    def definition(self, name: str) -> Instruction | None:
        """Return the one instruction that sets a register, its operands under names that have one definition too."""
        if name not in self._definitions and name in self._single:
            self._define(name, self._single[name], self._reaching.sites[name][0])
        return self._definitions.get(name)

    def _define(self, name: str, instruction: Instruction, index: int) -> None:
        self._definitions[name] = None
        operands = (Register(name), *(self._renamed(item, index) for item in instruction.operands[1:]))
        if operands != instruction.operands:
            instruction = replace(instruction, operands=operands)
        self._definitions[name] = instruction

    def _renamed(self, operand: Operand, index: int) -> Operand:
        """An operand of statement `index`; a register that is set elsewhere, too, under a name for its value there."""
        if not isinstance(operand, Register) or len(self._reaching.sites.get(operand.name, ())) < 2:
            return operand
        site = self._reaching.only(operand.name, index)
        if site is None:
            return operand
        definition = self._emitter.flow.statements[site]
        if not isinstance(definition, Instruction) or definition.operands[0] != operand:
            return operand
        name = f"{operand.name}@{site}"
        if name not in self._definitions:
            self._emitter.declare(name, operand.name)
            self._define(name, definition, site)
        return Register(name)

    def _cost(self, name: str) -> int | None:
        """Instructions that depend on the thread; None where it cannot be made again."""
        if name not in self._costs:
            self._costs[name] = None
            self._costs[name] = self._cost_of(self.definition(name))
        return self._costs[name]

    def _cost_of(self, instruction: Instruction | None) -> int | None:
        if instruction is None or not self._is_simple(instruction):
            return None
        total, varies = 0, False
        for operand in instruction.operands[1:]:
            if not isinstance(operand, Register):
                continue
            cost = self._cost(operand.name)
            if cost is None and (self.definition(operand.name) is not None or not operand.name.startswith(_SPECIAL)):
                return None
            total += cost or 0
            varies = varies or bool(cost) or operand.name.startswith(_VARYING)
        return total + 1 if varies else total

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


def _emit(emitter: Services, name: str, computed: set[str], definition: Callable[[str], Instruction | None]) -> None:
    instruction = None if name in computed else definition(name)
    if instruction is None:
        return
    for source in effects.reads(instruction):
        _emit(emitter, source, computed, definition)
    computed.add(name)
    lowering(instruction)(emitter, instruction)

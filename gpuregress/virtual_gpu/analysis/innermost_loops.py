"""Innermost loops of one basic block, their bodies in static single assignment form."""

from __future__ import annotations

from collections.abc import Iterator

from gpuregress.gpu.records import Record, replace
from gpuregress.virtual_gpu.analysis import effects
from gpuregress.virtual_gpu.analysis.control_flow_graph import ControlFlowGraph
from gpuregress.virtual_gpu.analysis.effects import CARRY
from gpuregress.virtual_gpu.ptx.opcode_table import Control, MemoryEffect, ResultKind, info
from gpuregress.virtual_gpu.ptx.tree import (
    Address,
    Guard,
    Instruction,
    Label,
    Minus,
    Negated,
    Operand,
    Pair,
    Register,
    Selected,
    Vector,
)


class InnermostLoop(Record):
    """A basic block that a branch at its end repeats.

    Attributes:
        number: the block.
        body: its instructions without the branch; each sets registers that no other one sets.
        last: register → the name of its value at the end of the body.
        origin: name in the body → the register.
        guard: the predicate, by its name in the body, for which the branch repeats the block.
    """

    number: int
    body: tuple[Instruction, ...]
    last: dict[str, str]
    origin: dict[str, str]
    guard: Guard

    @property
    def definitions(self) -> dict[str, Instruction]:
        """The instructions of the body that compute a value from registers alone, by the name that they set."""
        return {
            item.operands[0].name: item
            for item in self.body
            if item.operands and isinstance(item.operands[0], Register) and _is_pure(item)
        }


def innermost_loops(flow: ControlFlowGraph) -> Iterator[InnermostLoop]:
    """Return the loops of one block, without guards and waits inside, that lie in no other loop without waits."""
    for number, block in enumerate(flow.blocks):
        if number in block.successors and not _is_nested(flow, number):
            loop = _renamed(flow, number)
            if loop is not None:
                yield loop


def _is_pure(instruction: Instruction) -> bool:
    facts = info(instruction)
    return facts.result is ResultKind.PURE and facts.memory is MemoryEffect.NONE


def _is_nested(flow: ControlFlowGraph, number: int) -> bool:
    """Whether a path without waits leads from a block's exit back to it."""
    pending, seen = [item for item in flow.blocks[number].successors if item != number], set[int]()
    while pending:
        at = pending.pop()
        if at == number:
            return True
        if at in seen:
            continue
        seen.add(at)
        block = flow.blocks[at]
        indexes = range(block.start, block.end)
        stops = any(index in flow.waits and flow.statements[index].guard is None for index in indexes)
        pending += [] if stops else block.successors
    return False


def _renamed(flow: ControlFlowGraph, number: int) -> InnermostLoop | None:
    block = flow.blocks[number]
    statements = [item for item in flow.statements[block.start : block.end] if not isinstance(item, Label)]
    branch = statements.pop() if statements else None
    if not isinstance(branch, Instruction) or info(branch).control is not Control.BRANCH or branch.guard is None:
        return None
    if any(index in flow.waits for index in range(block.start, block.end)):
        return None
    names: dict[str, str] = {}
    origin: dict[str, str] = {}
    body: list[Instruction] = []
    for item in statements:
        if not isinstance(item, Instruction) or item.guard is not None or CARRY in effects.sets(item):
            return None
        if info(item).reads_carry or info(item).control is not Control.NEXT:
            return None
        results = len(effects.sets(item)) > 0
        before = dict(names)
        for name in effects.sets(item):
            names[name] = f"{name}@{number}.{len(origin)}"
            origin[names[name]] = name
        operands = [
            _with(operand, names if position == 0 and results else before)
            for position, operand in enumerate(item.operands)
        ]
        body.append(replace(item, operands=tuple(operands)))
    guard = replace(branch.guard, register=names.get(branch.guard.register, branch.guard.register))
    if guard.register == branch.guard.register:
        return None  # A predicate that the loop does not compute.
    return InnermostLoop(number, tuple(body), names, origin, guard)


def _with(operand: Operand, names: dict[str, str]) -> Operand:
    """An operand with its registers under other names."""

    def rename(register: Register) -> Register:
        return Register(names.get(register.name, register.name))

    if isinstance(operand, Register):
        return rename(operand)
    if isinstance(operand, Negated):
        return Negated(rename(operand.operand))
    if isinstance(operand, Selected):
        return replace(operand, register=rename(operand.register))
    if isinstance(operand, Minus):
        inner = _with(operand.operand, names)
        return Minus(inner) if isinstance(inner, Register | Selected) else operand
    if isinstance(operand, Vector):
        return Vector(tuple(_with(item, names) for item in operand.elements))
    if isinstance(operand, Pair):
        return Pair(_with(operand.first, names), _with(operand.second, names))
    if isinstance(operand, Address) and isinstance(operand.base, Register):
        return replace(operand, base=rename(operand.base))
    return operand

"""Innermost loops of one basic block, their bodies in static single assignment form."""

from __future__ import annotations

from collections.abc import Iterator

from gpuregress.gpu.records import Record, replace
from gpuregress.virtual_gpu.analysis import effects
from gpuregress.virtual_gpu.analysis.control_flow_graph import ControlFlowGraph
from gpuregress.virtual_gpu.analysis.effects import CARRY
from gpuregress.virtual_gpu.ptx.opcode_table import Control, MemoryEffect, ResultKind, info
from gpuregress.virtual_gpu.ptx.tree import (
    Guard,
    Instruction,
    Label,
    Register,
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
        definitions: dict[str, Instruction] = {}
        for item in self.body:
            facts = info(item)
            if facts.result is not ResultKind.PURE or facts.memory is not MemoryEffect.NONE:
                continue
            if item.operands and isinstance(item.operands[0], Register):
                definitions[item.operands[0].name] = item
        return definitions


def innermost_loops(flow: ControlFlowGraph) -> Iterator[InnermostLoop]:
    """Return the loops of one block, without guards and waits inside, that lie in no other loop without waits."""
    for number, block in enumerate(flow.blocks):
        if number in block.successors and not _is_nested(flow, number):
            loop = _renamed(flow, number)
            if loop is not None:
                yield loop


def _is_nested(flow: ControlFlowGraph, number: int) -> bool:
    """Whether a path without waits leads from a block's exit back to it."""
    exits = set(flow.blocks[number].successors) - {number}
    return number in flow.reachable_without_waits(exits)


def _renamed(flow: ControlFlowGraph, number: int) -> InnermostLoop | None:
    """A block in static single assignment form; None where it has waits, guards or carries, or no condition."""
    branch = flow.last_of(number)
    if not isinstance(branch, Instruction) or info(branch).control is not Control.BRANCH or branch.guard is None:
        return None
    names: dict[str, str] = {}
    origin: dict[str, str] = {}
    body: list[Instruction] = []

    def name_of(name: str) -> str:
        return names.get(name, name)

    for index in flow.indices(number)[:-1]:
        item = flow.statements[index]
        if isinstance(item, Label):
            continue
        if not isinstance(item, Instruction) or item.guard is not None or CARRY in effects.sets(item):
            return None
        if index in flow.waits or info(item).reads_carry or info(item).control is not Control.NEXT:
            return None
        operands = [effects.renamed(operand, name_of) for operand in item.operands]
        for name in effects.sets(item):
            names[name] = f"{name}@{number}.{len(origin)}"
            origin[names[name]] = name
        if effects.sets(item):
            operands[0] = effects.renamed(item.operands[0], name_of)
        body.append(replace(item, operands=tuple(operands)))
    if branch.guard.register not in names:
        return None  # A predicate that the loop does not compute.
    guard = replace(branch.guard, register=names[branch.guard.register])
    return InnermostLoop(number=number, body=tuple(body), last=names, origin=origin, guard=guard)

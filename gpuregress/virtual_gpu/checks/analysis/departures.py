"""Effects on memory behind which a thread does not wait any more.

They are called departures.
A lane that has executed one went another way than the lanes of its warp that wait later. A lane that returns early, and
does nothing more, executes none.
"""

from __future__ import annotations

from gpuregress.virtual_gpu.analysis.control_flow_graph import ControlFlowGraph
from gpuregress.virtual_gpu.ptx.opcode_table import MemoryEffect, Wait, info
from gpuregress.virtual_gpu.ptx.tree import Call, Instruction, Statement

_EFFECTS = (MemoryEffect.WRITE, MemoryEffect.UPDATE, MemoryEffect.COPY)


def departures(flow: ControlFlowGraph) -> frozenset[int]:
    """Return the statements of a kernel that are departures; none if no thread of it waits.

    Args:
        flow: its control flow. A call counts as a wait, since the function that is called may wait.
    """
    waits = {index for index, item in enumerate(flow.statements) if _may_wait(flow, index, item)}
    if not waits:
        return frozenset()
    last = dict.fromkeys(range(len(flow.blocks)), -1)
    for index in waits:
        number = flow.block_at(index)
        last[number] = max(last[number], index)
    waiting = _reaching(flow, {number for number, index in last.items() if index >= 0})
    found: set[int] = set()
    for number, block in enumerate(flow.blocks):
        if any(successor in waiting for successor in block.successors):
            continue
        first = max(block.start, last[number] + 1)
        found.update(index for index in range(first, block.end) if _has_effect(flow.statements[index]))
    return frozenset(found)


def _may_wait(flow: ControlFlowGraph, index: int, statement: Statement) -> bool:
    if isinstance(statement, Call):
        return True
    return index in flow.waits and isinstance(statement, Instruction) and info(statement).wait is not Wait.STEP


def _has_effect(statement: Statement) -> bool:
    return isinstance(statement, Instruction) and info(statement).memory in _EFFECTS


def _reaching(flow: ControlFlowGraph, targets: set[int]) -> set[int]:
    """The blocks from which one of some blocks can be reached, those included."""
    sources: dict[int, list[int]] = {}
    for number, block in enumerate(flow.blocks):
        for successor in block.successors:
            sources.setdefault(successor, []).append(number)
    found, pending = set(targets), list(targets)
    while pending:
        for number in sources.get(pending.pop(), ()):
            if number not in found:
                found.add(number)
                pending.append(number)
    return found

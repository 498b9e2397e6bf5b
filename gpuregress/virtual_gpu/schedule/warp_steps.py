"""Warp steps: waits that make the lanes of a warp access memory in step.

A GPU runs a converged warp one instruction after the other, each in all its lanes. Code without `__syncwarp` may rely
on it. A step is inserted where the dependence test cannot exclude that; see `analysis.lane_dependence`.
"""

from __future__ import annotations

from msgspec import field

from gpuregress.gpu.records import Record, replace
from gpuregress.virtual_gpu.analysis.control_flow_graph import ControlFlowGraph
from gpuregress.virtual_gpu.analysis.lane_dependence import ContestedStores, lane_dependence
from gpuregress.virtual_gpu.ptx.modifiers import lay_out, space_of
from gpuregress.virtual_gpu.ptx.tree import Function, Instruction, Statement
from gpuregress.virtual_gpu.runtime.program import Schedule

_ACCESSES = frozenset(["ld", "ldu", "st", "atom", "red"])
_SEEN = frozenset(["", "global", "shared"])
"""Spaces of memory that threads share; "": a generic address."""


class SteppedKernel(Record):
    """A kernel with its steps.

    Attributes:
        function: its syntax tree.
        exchanges: see `LaneDependence`.
        assumes_rows: whether that holds only for warps of the schedule's width.
        contested: the stores that lanes of a warp may make to one address.
        assumes_distinct: whether that holds only where parameters hold different addresses.
    """

    function: Function
    exchanges: frozenset[tuple[int, int]] = frozenset()
    assumes_rows: bool = False
    contested: ContestedStores = field(default_factory=ContestedStores)
    assumes_distinct: bool = False


def with_warp_steps(function: Function, schedule: Schedule) -> SteppedKernel:
    """Insert a step before each access that depends on an earlier one of another lane of the warp."""
    flow = ControlFlowGraph(function)
    offsets, _ = lay_out(function.parameters)
    private = frozenset(item.name for item in function.variables if item.space == "local")
    offsets = with_aliases(offsets, schedule.aliases)
    dependence = lane_dependence(
        flow, offsets, private, schedule.warp_width, last_first=schedule.last_first, any_order=schedule.permuted
    )
    steps = dependence.steps
    if schedule.in_step:
        steps |= _accesses(flow)
    body: list[Statement] = []
    moved: dict[int, int] = {}
    for index, statement in enumerate(flow.statements):
        if index in steps and isinstance(statement, Instruction):
            body.append(replace(statement, opcode="bar", modifiers=("warp", "step"), operands=(), guard=None))
        moved[index] = len(body)
        body.append(statement)
    return SteppedKernel(
        function=replace(function, body=tuple(body)) if steps else function,
        exchanges=frozenset((moved[write], moved[read]) for write, read in dependence.exchanges),
        assumes_rows=dependence.assumes_rows,
        contested=dependence.contested.renumbered(moved),
        assumes_distinct=dependence.assumes_distinct,
    )


def _accesses(flow: ControlFlowGraph) -> frozenset[int]:
    """The accesses to memory that other threads see, but for those in loops that spin.

    A lane that waits for another one of its warp there must go on alone, as it does on a GPU since Volta.
    """
    accesses: set[int] = set()
    for index, item in enumerate(flow.statements):
        if not isinstance(item, Instruction) or item.opcode not in _ACCESSES or space_of(item) not in _SEEN:
            continue
        if flow.block_at(index) not in flow.spinning_blocks:
            accesses.add(index)
    return frozenset(accesses)


def with_aliases(offsets: dict[str, int], aliases: tuple[tuple[int, int], ...]) -> dict[str, int]:
    """The first bytes of parameters, with that of an earlier one for each parameter that holds the same address."""
    same = dict(aliases)
    return {name: same.get(first, first) for name, first in offsets.items()}

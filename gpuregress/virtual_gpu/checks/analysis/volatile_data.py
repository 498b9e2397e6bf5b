"""Shared variables that are volatile and hold data, not flags.

To PTX a volatile access is strong, so that two of them are no data race. That suits flags: a thread polls them, or
atomic operations change them, too. Elsewhere `volatile` was written for lanes of one warp that wait for nothing, and a
missing barrier between warps is an error: these accesses are checked as plain ones.
"""

from __future__ import annotations

from collections.abc import Iterable

from gpuregress.virtual_gpu.analysis.control_flow_graph import ControlFlowGraph
from gpuregress.virtual_gpu.analysis.pointer_provenance import PointerProvenance
from gpuregress.virtual_gpu.ptx.modifiers import is_synchronizing, space_of
from gpuregress.virtual_gpu.ptx.tree import Address, Function, Instruction, Statement


def volatile_data(functions: Iterable[Function], variables: Iterable[str]) -> frozenset[str]:
    """Return the names of the shared variables whose volatile accesses are to be checked as plain ones.

    Args:
        functions: all of a module, with bodies.
        variables: the names of the module's variables.
    """
    bodies, names = tuple(functions), frozenset(variables)
    if not any(map(is_volatile_shared, (item for function in bodies for item in function.body or ()))):
        return frozenset()
    data: set[str] = set()
    flags: set[str] = set()
    for function in bodies:
        flow = ControlFlowGraph(function)
        sources = PointerProvenance(flow.statements, {}, {*names, *(item.name for item in function.variables)})
        for index, item in enumerate(flow.statements):
            if not isinstance(item, Instruction) or space_of(item) not in ("", "shared"):
                continue
            is_data = is_volatile_shared(item) and index not in flow.polled
            is_flag = not is_data and (index in flow.polled or is_synchronizing(item))
            address = next((operand for operand in item.operands if isinstance(operand, Address)), None)
            if address is None or not (is_data or is_flag):
                continue
            name = variable_of(sources, address)
            if is_flag and not name:
                return frozenset()  # it may be anywhere
            (data if is_data else flags).add(name)
    return frozenset(data - flags - {""})


def variable_of(sources: PointerProvenance, address: Address) -> str:
    """Return the only variable that an address may be derived from; "" where that is not known."""
    found = sources.of(address.base)
    return found.name if found is not None and found.certain else ""


def is_volatile_shared(item: Statement) -> bool:
    """Whether a statement is a volatile access to shared memory."""
    return isinstance(item, Instruction) and "volatile" in item.modifiers and space_of(item) == "shared"

"""Points-to analysis of a kernel's writes to global memory: the buffers that it may write."""

from __future__ import annotations

from gpuregress.virtual_gpu.analysis.control_flow_graph import ControlFlowGraph
from gpuregress.virtual_gpu.analysis.points_to import PointsTo
from gpuregress.virtual_gpu.ptx.modifiers import space_of
from gpuregress.virtual_gpu.ptx.opcode_table import MemoryEffect, info
from gpuregress.virtual_gpu.ptx.tree import Address, Call, Instruction, Statement, Symbol, TextureAddress
from gpuregress.virtual_gpu.runtime.bulk.forms import form_of
from gpuregress.virtual_gpu.runtime.machine_layout import SYSTEM_CALLS

_OTHER_SPACES = frozenset(["shared", "local", "param", "const"])


def written_buffers(flow: ControlFlowGraph, parameters: dict[str, int]) -> frozenset[int | str] | None:
    """Return the first bytes of the parameters, and the variables, that a kernel may write through.

    A parameter may be a pointer, or the handle of a surface.

    Args:
        flow: control flow of the kernel.
        parameters: name of each parameter -> its first byte in the parameter space.

    Returns:
        None where it may write anywhere.
    """
    sources = PointsTo(flow.statements, parameters)
    written: set[int | str] = set()
    for statement in flow.statements:
        if not _writes_global(statement):
            continue
        address = _address(statement)
        targets = None if address is None else sources.of(address.base)
        if targets is None:
            return None
        written.update(targets)
    return frozenset(written)


def _writes_global(statement: Statement) -> bool:
    if isinstance(statement, Call):
        return not isinstance(statement.callee, Symbol) or statement.callee.name not in SYSTEM_CALLS
    if not isinstance(statement, Instruction):
        return False
    facts = info(statement)
    if facts.memory is MemoryEffect.COPY:
        # `cp.async` writes shared memory only, and so do the bulk copies whose target that is.
        form = form_of(statement.modifiers) if "bulk" in statement.modifiers else None
        return form is not None and form.target == "global"
    if facts.memory in (MemoryEffect.NONE, MemoryEffect.READ):
        return False
    return (facts.space or space_of(statement)) not in _OTHER_SPACES


def _address(statement: Statement) -> Address | TextureAddress | None:
    """The address, or the handle, that an instruction writes through; None where it is not known."""
    if not isinstance(statement, Instruction) or statement.opcode in ("cp", "tensormap", "multimem"):
        return None
    return next((item for item in statement.operands if isinstance(item, Address | TextureAddress)), None)

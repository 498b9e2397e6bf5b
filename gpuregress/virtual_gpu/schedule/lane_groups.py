"""Groups of lanes that run from last to first, where stores of a warp may be to one address."""

from __future__ import annotations

from gpuregress.gpu.architectures import SM_90
from gpuregress.virtual_gpu.analysis.lanes.contested import ContestedStores
from gpuregress.virtual_gpu.analysis.strides import Strides
from gpuregress.virtual_gpu.builder.services import Services
from gpuregress.virtual_gpu.ptx.modifiers import lanes, type_of
from gpuregress.virtual_gpu.ptx.tree import Address, Instruction
from gpuregress.virtual_gpu.ptx.types import size
from gpuregress.virtual_gpu.schedule.rematerialize import Rematerializer


def lane_groups(emitter: Services, rematerializer: Rematerializer, contested: ContestedStores, start: int) -> int:
    """The lanes of the groups in which the threads of a region run from last to first; 0: they run in their order.

    Args:
        emitter: the kernel's.
        rematerializer: of its registers.
        contested: its stores that lanes of a warp may make to one address.
        start: the wait that the region begins with; -1 for the start.
    """
    schedule = emitter.unit.schedule
    if schedule.last_first or not schedule.warp_width or not contested.groups:
        return 0
    blocks = emitter.flow.until_waits(start)
    strides = Strides(rematerializer.all_definitions())
    statements = (index for first, end in blocks.values() for index in range(first, end))
    return contested.group(index for index in statements if not _is_spread(emitter, contested, index, strides))


def _is_spread(emitter: Services, contested: ContestedStores, index: int, strides: Strides) -> bool:
    """Whether a store has a stride along a row, so that each lane has an address of its own."""
    if index not in contested.groups or emitter.unit.schedule.warp_width < SM_90.warp_size:
        return False
    statement = emitter.flow.statements[index]
    assert isinstance(statement, Instruction)
    address = statement.operands[0]
    stride = strides.of(address.base) if isinstance(address, Address) else None
    return stride is not None and abs(stride.step) >= lanes(statement) * size(type_of(statement))

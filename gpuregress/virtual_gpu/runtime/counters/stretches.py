"""Stretches of instructions whose executions are traced, and the addresses in a row."""

from __future__ import annotations

from typing import Literal

from gpuregress.gpu.records import Record

OTHER_BLOCK = 1 << 63
"""Bit of an address in a row: it is in the shared memory of another block of the cluster."""
Access = Literal["load", "store", "atomic"]


class TracedInstruction(Record):
    """An instruction of a stretch.

    Attributes:
        mnemonic: `ld.global.f32`.
        kind: its class.
        ptx_line: of the compiled code.
        count: PTX instructions that it stands for: a batch of matrix instructions is one statement.
        site: number of the fault site of a copy that a unit of its own makes; -1 for another instruction.
        uncounted: what it does that is not counted, in words.
        chain: (file, line, column) of the code and of the calls that it is inlined into, innermost first.
    """

    mnemonic: str
    kind: str
    ptx_line: int
    count: int
    chain: tuple[tuple[str, int, int], ...]
    site: int = -1
    uncounted: str = ""


class TracedAccess(Record):
    """An address in the rows of a stretch.

    Attributes:
        instruction: number of the instruction in the stretch.
        access: what it does.
        size: bytes of a lane.
        lanes: the first lanes, whose addresses count.
    """

    instruction: int
    access: Access
    size: int
    lanes: int = 32


class Stretch(Record):
    """The instructions from the start of a basic block, or a wait, to the next wait or the end of the block.

    A row of its trace has the key of the lane, a number for the iterations of the loops around, and the addresses. With
    a branch at the end, whether it is taken comes last.

    Attributes:
        function: PTX function.
        instructions: in order.
        accesses: in the order of the row.
        branch: number of the conditional branch at its end; -1 where there is none.
    """

    function: str
    instructions: tuple[TracedInstruction, ...]
    accesses: tuple[TracedAccess, ...]
    branch: int = -1

    @property
    def words(self) -> int:
        """64-bit words of a row."""
        return 2 + len(self.accesses) + (self.branch >= 0)

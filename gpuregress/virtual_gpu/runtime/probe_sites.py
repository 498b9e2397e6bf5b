"""Sites of probes: what each counter of an instrumented module counts."""

from __future__ import annotations

from typing import Literal

from gpuregress.gpu.records import Record

ProbeKind = Literal["run", "branch", "case", "predicate", "loop", "bound", "rounding", "restart"]
Lines = tuple[tuple[tuple[str, int, int], ...], ...]
"""Source lines: (file, line, column) of the code itself and of the calls that it is inlined into, innermost first."""

COUNTERS: dict[ProbeKind, int] = {
    "run": 1,
    "branch": 1,
    "case": 1,
    "predicate": 1,
    "loop": 3,
    "bound": 3,
    "rounding": 3,
    "restart": 1,
}
"""Kind of a probe → its counters."""


class ProbeSite(Record):
    """The site of a probe.

    Attributes:
        kind: `run`: executions of the instructions from one wait, or the start of a basic block, to the next; `branch`:
            how often a conditional branch is taken; `case`: how often a branch goes to one of several targets;
            `predicate`: how often an instruction with a guard is executed; `loop`: how often a loop runs 0 times, once,
            more often; `bound`: how often an index is its limit - 1, the limit, the limit + 1; `rounding`: whether the
            rounding error of an instruction is part of its shadow, how often digits cancelled, the most that did;
            `restart`: how often a shadow was lost at an instruction.
        function: PTX function.
        index: its statement; of a loop and a case the block.
        first: number of its first counter.
        lines: source lines of its instructions.
        base: first counter of the `run` that it is part of; -1 where it is none.
        note: of a bound the comparison: `lt`, `le`, `gt` or `ge`; of a loop "zero" where runs of 0 times are seen;
            of a restart the instruction; of a branch and a predicate the name of the condition.
        source: of a bound: the numbers that the index comes from, `blockIdx.x threadIdx.x`.
        limit: of a bound: `1024`, `args[2]`, "" for another value.
        is_inverted: of a branch and a predicate: whether it is taken where the named condition is false.
        number: of a loop: among those of its line, as of a macro.
        is_inside: of a branch: whether it is the program's in a loop of its own line, and not the loop's.
    """

    kind: ProbeKind
    function: str
    index: int
    first: int
    lines: Lines
    base: int = -1
    note: str = ""
    source: str = ""
    limit: str = ""
    is_inverted: bool = False
    is_inside: bool = False
    number: int = 0


# --- stretches --------------------------------------------------------------------------------------------------------
# Stretches of instructions whose executions are traced, and the addresses in a row.

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

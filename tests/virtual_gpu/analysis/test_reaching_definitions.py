from __future__ import annotations

import pytest

from gpuregress.virtual_gpu.analysis.control_flow_graph import ControlFlowGraph
from gpuregress.virtual_gpu.ptx.tree import Instruction
from gpuregress.virtual_gpu.schedule.rematerialize import ReachingDefinitions
from tests.virtual_gpu.analysis.kernels import function

DECLARED = ".reg .pred %p<3>; .reg .b32 %r<9>;"


def _only(body: str) -> list[int | None]:
    """For each `not.b32`, by which moved constant its operand is set; None where that is not certain."""
    flow = ControlFlowGraph(function(f".visible .entry k() {{ {DECLARED} {body} ret; }}"))
    reaching, found = ReachingDefinitions(flow), []
    for index, item in enumerate(flow.statements):
        if isinstance(item, Instruction) and item.opcode == "not":
            site = reaching.only("%r1", index)
            setter = None if site is None else flow.statements[site]
            found.append(int(setter.operands[1].value) if isinstance(setter, Instruction) else None)  # type: ignore[union-attr]
    return found


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("mov.u32 %r1, 1; not.b32 %r2, %r1; mov.u32 %r1, 2; not.b32 %r3, %r1;", [1, 2]),
        ("mov.u32 %r1, 1; not.b32 %r2, %r1; L: not.b32 %r3, %r1; mov.u32 %r1, 2; @%p1 bra L;", [1, None]),
        ("mov.u32 %r1, 1; L: not.b32 %r3, %r2; @%p1 bra L;", [1]),
        ("not.b32 %r2, %r1; mov.u32 %r1, 1;", [None]),
        ("@%p1 bra L; mov.u32 %r1, 1; L: not.b32 %r2, %r1;", [None]),
        ("mov.u32 %r1, 1; @%p1 mov.u32 %r1, 2; not.b32 %r2, %r1;", [None]),
        ("mov.u32 %r1, 1; @%p1 mov.u32 %r1, 2; bra L; L: not.b32 %r2, %r1;", [None]),
        ("mov.u32 %r1, 1; @%p1 bra L; mov.u32 %r1, 2; L: not.b32 %r2, %r1;", [None]),
        ("@%p1 bra L; mov.u32 %r1, 1; bra M; L: mov.u32 %r1, 2; M: not.b32 %r2, %r1;", [None]),
        ("mov.u32 %r1, 1; @%p1 bra L; not.b32 %r3, %r2; L: not.b32 %r2, %r1; mov.u32 %r1, 2;", [1, 1]),
    ],
)
def test_the_only_definition(body: str, expected: list[int | None]) -> None:
    assert _only(body) == expected

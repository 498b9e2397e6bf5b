from __future__ import annotations

import pytest

from gpuregress.virtual_gpu.analysis.control_flow_graph import Dominance
from gpuregress.virtual_gpu.analysis.value_graph import UNKNOWN, ValueGraph
from gpuregress.virtual_gpu.ptx.tree import Register
from gpuregress.virtual_gpu.runtime.footprint_ir import (
    Constant,
    Coordinate,
    Induction,
    Node,
    Operation,
    ParameterValue,
    Phi,
    VariableAddress,
)
from tests.virtual_gpu.analysis.kernels import PARAMETERS, graph


def _values(body: str, register: str) -> tuple[Node, ValueGraph]:
    """The node of a register at the kernel's last statement, a `ret`."""
    flow = graph(body)
    values = ValueGraph(Dominance(flow), PARAMETERS)
    node = values.read(Register(register), len(flow.statements) - 1)
    values.complete()
    return values.nodes[values.follow(node)], values


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("mov.u32 %r1, 7; ret;", Constant(7)),
        ("mov.u32 %r1, %ctaid.x; ret;", Coordinate("ctaid.x")),
        ("ld.param.u32 %r1, [n]; ret;", ParameterValue(16, 4)),
        ("mov.u32 %r1, table; ret;", VariableAddress("table", 0)),
        ("ld.global.u32 %r1, [%rd1]; ret;", UNKNOWN),
        ("@%p1 mov.u32 %r1, 7; ret;", UNKNOWN),
        ("mov.u32 %r1, 7; bra L; L: ret;", Constant(7)),
        ("@%p1 bra A; mov.u32 %r1, 7; bra L; A: mov.u32 %r1, 7; L: ret;", Constant(7)),  # a trivial phi node
    ],
)
def test_the_value_of_a_register(body: str, expected: Node) -> None:
    assert _values(body, "%r1")[0] == expected


def test_operations_refer_to_the_nodes_of_their_operands() -> None:
    node, values = _values("mad.lo.s32 %r1, %ctaid.x, %ntid.x, %tid.x; ret;", "%r1")
    assert isinstance(node, Operation)
    product, thread = (values.nodes[item] for item in node.operands)
    assert (node.operator, thread) == ("+", Coordinate("tid.x"))
    assert isinstance(product, Operation)
    assert [values.nodes[item] for item in product.operands] == [Coordinate("ctaid.x"), Coordinate("ntid.x")]


def test_a_register_with_two_definitions_is_a_phi_node() -> None:
    node, values = _values("@%p1 bra A; mov.u32 %r1, 7; bra L; A: mov.u32 %r1, 8; L: ret;", "%r1")
    assert isinstance(node, Phi)
    assert {values.nodes[values.follow(item)] for item in node.operands} == {Constant(7), Constant(8)}


def test_a_register_that_each_iteration_increases_is_an_induction_variable() -> None:
    body = "mov.u32 %r1, 3; L: add.s32 %r1, %r1, 4; setp.lt.s32 %p1, %r1, 99; @%p1 bra L; ret;"
    node, values = _values(body, "%r1")
    assert isinstance(node, Operation)  # what the last iteration adds
    induction = next(item for item in values.nodes if isinstance(item, Induction))
    assert induction.signs == (1,)
    assert [values.nodes[values.follow(item)] for item in induction.operands] == [Constant(3), Constant(4)]

"""Small kernels in PTX, for the tests of the analyses."""

from __future__ import annotations

from gpuregress.virtual_gpu.analysis.control_flow_graph import ControlFlowGraph
from gpuregress.virtual_gpu.functions.inlining import inlined
from gpuregress.virtual_gpu.ptx.parser import parse
from gpuregress.virtual_gpu.ptx.tree import Function, Instruction, Statement

_TEXT = """
.version 8.0
.target sm_90
.address_size 64
.shared .b32 box[4];
.global .b32 table[4];
.visible .entry k(.param .u64 p, .param .u64 q, .param .u32 n){directives}
{{
  .reg .pred %p<9>;
  .reg .b32 %r<9>;
  .reg .b64 %rd<9>;
  .reg .f32 %f<9>;
{body}
}}
"""
PARAMETERS = {"p": 0, "q": 8, "n": 16}
"""The kernel's parameters → their first byte in the parameter space."""


def kernel(body: str, directives: str = "") -> Function:
    """The kernel `k(u64 p, u64 q, u32 n)` with a body."""
    return function(_TEXT.format(body=body, directives=directives))


def function(text: str, name: str = "k") -> Function:
    """A function of a module after inlining."""
    return next(item for item in inlined(parse(text)).functions if item.name == name)


def graph(body: str) -> ControlFlowGraph:
    return ControlFlowGraph(kernel(body))


def statement(text: str) -> Statement:
    """The first statement of a body."""
    body = kernel(text).body
    assert body
    return body[0]


def instruction(text: str) -> Instruction:
    first = statement(text)
    assert isinstance(first, Instruction)
    return first

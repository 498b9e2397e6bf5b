"""Mutants of CUDA C++: every operator at every place of the device code that kernels reach."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gpuregress.lab.mutation import mutants
from gpuregress.lab.mutation.cuda.operators import TABLE
from gpuregress.lab.mutation.cuda.sites import Code
from gpuregress.lab.mutation.device_code import ReachedCode
from gpuregress.lab.mutation.mutants import Mutant
from gpuregress.toolchain.host_code import grammar

if TYPE_CHECKING:
    from tree_sitter import Node


def find(reached: Sequence[ReachedCode]) -> list[Mutant]:
    """List the mutants of some device code, in the order of files and lines; each once, however often it is viewed."""
    found = {(one.file, one.edits): one for code in reached for one in _of_view(code)}
    order = list(dict.fromkeys(str(code.file) for code in reached))
    return sorted(found.values(), key=lambda one: (order.index(one.file), one.edits[0].start, one.operator))


def _of_view(reached: ReachedCode) -> Iterator[Mutant]:
    code = Code(reached.text, reached.end)
    assertions = [one.byte_range for one in grammar.everywhere(reached.tree, "static_assert_declaration")]
    for node in grammar.everywhere(reached.tree, *_KINDS):
        if not _is_within(node, reached.bodies) or _is_within(node, assertions):
            continue
        for name, operator in TABLE.items():
            for change in operator(code, node):
                span = change.node.start_byte, change.node.end_byte
                probes = tuple(code.probes(change.node))
                yield mutants.of_edits(name, str(reached.file), reached.text, change.edits, probes, span)


def _is_within(node: Node, spans: Sequence[tuple[int, int]]) -> bool:
    return any(start <= node.start_byte and node.end_byte <= end for start, end in spans)


_KINDS = (
    "binary_expression",
    "assignment_expression",
    "expression_statement",
    "subscript_expression",
    "field_expression",
    "number_literal",
    "call_expression",
    "if_statement",
    "conditional_expression",
    "declaration",
    "primitive_type",
    "sized_type_specifier",
    "type_identifier",
)
"""The kinds of nodes that operators look at."""

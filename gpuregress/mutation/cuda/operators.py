"""Operators on CUDA C++: a node of the syntax tree → the changes that it admits."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from gpuregress.mutation.cuda.atomics import plain
from gpuregress.mutation.cuda.sites import Change, Code

if TYPE_CHECKING:
    from tree_sitter import Node

Operator = Callable[[Code, "Node"], Iterator[Change]]

_BOUNDARY = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
_SIGN = {"+": "-", "-": "+", "+=": "-=", "-=": "+="}
_BARRIERS = re.compile(
    r"__syncthreads|__syncwarp|__threadfence(?:_block|_system)?|__pipeline_(?:commit|wait_prior)"
    r"|__cp_async\w*|(?:\w+(?:\.|->|::))*(?:sync|barrier_wait|barrier_arrive|arrive_and_wait|wait|wait_prior)"
    r"|(?:\w+::)+fence\w*"
    r"|\w*(?:barrier_(?:wait|arrive)|mbarrier\w*wait\w*|fence\w*|cp_async_wait\w*|cluster_(?:wait|arrive|sync))\w*"
)
_ASSEMBLY = re.compile(
    r"\s*(?:bar|barrier|membar|fence|cp\.async\.wait|cp\.async\.bulk\.wait|wgmma\.fence|wgmma\.wait)\b|\s*cp\.async\.\w*\.?wait"
)
_MASKED = re.compile(r"__(?:shfl(?:_up|_down|_xor)?|ballot|any|all|match_any|match_all|reduce_\w+)_sync|__syncwarp")
_SWAPPED = {"threadIdx": "blockIdx", "blockIdx": "threadIdx"}
_LEAVES = ("return_statement", "break_statement", "continue_statement")
_UNSIGNED = re.compile(r"\bunsigned(?:\s+(?:int|long|short))*\b|\buint(?:8|16|32|64)_t\b|\bsize_t\b")
_SIGNED = {
    "uint8_t": "int8_t",
    "uint16_t": "int16_t",
    "uint32_t": "int32_t",
    "uint64_t": "int64_t",
    "size_t": "long long",
}
_INTEGER = re.compile(r"(0[xX][0-9a-fA-F']+|0[bB][01']+|[0-9][0-9']*)([uUlLzZ]*)")


def boundary(code: Code, node: Node) -> Iterator[Change]:
    """`i < n` becomes `i <= n`."""
    yield from _with_operator(code, node, "binary_expression", _BOUNDARY)


def plus_minus(code: Code, node: Node) -> Iterator[Change]:
    """`a + b` becomes `a - b`; the two of a number or of a pointer, too."""
    yield from _with_operator(code, node, "binary_expression", {name: _SIGN[name] for name in "+-"})
    yield from _with_operator(code, node, "assignment_expression", {name: _SIGN[name] for name in ("+=", "-=")})


def _with_operator(code: Code, node: Node, kind: str, others: Mapping[str, str]) -> Iterator[Change]:
    sign = node.child_by_field_name("operator") if node.type == kind else None
    if sign is not None and code.of(sign) in others:
        yield Change((code.replaced(sign, others[code.of(sign)]),), node)


def barrier_removed(code: Code, node: Node) -> Iterator[Change]:
    """`__syncthreads();` goes; its value must not be used."""
    call = node.named_children[0] if node.type == "expression_statement" and node.named_children else None
    called = call.child_by_field_name("function") if call is not None and call.type == "call_expression" else None
    name = "".join(code.of(called).split()).partition("<")[0] if called is not None else ""
    is_assembly = call is not None and call.type == "gnu_asm_expression" and _waits(code.of(call))
    if is_assembly or _BARRIERS.fullmatch(name):
        yield Change((code.replaced(node, ";"),), node)


def _waits(assembly: str) -> bool:
    """Tell whether inline assembly is one barrier, fence or wait without a result."""
    text = re.search(r'"([^"]*)"', assembly)
    return text is not None and _ASSEMBLY.match(text[1]) is not None and text[1].count(";") <= 1


def index_off_by_one(code: Code, node: Node) -> Iterator[Change]:
    """`a[i]` becomes `a[i + 1]`."""
    for index in _indices(node):
        yield Change((code.replaced(index, f"{_bracketed(code, index)} + 1"),), index)


def _indices(node: Node) -> list[Node]:
    held = node.child_by_field_name("indices") if node.type == "subscript_expression" else None
    return held.named_children if held is not None else []


def _bracketed(code: Code, node: Node) -> str:
    is_simple = node.type in ("identifier", "number_literal", "field_expression", "parenthesized_expression")
    return code.of(node) if is_simple else f"({code.of(node)})"


def thread_block_swapped(code: Code, node: Node) -> Iterator[Change]:
    """`threadIdx.x` becomes `blockIdx.x`, and the other way round."""
    held = node.child_by_field_name("argument") if node.type == "field_expression" else None
    if held is not None and code.of(held) in _SWAPPED:
        yield Change((code.replaced(held, _SWAPPED[code.of(held)]),), node)


def constant(code: Code, node: Node) -> Iterator[Change]:
    """`2` becomes `3`, `0.5` becomes `1.5`; indices, extents of arrays and masks have operators of their own."""
    parent = node.parent
    if node.type != "number_literal" or parent is None:
        return
    if parent.type == "subscript_argument_list" or _is_extent(node) or _is_mask(code, node):
        return
    changed = other_number(code.of(node))
    if changed:
        yield Change((code.replaced(node, changed),), node)


def _is_extent(node: Node) -> bool:
    """Tell whether a node is a part of the extent of an array's declaration."""
    one: Node | None = node
    while one is not None and not one.type.endswith(("declaration", "statement")):
        if one.type == "array_declarator":
            return True
        one = one.parent
    return False


def other_number(text: str) -> str:
    """Return a literal plus one, of the same type; "" for one that is not understood."""
    if text.startswith("-") and _INTEGER.fullmatch(text[1:]):
        return f"({text} + 1)"
    match = _INTEGER.fullmatch(text)
    if match is not None:
        digits = match[1].replace("'", "")
        is_octal = len(digits) > 1 and digits[0] == "0" and digits.isdigit()
        number = int(digits, 8 if is_octal else 0) + 1
        return f"{number:#x}{match[2]}" if digits[:2] in ("0x", "0X") else f"{number}{match[2]}"
    digits = text.rstrip("fFlL")
    try:
        return f"{float(digits.replace(chr(39), '')) + 1.0!r}{text[len(digits) :]}"
    except ValueError:
        return ""


def atomic_plain(code: Code, node: Node) -> Iterator[Change]:
    """`atomicAdd(p, v)` becomes a load, an addition and a store."""
    called = node.child_by_field_name("function") if node.type == "call_expression" else None
    given = node.child_by_field_name("arguments") if called is not None else None
    if called is not None and given is not None:
        text = plain(code.of(called), [code.of(one) for one in given.named_children])
        if text:
            yield Change((code.replaced(node, text),), node)


def guard_dropped(code: Code, node: Node) -> Iterator[Change]:
    """`if (i < n)` becomes `if (true)`; one that leaves is never taken; of `c ? a : b`, `a` stays."""
    if node.type == "if_statement":
        clause, taken = node.child_by_field_name("condition"), node.child_by_field_name("consequence")
        is_constexpr = clause is not None and "constexpr" in code.text[node.start_byte : clause.start_byte]
        value = clause.child_by_field_name("value") if clause is not None else None
        if value is not None and taken is not None and not is_constexpr and _compares(value):
            yield Change((code.replaced(value, "false" if _leaves(taken) else "true"),), value)
    elif node.type == "conditional_expression":
        condition = node.child_by_field_name("condition")
        if condition is not None and _compares(condition):
            yield Change((code.replaced(condition, "true"),), condition)


def _compares(node: Node) -> bool:
    """Tell whether a condition may be a guard; a variable's declaration is none."""
    return node.type != "declaration"


def _leaves(node: Node) -> bool:
    inner = node.named_children if node.type == "compound_statement" else [node]
    return bool(inner) and inner[-1].type in _LEAVES


def shared_array_small(code: Code, node: Node) -> Iterator[Change]:
    """`__shared__ float a[N]` has one element, or one row, less."""
    if node.type != "declaration" or "__shared__" not in code.text[_line_start(code, node) : node.end_byte]:
        return
    for declarator in node.children_by_field_name("declarator"):
        one = declarator
        while one.type == "array_declarator":
            inner = one.child_by_field_name("declarator")
            if inner is None or inner.type != "array_declarator":
                break
            one = inner
        size = one.child_by_field_name("size") if one.type == "array_declarator" else None
        if size is not None:
            yield Change((code.replaced(size, f"{_bracketed(code, size)} - 1"),), node)


def _line_start(code: Code, node: Node) -> int:
    """The offset of a declaration with the annotations before it, which the grammar does not see."""
    return max(code.text.rfind(end, 0, node.start_byte) for end in ";{}") + 1


def double_float(code: Code, node: Node) -> Iterator[Change]:
    """`double` becomes `float` within a body."""
    if node.type == "primitive_type" and code.of(node) == "double":
        yield Change((code.replaced(node, "float"),), node)


def unsigned_signed(code: Code, node: Node) -> Iterator[Change]:
    """`unsigned` becomes `int` within a body."""
    if node.type not in ("sized_type_specifier", "type_identifier", "primitive_type"):
        return
    if node.parent is not None and node.parent.type == "sized_type_specifier":
        return
    text = " ".join(code.of(node).split())
    if text in _SIGNED:
        yield Change((code.replaced(node, _SIGNED[text]),), node)
    elif node.type == "sized_type_specifier" and _UNSIGNED.match(text):
        rest = text.removeprefix("unsigned").strip() or "int"
        yield Change((code.replaced(node, f"signed {rest}" if rest == "char" else rest),), node)


def transposed(code: Code, node: Node) -> Iterator[Change]:
    """`a[y * w + x]` becomes `a[x * w + y]`, `a[i][j]` becomes `a[j][i]`."""
    for index in _indices(node):
        parts = _row_and_column(code, index)
        if parts is not None:
            row, column = parts
            edits = (code.replaced(row, _bracketed(code, column)), code.replaced(column, _bracketed(code, row)))
            yield Change(edits, index)
    held = node.child_by_field_name("argument") if node.type == "subscript_expression" else None
    outer, inner = (_indices(one) if one is not None else [] for one in (node, held))
    if len(outer) == 1 and len(inner) == 1 and code.of(outer[0]) != code.of(inner[0]):
        edits = (code.replaced(inner[0], code.of(outer[0])), code.replaced(outer[0], code.of(inner[0])))
        yield Change(edits, node)


def _row_and_column(code: Code, index: Node) -> tuple[Node, Node] | None:
    """The `y` and `x` of `y * w + x`, or of `x + y * w`."""
    sides = [index.child_by_field_name(name) for name in ("left", "right")]
    if index.type != "binary_expression" or sides[0] is None or sides[1] is None:
        return None
    sign = index.child_by_field_name("operator")
    product, column = (sides[0], sides[1]) if _is_product(code, sides[0]) else (sides[1], sides[0])
    if sign is None or code.of(sign) != "+" or not _is_product(code, product) or _is_product(code, column):
        return None
    row = product.child_by_field_name("left")
    return (row, column) if row is not None and code.of(row) != code.of(column) else None


def _is_product(code: Code, node: Node) -> bool:
    sign = node.child_by_field_name("operator")
    return node.type == "binary_expression" and sign is not None and code.of(sign) == "*"


def mask_narrowed(code: Code, node: Node) -> Iterator[Change]:
    """The mask of `__shfl_sync` loses the upper half of the warp."""
    given = node.child_by_field_name("arguments") if node.type == "call_expression" else None
    first = given.named_children[0] if given is not None and given.named_children else None
    if first is not None and _is_mask(code, first):
        yield Change((code.replaced(first, f"{_bracketed(code, first)} & 0xffffu"),), node)


def _is_mask(code: Code, node: Node) -> bool:
    """Tell whether a node is the first argument of a function of a warp."""
    given = node.parent
    call = given.parent if given is not None and given.type == "argument_list" else None
    called = call.child_by_field_name("function") if call is not None else None
    if called is None or given is None or not _MASKED.fullmatch(code.of(called).partition("<")[0]):
        return False
    return given.named_children[0].start_byte == node.start_byte


TABLE: Mapping[str, Operator] = {
    "boundary": boundary,
    "barrier-removed": barrier_removed,
    "index-off-by-one": index_off_by_one,
    "thread-block-swapped": thread_block_swapped,
    "plus-minus": plus_minus,
    "constant": constant,
    "atomic-plain": atomic_plain,
    "guard-dropped": guard_dropped,
    "shared-array-small": shared_array_small,
    "double-float": double_float,
    "transposed": transposed,
    "mask-narrowed": mask_narrowed,
    "unsigned-signed": unsigned_signed,
}

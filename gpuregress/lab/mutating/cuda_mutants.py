"""Mutants of CUDA C++: every operator at every place of the device code that kernels reach.

The operators work on the syntax tree of tree-sitter's grammar.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from gpuregress.gpu.records import Record
from gpuregress.lab.mutating import mutants
from gpuregress.lab.mutating.device_code import ReachedCode
from gpuregress.lab.mutating.mutants import Edit, Mutant, by_name
from gpuregress.toolchain.host_code import grammar

if TYPE_CHECKING:
    from tree_sitter import Node


_TRAP = "__trap()"
_ANNOTATIONS = re.compile(r"(?:(?:\b(?:__\w+__|alignas|static|extern|volatile|const|constexpr)(?:\([^()]*\))?)\s*)+$")
_BLOCKS = (
    "compound_statement",
    "if_statement",
    "else_clause",
    "for_statement",
    "while_statement",
    "do_statement",
)
_DECLARATIONS = ("declaration", "type_definition", "alias_declaration", "using_declaration")


class Change(Record):
    """A change that an operator proposes: its edits, and the expression or statement that it is a part of."""

    edits: tuple[Edit, ...]
    node: Node


class Code(Record):
    """A text with its syntax tree, of the same offsets.

    Attributes:
        text: of the file.
        end: where the code ends; the tree may have a semicolon there that the text has not.
    """

    text: str
    end: int

    def of(self, node: Node) -> str:
        """Return the text of a node as the file has it, with the annotations that the grammar did not see."""
        return self.text[node.start_byte : min(node.end_byte, self.end)]

    def replaced(self, node: Node, text: str) -> Edit:
        """Return the edit that puts a text in a node's place."""
        return Edit(node.start_byte, min(node.end_byte, self.end), text)

    def start_of(self, node: Node) -> int:
        """Return the offset of a declaration with the annotations before it, which the grammar does not see."""
        first = max(self.text.rfind(end, 0, node.start_byte) for end in ";{}") + 1
        before = _ANNOTATIONS.search(self.text[first : node.start_byte])
        if before is None:
            return node.start_byte
        return first + before.start()

    def probes(self, node: Node) -> Iterator[tuple[Edit, ...]]:
        """Yield traps at a place: before the expression's value is computed, then before its statement."""
        if node.type.endswith("_expression") or node.type in ("identifier", "number_literal"):
            yield (Edit(node.start_byte, node.end_byte, f"({_TRAP}, {self.of(node)})"),)
        statement = _statement(node)
        if statement is None:
            return
        if statement.type in _DECLARATIONS:
            start = self.start_of(statement)
            yield (Edit(start, start, f"{_TRAP}; "),)
        else:
            text = self.of(statement)
            if not text.endswith((";", "}")):
                text += ";"
            yield (self.replaced(statement, f"{{ {_TRAP}; {text} }}"),)


def _statement(node: Node) -> Node | None:
    """Return the statement that a node is in, where another one can stand before it."""
    current: Node | None = node
    while current is not None and current.parent is not None:
        is_declaration = current.type in _DECLARATIONS
        is_head = is_declaration and current.parent.type == "for_statement"
        if (current.type.endswith("_statement") or is_declaration) and not is_head and current.parent.type in _BLOCKS:
            return current
        current = current.parent
    return None


def _part(node: Node | None, kind: str, name: str) -> Node | None:
    """Return a part of a node of some kind; None for any other node."""
    if node is None or node.type != kind:
        return None
    return node.child_by_field_name(name)


_ATOMIC = re.compile(r"(?:::)?atomic(Add|Sub|Min|Max|And|Or|Xor|Exch|CAS|Inc|Dec)(?:_block|_system)?")
_VALUES = {
    "Add": "{was} + {first}",
    "Sub": "{was} - {first}",
    "Min": "{was} < {first} ? {was} : {first}",
    "Max": "{was} > {first} ? {was} : {first}",
    "And": "{was} & {first}",
    "Or": "{was} | {first}",
    "Xor": "{was} ^ {first}",
    "Exch": "{first}",
    "CAS": "{was} == {first} ? {second} : {was}",
    "Inc": "{was} >= {first} ? 0 : {was} + 1",
    "Dec": "{was} == 0 || {was} > {first} ? {first} : {was} - 1",
}
_NAMES = {"at": "mutant_at", "was": "mutant_was", "first": "mutant_first", "second": "mutant_second"}
"""Names that no kernel has: the operands are computed beside them."""


def plain(function: str, arguments: Sequence[str]) -> str:
    """Return an expression with the value and the effect of an atomic function on one thread; "" for any other call.

    The operands are computed once, as the function's parameters are, and before the load. That of an addition is
    volatile: a product and the sum must not become one operation with one rounding.

    Args:
        function: its name.
        arguments: as they are written.
    """
    match = _ATOMIC.fullmatch(function)
    if match is None or len(arguments) != (3 if match[1] == "CAS" else 2):
        return ""
    at = _NAMES["at"]
    was = _NAMES["was"]
    qualifier = "volatile " if match[1] == "Add" else ""
    steps = [f"auto {at} = {arguments[0]};", f"auto {was} = *{at};"]
    for name, operand in zip((_NAMES["first"], _NAMES["second"]), arguments[1:], strict=False):
        steps.append(f"{qualifier}decltype({was}) {name} = {operand};")
    steps.append(f"{was} = *{at};")
    return f"[&] {{ {' '.join(steps)} *{at} = {_VALUES[match[1]].format(**_NAMES)}; return {was}; }}()"


Operator = Callable[[Code, "Node"], Iterator[Change]]

_BOUNDARY = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
_SIGN = {"+": "-", "-": "+"}
_ASSIGNED_SIGN = {"+=": "-=", "-=": "+="}
_BARRIERS = re.compile(
    r"__syncthreads(?:_(?:and|or|count))?|__barrier_sync(?:_count)?|__syncwarp|__threadfence(?:_block|_system)?"
    r"|__pipeline_(?:commit|wait_prior)"
    r"|(?:\w+(?:\.|->|::))*(?:sync|barrier_wait|barrier_arrive|arrive_and_wait|wait|wait_prior)"
    r"|(?:\w+(?:\.|->))+(?:consumer_wait|consumer_release|producer_acquire|producer_commit)"
    r"|(?:\w+::)+fence\w*"
    r"|(?:\w+_)?(?:barrier_(?:wait|arrive)|mbarrier_(?:\w+_)?wait|fence|cp_async_wait|cluster_(?:wait|arrive|sync))"
    r"(?:_\w+)?"
)
_ASSEMBLY = re.compile(
    r"\s*(?:bar|barrier|membar|fence|cp\.async\.wait|cp\.async\.bulk\.wait|wgmma\.fence|wgmma\.wait)\b|\s*cp\.async\.\w*\.?wait"
)
_MASKED = re.compile(r"__(?:shfl(?:_up|_down|_xor)?|ballot|any|all|match_any|match_all|reduce_\w+)_sync|__syncwarp")
_SWAPPED = {"threadIdx": "blockIdx", "blockIdx": "threadIdx"}
_LEAVES = ("return_statement", "break_statement", "continue_statement")
_SIGNED = {
    "uint8_t": "int8_t",
    "uint16_t": "int16_t",
    "uint32_t": "int32_t",
    "uint64_t": "int64_t",
    "size_t": "long long",
    "uint": "int",
    "ushort": "short",
    "ulong": "long",
}
_CONDITIONS = ("if_statement", "conditional_expression")
_CHAINS = {"&&": "true", "||": "false"}
"""Operator between conditions → the condition that has no effect beside it."""
_LARGEST = (2**31 - 1, 2**32 - 1, 2**63 - 1, 2**64 - 1)
"""Integers with which one more is of another type, or is zero."""
_SINGLE_WHOLE, _DOUBLE_WHOLE = 2.0**24, 2.0**53
_INTEGER = re.compile(r"(0[xX][0-9a-fA-F']+|0[bB][01']+|[0-9][0-9']*)([uUlLzZ]*)")


def boundary(code: Code, node: Node) -> Iterator[Change]:
    """`i < n` becomes `i <= n`."""
    yield from _with_operator(code, node, "binary_expression", _BOUNDARY)


def plus_minus(code: Code, node: Node) -> Iterator[Change]:
    """`a + b` becomes `a - b`; the two of a number or of a pointer, too."""
    yield from _with_operator(code, node, "binary_expression", _SIGN)
    yield from _with_operator(code, node, "assignment_expression", _ASSIGNED_SIGN)


def _with_operator(code: Code, node: Node, kind: str, others: Mapping[str, str]) -> Iterator[Change]:
    sign = _part(node, kind, "operator")
    if sign is not None and code.of(sign) in others:
        yield Change((code.replaced(sign, others[code.of(sign)]),), node)


def barrier_removed(code: Code, node: Node) -> Iterator[Change]:
    """`__syncthreads();` goes; its value must not be used."""
    if node.type != "expression_statement" or not node.named_children:
        return
    call = node.named_children[0]
    called = _part(call, "call_expression", "function")
    assembly = _part(call, "gnu_asm_expression", "assembly_code")
    is_barrier = called is not None and _BARRIERS.fullmatch("".join(code.of(called).split()).partition("<")[0])
    if is_barrier or (assembly is not None and _waits(code.of(assembly))):
        yield Change((code.replaced(call, ""),), node)


def _waits(assembly: str) -> bool:
    """Tell whether the strings of inline assembly are one barrier, fence or wait."""
    text = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', assembly))
    return _ASSEMBLY.match(text) is not None and text.count(";") <= 1


def index_off_by_one(code: Code, node: Node) -> Iterator[Change]:
    """`a[i]` becomes `a[i + 1]`."""
    for index in _indices(node):
        yield Change((code.replaced(index, f"{_bracketed(code, index)} + 1"),), index)


def _indices(node: Node | None) -> list[Node]:
    indices = _part(node, "subscript_expression", "indices")
    if indices is None:
        return []
    return indices.named_children


def _bracketed(code: Code, node: Node) -> str:
    if node.type in ("identifier", "number_literal", "field_expression", "parenthesized_expression"):
        return code.of(node)
    return f"({code.of(node)})"


def thread_block_swapped(code: Code, node: Node) -> Iterator[Change]:
    """`threadIdx.x` becomes `blockIdx.x`, and the other way round."""
    index = _part(node, "field_expression", "argument")
    if index is not None and code.of(index) in _SWAPPED:
        yield Change((code.replaced(index, _SWAPPED[code.of(index)]),), node)


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
    current: Node | None = node
    while current is not None and not current.type.endswith(("declaration", "statement")):
        if current.type == "array_declarator":
            return True
        current = current.parent
    return False


def other_number(text: str) -> str:
    """Return a literal plus one, of the same type; "" for one that is not understood."""
    unsigned = text
    if text[:1] in ("-", "+"):
        unsigned = text[1:].lstrip()
    match = _INTEGER.fullmatch(unsigned)
    if match is None:
        return _other_float(text)
    if text.startswith("-"):
        return f"({text} + 1)"
    digits = match[1].replace("'", "")
    is_octal = len(digits) > 1 and digits[0] == "0" and digits.isdigit()
    number = int(digits, 8 if is_octal else 0)
    number += -1 if number in _LARGEST else 1
    if digits[:2] in ("0x", "0X"):
        return f"{number:#x}{match[2]}"
    return f"{number}{match[2]}"


def _other_float(text: str) -> str:
    """Return a float plus one; one for which that is nothing is halved."""
    digits = text.rstrip("fFlL")
    try:
        value = float(digits.replace("'", ""))
    except ValueError:
        return ""
    if not math.isfinite(value):
        return ""
    suffix = text[len(digits) :]
    whole = _SINGLE_WHOLE if suffix else _DOUBLE_WHOLE
    other = value + 1.0 if abs(value) < whole else value / 2
    return f"{other!r}{suffix}"


def atomic_plain(code: Code, node: Node) -> Iterator[Change]:
    """`atomicAdd(p, v)` becomes a load, an addition and a store."""
    called = _part(node, "call_expression", "function")
    given = _part(node, "call_expression", "arguments")
    if called is not None and given is not None:
        text = plain(code.of(called), [code.of(argument) for argument in given.named_children])
        if text:
            yield Change((code.replaced(node, text),), node)


def guard_dropped(code: Code, node: Node) -> Iterator[Change]:
    """`if (i < n)` becomes `if (true)`; one that leaves is never taken; of `c ? a : b`, `a` stays.

    Of `if (i < n && j < m)`, each part alone is dropped, too.
    """
    if node.type == "if_statement":
        clause = node.child_by_field_name("condition")
        taken = node.child_by_field_name("consequence")
        if clause is None or taken is None or "constexpr" in code.text[node.start_byte : clause.start_byte]:
            return
        value = clause.child_by_field_name("value")
        if value is not None and _compares(value):
            yield Change((code.replaced(value, "false" if _leaves(taken) else "true"),), value)
    elif node.type == "conditional_expression":
        condition = node.child_by_field_name("condition")
        if condition is not None and _compares(condition):
            yield Change((code.replaced(condition, "true"),), condition)
    elif node.type == "binary_expression" and _is_condition(node):
        sign = _operator(code, node)
        if sign not in _CHAINS:
            return
        for name in ("left", "right"):
            part = node.child_by_field_name(name)
            if part is not None and _operator(code, part) != sign:
                yield Change((code.replaced(part, _CHAINS[sign]),), node)


def _operator(code: Code, node: Node) -> str:
    """Return the operator of a binary expression; "" for any other node."""
    sign = _part(node, "binary_expression", "operator")
    if sign is None:
        return ""
    return code.of(sign)


def _is_condition(node: Node) -> bool:
    """Tell whether a node is a condition, or a part of one that others are connected with."""
    current = node
    above = node.parent
    while above is not None and above.type in ("binary_expression", "parenthesized_expression", "condition_clause"):
        current = above
        above = above.parent
    if above is None or above.type not in _CONDITIONS:
        return False
    condition = above.child_by_field_name("condition")
    return condition is not None and condition.start_byte == current.start_byte


def _compares(node: Node) -> bool:
    """Tell whether a condition may be a guard; a variable's declaration is none."""
    return node.type != "declaration"


def _leaves(node: Node) -> bool:
    inner = node.named_children if node.type == "compound_statement" else [node]
    return bool(inner) and inner[-1].type in _LEAVES


def shared_array_small(code: Code, node: Node) -> Iterator[Change]:
    """`__shared__ float a[N]` has one element, or one row, less."""
    if node.type != "declaration" or "__shared__" not in code.text[code.start_of(node) : node.end_byte]:
        return
    for declarator in node.children_by_field_name("declarator"):
        current = declarator
        while current.type == "array_declarator":
            inner = current.child_by_field_name("declarator")
            if inner is None or inner.type != "array_declarator":
                break
            current = inner
        size = _part(current, "array_declarator", "size")
        if size is not None:
            yield Change((code.replaced(size, f"{_bracketed(code, size)} - 1"),), node)


def double_float(code: Code, node: Node) -> Iterator[Change]:
    """`double` becomes `float` within a body."""
    is_long = node.parent is not None and node.parent.type == "sized_type_specifier"
    if node.type == "primitive_type" and code.of(node) == "double" and not is_long:
        yield Change((code.replaced(node, "float"),), node)


def unsigned_signed(code: Code, node: Node) -> Iterator[Change]:
    """`unsigned` becomes `int` within a body, or in the definition of a type's name."""
    if node.type not in ("sized_type_specifier", "type_identifier", "primitive_type"):
        return
    if node.parent is not None and node.parent.type == "sized_type_specifier":
        return
    text = " ".join(code.of(node).split())
    if text in _SIGNED:
        yield Change((code.replaced(node, _SIGNED[text]),), node)
    elif node.type == "sized_type_specifier" and "unsigned" in text.split():
        signed = " ".join(word for word in text.split() if word != "unsigned") or "int"
        if signed == "char":  # whether a plain char has a sign is the compiler's choice
            signed = "signed char"
        yield Change((code.replaced(node, signed),), node)


def transposed(code: Code, node: Node) -> Iterator[Change]:
    """`a[y * w + x]` becomes `a[x * w + y]`, `a[i][j]` becomes `a[j][i]`."""
    for index in _indices(node):
        parts = _row_and_column(code, index)
        if parts is not None:
            row, column = parts
            edits = (code.replaced(row, _bracketed(code, column)), code.replaced(column, _bracketed(code, row)))
            yield Change(edits, index)
    outer = _indices(node)
    inner = _indices(_part(node, "subscript_expression", "argument"))
    if len(outer) == 1 and len(inner) == 1 and code.of(outer[0]) != code.of(inner[0]):
        edits = (code.replaced(inner[0], code.of(outer[0])), code.replaced(outer[0], code.of(inner[0])))
        yield Change(edits, node)


def _row_and_column(code: Code, index: Node) -> tuple[Node, Node] | None:
    """Return the `y` and `x` of `y * w + x`, or of `x + y * w`."""
    product = _part(index, "binary_expression", "left")
    column = _part(index, "binary_expression", "right")
    if product is None or column is None or _operator(code, index) != "+":
        return None
    if _operator(code, product) != "*":
        product, column = column, product
    if _operator(code, product) != "*" or _operator(code, column) == "*":
        return None
    row = product.child_by_field_name("left")
    if row is not None and row.type == "number_literal":
        row = product.child_by_field_name("right")
    if row is None or code.of(row) == code.of(column):
        return None
    return row, column


def mask_narrowed(code: Code, node: Node) -> Iterator[Change]:
    """The mask of `__shfl_sync` loses the upper half of the warp."""
    given = _part(node, "call_expression", "arguments")
    if given is None or not given.named_children:
        return
    first = given.named_children[0]
    if _is_mask(code, first):
        yield Change((code.replaced(first, f"{_bracketed(code, first)} & 0xffffu"),), node)


def _is_mask(code: Code, node: Node) -> bool:
    """Tell whether a node is the first argument of a function of a warp."""
    given = node.parent
    if given is None or given.type != "argument_list" or given.parent is None:
        return False
    called = given.parent.child_by_field_name("function")
    if called is None or not _MASKED.fullmatch(code.of(called).partition("<")[0]):
        return False
    return given.named_children[0].start_byte == node.start_byte


TABLE: Mapping[str, Operator] = by_name(
    boundary,
    barrier_removed,
    index_off_by_one,
    thread_block_swapped,
    plus_minus,
    constant,
    atomic_plain,
    guard_dropped,
    shared_array_small,
    double_float,
    transposed,
    mask_narrowed,
    unsigned_signed,
)


def find_mutants(reached: Sequence[ReachedCode]) -> list[Mutant]:
    """List the mutants of some device code, in the order of files and lines; each once, however often it is viewed."""
    found: dict[tuple[str, tuple[Edit, ...]], Mutant] = {}
    for code in reached:
        for mutant in _of_view(code):
            found[mutant.file, mutant.edits] = mutant
    order = list(dict.fromkeys(str(code.file) for code in reached))
    return sorted(found.values(), key=lambda mutant: (order.index(mutant.file), mutant.edits[0].start, mutant.operator))


def _of_view(reached: ReachedCode) -> Iterator[Mutant]:
    code = Code(reached.text, reached.end)
    assertions = [assertion.byte_range for assertion in grammar.everywhere(reached.tree, "static_assert_declaration")]
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

"""Sites of a syntax tree: nodes with their text, and probes that trap where they are reached."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpuregress.gpu.records import Record
from gpuregress.lab.mutation.mutants import Edit

if TYPE_CHECKING:
    from tree_sitter import Node

_TRAP = "__trap()"
_ANNOTATIONS = re.compile(r"(?:(?:\b(?:__\w+__|alignas|static|extern|volatile|const|constexpr)(?:\([^()]*\))?)\s*)+$")
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
        return node.start_byte if before is None else first + before.start()

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
            end = "" if text.endswith((";", "}")) else ";"
            yield (self.replaced(statement, f"{{ {_TRAP}; {text}{end} }}"),)


def _statement(node: Node) -> Node | None:
    """The statement that a node is in, where another one can stand before it."""
    one: Node | None = node
    while one is not None and one.parent is not None:
        is_statement = one.type.endswith("_statement") or one.type in _DECLARATIONS
        if is_statement and one.parent.type in (
            "compound_statement",
            "if_statement",
            "else_clause",
            "for_statement",
            "while_statement",
            "do_statement",
        ):
            is_head = one.parent.type == "for_statement" and one.type in _DECLARATIONS
            if not is_head:
                return one
        one = one.parent
    return None

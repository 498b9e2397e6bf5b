"""Syntax trees of CUDA C++ by tree-sitter's grammar."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

import tree_sitter
import tree_sitter_cuda

if TYPE_CHECKING:
    from tree_sitter import Node, Parser


def root(view: str) -> Node:
    """Parse a text of ASCII, so that offsets of bytes and characters are the same; it never fails."""
    return _parser().parse(view.encode("ascii")).root_node


def text(node: Node) -> str:
    """Return a node's text."""
    return (node.text or b"").decode("ascii")


def descendants(node: Node, *kinds: str) -> Iterator[Node]:
    """Find the nodes of some kinds below a node, in the text's order; none inside one that is found."""
    pending = [node]
    while pending:
        one = pending.pop()
        if one.type in kinds and one is not node:
            yield one
        else:
            pending.extend(reversed(one.named_children))


def everywhere(node: Node, *kinds: str) -> Iterator[Node]:
    """Find the nodes of some kinds below a node, also those inside others, in the text's order."""
    pending = [node]
    while pending:
        one = pending.pop()
        if one.type in kinds:
            yield one
        pending.extend(reversed(one.named_children))


@lru_cache(maxsize=1)
def _parser() -> Parser:
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_cuda.language()))

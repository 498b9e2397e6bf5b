"""Device code of a source that its launched kernels reach: spans of functions and constants, by names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gpuregress.gpu.graphs import reachable_from
from gpuregress.gpu.records import Record
from gpuregress.toolchain.host_code import declarations, grammar
from gpuregress.toolchain.host_code.preprocessing import WORD, CxxText, Macros, without_strings

if TYPE_CHECKING:
    from tree_sitter import Node

    from gpuregress.toolchain.host_code.declarations import Declared, View


_FUNCTION = "void f(){"
"""Stands before a macro's body; it is not longer than what does in the file."""


class ReachedCode(Record):
    """The reached declarations of one view of a file, or a macro that they use.

    Attributes:
        file: the file.
        text: of the file, with line ends as newlines alone.
        tree: the syntax tree of one branch of each conditional, or of the macro's body as a function's.
        bodies: spans of functions from their bodies on, of constants, of definitions of types' names.
        end: where the code of the tree ends.
    """

    file: Path
    text: str
    tree: Node
    bodies: tuple[tuple[int, int], ...]
    end: int


def reached(files: Mapping[Path, str], roots: Iterable[str]) -> tuple[ReachedCode, ...]:
    """Find the device code that kernels reach by names; a name too many costs a mutant that changes no program.

    Args:
        files: texts of the source and of the files that it includes.
        roots: C++ names of the launched kernels, or of functions under test.
    """
    texts = {file: CxxText(text) for file, text in files.items()}
    macros = Macros(text.macros for text in texts.values())
    parsed = [(file, view) for file, text in texts.items() for view in declarations.views(text, macros)]
    wanted = _closure([view for _, view in parsed], macros, [word for root in roots for word in WORD.findall(root)])
    found = [
        ReachedCode(file, text, view.tree, tuple(_bodies(_functions(view.declarations), wanted)), len(text))
        for file, view in parsed
        for text in [texts[file].text]
    ]
    return (*found, *(code for file, text in texts.items() for code in _macros(file, text, wanted)))


def _macros(file: Path, text: CxxText, wanted: frozenset[str]) -> Iterator[ReachedCode]:
    """The bodies of macros that are expressions or statements, parsed as those of functions."""
    bare = without_strings(text.text)
    for definition in text.definitions:
        if definition.name in wanted and definition.start >= len(_FUNCTION) and definition.start < definition.end:
            body = bare[definition.start : definition.end].replace("\\", " ")
            tree = grammar.root(f"{' ' * (definition.start - len(_FUNCTION))}{_FUNCTION}{body};}}")
            if not tree.has_error:
                yield ReachedCode(file, text.text, tree, ((definition.start, definition.end + 1),), definition.end)


def _functions(declared: Sequence[Declared]) -> Iterator[Declared]:
    """The declarations with the members of classes."""
    for declaration in declared:
        if declaration.kind == "class":
            yield from _functions(declaration.members)
        else:
            yield declaration


def _closure(views: Sequence[View], macros: Macros, roots: Sequence[str]) -> frozenset[str]:
    """The words that the roots lead to, through declarations and macros."""
    texts: defaultdict[str, list[str]] = defaultdict(list)
    for view in views:
        for declaration in view.declarations:
            for name in {
                *declaration.names,
                *(name for member in _functions(declaration.members) for name in member.names),
            }:
                texts[name].append(view.bare[declaration.start : declaration.end])

    def named(word: str) -> Iterator[str]:
        for text in (*texts.get(word, ()), *(macro.body for macro in macros.named.get(word, ()))):
            yield from WORD.findall(text)

    return frozenset(reachable_from(roots, named))


def _bodies(declared: Iterable[Declared], wanted: frozenset[str]) -> Iterator[tuple[int, int]]:
    for declaration in declared:
        if not wanted.isdisjoint(declaration.names) or "operator" in declaration.head:
            if declaration.kind == "function" and declaration.is_body:
                yield declaration.head_end, declaration.end
            elif declaration.kind == "alias" or (
                declaration.kind == "variable" and declaration.head_end == declaration.end and "=" in declaration.head
            ):
                yield declaration.start, declaration.end

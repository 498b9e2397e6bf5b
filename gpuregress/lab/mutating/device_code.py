"""Device code of a source that its launched kernels reach: spans of functions and constants, by names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

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
    return (*found, *(one for file, text in texts.items() for one in _macros(file, text, wanted)))


def _macros(file: Path, text: CxxText, wanted: frozenset[str]) -> Iterator[ReachedCode]:
    """The bodies of macros that are expressions or statements, parsed as those of functions."""
    bare = without_strings(text.text)
    for one in text.definitions:
        if one.name in wanted and one.start >= len(_FUNCTION) and one.start < one.end:
            body = bare[one.start : one.end].replace("\\", " ")
            tree = grammar.root(f"{' ' * (one.start - len(_FUNCTION))}{_FUNCTION}{body};}}")
            if not tree.has_error:
                yield ReachedCode(file, text.text, tree, ((one.start, one.end + 1),), one.end)


def _functions(declared: Sequence[Declared]) -> Iterator[Declared]:
    """The declarations with the members of classes."""
    for one in declared:
        if one.kind == "class":
            yield from _functions(one.members)
        else:
            yield one


def _closure(views: Sequence[View], macros: Macros, roots: Sequence[str]) -> frozenset[str]:
    """The words that the roots lead to, through declarations and macros."""
    texts: defaultdict[str, list[str]] = defaultdict(list)
    for view in views:
        for one in view.declarations:
            for name in {*one.names, *(name for member in _functions(one.members) for name in member.names)}:
                texts[name].append(view.bare[one.start : one.end])
    found: set[str] = set()
    pending = list(roots)
    while pending:
        word = pending.pop()
        if word in found:
            continue
        found.add(word)
        for text in texts.get(word, ()):
            pending += WORD.findall(text)
        for macro in macros.named.get(word, ()):
            pending += WORD.findall(macro.body)
    return frozenset(found)


def _bodies(declared: Iterable[Declared], wanted: frozenset[str]) -> Iterator[tuple[int, int]]:
    for one in declared:
        if not wanted.isdisjoint(one.names) or "operator" in one.head:
            if one.kind == "function" and one.is_body:
                yield one.head_end, one.end
            elif one.kind == "alias" or (one.kind == "variable" and one.head_end == one.end and "=" in one.head):
                yield one.start, one.end

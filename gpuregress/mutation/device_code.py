"""Device code of a source that its launched kernels reach: spans of functions and constants, by names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gpuregress.frozen import dataclass
from gpuregress.toolchain.host_code import declarations
from gpuregress.toolchain.host_code.preprocessing import WORD, CxxText, Macros

if TYPE_CHECKING:
    from gpuregress.toolchain.host_code.declarations import Declared, View


@dataclass(frozen=True, slots=True)
class ReachedCode:
    """The reached declarations of one view of a file.

    Attributes:
        file: the file.
        text: of the file, with line ends as newlines alone.
        view: one branch of each conditional, with its syntax tree.
        bodies: spans of functions from their bodies on, and of constants.
    """

    file: Path
    text: str
    view: View
    bodies: tuple[tuple[int, int], ...]


def reached(files: Mapping[Path, str], roots: Iterable[str]) -> tuple[ReachedCode, ...]:
    """Find the device code that kernels reach by names; a name too many costs a mutant that changes no program.

    Args:
        files: texts of the source and of the files that it includes.
        roots: C++ names of the launched kernels, or of functions under test.
    """
    texts = {file: CxxText(text) for file, text in files.items()}
    texts = {file: text for file, text in texts.items() if text.code.isascii()}
    macros = Macros(text.macros for text in texts.values())
    parsed = [(file, view) for file, text in texts.items() for view in declarations.views(text, macros)]
    wanted = _closure([view for _, view in parsed], macros, [word for root in roots for word in WORD.findall(root)])
    return tuple(
        ReachedCode(file, texts[file].text, view, tuple(_bodies(_functions(view.declarations), wanted)))
        for file, view in parsed
    )


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
            elif one.kind == "variable" and one.head_end == one.end and "=" in one.head:
                yield one.start, one.end

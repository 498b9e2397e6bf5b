"""Text of some kernels: a PTX module, or a C++ source, without the kernels that nobody asked for."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from gpuregress.gpu.records import Record

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_ENTRY = re.compile(r"^[ \t]*(?:\.(?:visible|weak|extern)\s+)?\.entry\s+([\w$]+)", re.MULTILINE)
_BRACE = re.compile(r"[{}]")
_CXX_TOKEN = re.compile(
    r"(?P<skip>//(?:\\\n|[^\n])*|/\*.*?(?:\*/|\Z)|\\\n|[ \t\r\f\v]+)"
    r'|(?P<text>(?:u8?|U|L)?R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\')'
    r"|(?P<line>\n)|(?P<word>[A-Za-z_]\w*|::|->|\d(?:[\w.]|'\w)*|[^\s])",
    re.DOTALL,
)
_NOT_BEFORE = frozenset(("extern", ".", "->", "::"))
"""What stands before a `template` that begins no explicit instantiation definition."""
_BLANKED = re.compile(r"[^\n\\]")


def of_kernels(ptx: str, names: Collection[str]) -> str:
    """Remove the comments and the other kernels of a module; functions and variables stay.

    Args:
        ptx: the module.
        names: the kernels that stay, mangled.
    """
    text = _COMMENT.sub("", ptx)
    pieces, at = [], 0
    for entry in _ENTRY.finditer(text):
        if entry.start() < at or entry.group(1) in names:
            continue
        pieces.append(text[at : entry.start()])
        at = _end(text, entry.end())
    return "".join((*pieces, text[at:]))


def _end(text: str, start: int) -> int:
    """The position after the body of a kernel."""
    depth = 0
    for brace in _BRACE.finditer(text, start):
        depth += 1 if brace.group() == "{" else -1
        if depth == 0:
            return brace.end()
    return len(text)


def without_instantiations(text: str) -> str:
    """Blank the explicit instantiations of kernels in a C++ source: `template __global__ void k<float>(float*);`.

    A kernel that is asked for by its name is instantiated without them, and the others need not be compiled. Lines keep
    their numbers. What is generated from parts of a declaration, by macros, may not compile any more.

    Args:
        text: the source, not preprocessed; the bodies of its macros are looked at, too.
    """
    tokens = list(_cxx_tokens(text))
    pieces, at, number = [], 0, 0
    while number < len(tokens):
        last = _instantiation(tokens, number)
        if last is None:
            number += 1
            continue
        start, end = tokens[number].start, tokens[last - 1].end
        pieces += [text[at:start], _BLANKED.sub(" ", text[start:end])]
        at, number = end, last
    return "".join((*pieces, text[at:]))


class _Token(Record):
    """A token of C++ that is no comment.

    Attributes:
        text: as written.
        start: its position.
        directive: the number of the preprocessor directive that it is part of; 0 outside of directives.
    """

    text: str
    start: int
    directive: int

    @property
    def end(self) -> int:
        """The position after it."""
        return self.start + len(self.text)


def _cxx_tokens(text: str) -> Iterator[_Token]:
    directive, count, begins_line = 0, 0, True
    for match in _CXX_TOKEN.finditer(text):
        if match.lastgroup == "skip":
            continue
        if match["line"]:
            directive, begins_line = 0, True
            continue
        if begins_line and match.group() == "#":
            count += 1
            directive = count
        begins_line = False
        yield _Token(match.group(), match.start(), directive)


def _instantiation(tokens: list[_Token], number: int) -> int | None:
    """The index after the explicit instantiation of a kernel that begins at a token; None where none does."""
    first = tokens[number]
    if first.text != "template" or (number and tokens[number - 1].text in _NOT_BEFORE):
        return None
    is_kernel = False
    for index in range(number + 1, len(tokens)):
        token = tokens[index]
        if token.directive != first.directive:  # the body of a macro ends, or a directive interrupts
            return index if first.directive and is_kernel else None
        if token.text in ("{", "}", "template") or (index == number + 1 and token.text == "<"):
            return None
        if token.text == ";":
            return index + 1 if is_kernel else None
        is_kernel = is_kernel or token.text == "__global__"
    return None

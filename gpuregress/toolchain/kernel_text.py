"""Text of some kernels of a PTX module: all of it but the other kernels, which no kernel can call."""

from __future__ import annotations

import re
from collections.abc import Collection

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_ENTRY = re.compile(r"^[ \t]*(?:\.(?:visible|weak|extern)\s+)?\.entry\s+([\w$]+)", re.MULTILINE)
_BRACE = re.compile(r"[{}]")


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

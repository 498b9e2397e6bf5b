"""Which project files a source includes, found without a compiler.

Every `#include` counts, also one behind an `#if`: a dependency too many costs a recompilation, one too few a wrong
result. Files that are found nowhere below the given folders are the compiler's own headers and are left out; their
version is part of the cache's key as the compiler's version.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

SUFFIXES = (".cu", ".cuh")
"""Of sources that are compiled: many projects keep kernels in headers, with the host code elsewhere."""

_COMMENTS = re.compile(r'//(?:\\\n|[^\n])*|/\*.*?(?:\*/|\Z)|("(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\')', re.DOTALL)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include(?:_next)?[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)', re.MULTILINE)


def dependencies(path: Path, include: Iterable[Path | str] = ()) -> tuple[Path, ...]:
    """The source and every project file it includes, directly or not.

    Args:
        path: the source.
        include: folders that the compiler searches, in its order.

    Returns:
        Absolute paths: the source first, the others sorted.
    """
    source = path.absolute()
    folders = tuple(Path(folder).absolute() for folder in include)
    found: set[Path] = {source}
    waiting = [source]
    while waiting:
        file = waiting.pop()
        for name, quoted in _included(file):
            # `<…>` skips the including file's folder in C; the source's own folder is on our search path anyway.
            places = (file.parent, source.parent, *folders) if quoted else (source.parent, *folders)
            target = _first_file(name, places)
            if target is not None and target not in found:
                found.add(target)
                waiting.append(target)
    return (source, *sorted(found - {source}))


def without_comments(text: str) -> str:
    """C++ text with each comment replaced by a space or its newlines, so that line numbers stay; strings stay."""
    return _COMMENTS.sub(lambda match: match[1] or "\n" * match[0].count("\n") or " ", text)


def _included(file: Path) -> list[tuple[str, bool]]:
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    if "include" not in text:
        return []
    return [(quoted or angled, bool(quoted)) for quoted, angled in _INCLUDE.findall(without_comments(text))]


def _first_file(name: str, folders: Iterable[Path]) -> Path | None:
    for folder in folders:
        candidate = folder / name
        if candidate.is_file():
            return Path(os.path.normpath(candidate))
    return None

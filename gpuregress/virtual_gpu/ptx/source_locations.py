"""Source locations of instructions, from `.file` and `.loc`.

PTX ISA manual, 11.5 "Debugging Directives".
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from pathlib import PurePath

from gpuregress.gpu.programs import HARNESS_FILE
from gpuregress.virtual_gpu.ptx.lexer import Cursor
from gpuregress.virtual_gpu.ptx.tree import SourceLine

_FILE = re.compile(r'^[ \t]*\.file[ \t]+(\d+)[ \t]+"((?:[^"\\]|\\.)*)"', re.MULTILINE)
_Location = tuple[int, int, int]


class Locations:
    """Current source line while `.loc` directives are read in order; `.file` is searched in the whole text first.

    Args:
        text: the whole PTX text.
        library_files: the files of `.file` directives that belong to libraries.
    """

    def __init__(self, text: str, library_files: Collection[str] = ()) -> None:
        self._paths = {int(index): path for index, path in _FILE.findall(text)}
        self._files = {index: PurePath(path).name for index, path in self._paths.items()}
        self._library = {index for index, path in self._paths.items() if path in library_files}
        self._callers: dict[_Location, _Location] = {}
        self.current: SourceLine | None = None
        self.is_made_up = False
        """Whether the code that follows is of no line: the compiler made it up."""
        self._own_traps = _traps_of_source(text) if "NVVM Compiler" in text and "trap;" in text else None

    def is_undefined(self, ptx_line: int) -> bool:
        """Whether a `trap` is not of the source: NVVM puts one where the program's behaviour is undefined."""
        return self._own_traps is not None and ptx_line not in self._own_traps

    def read(self, cursor: Cursor) -> None:
        """Parse one `.loc 1 12 3, function_name $L__info_string0, inlined_at 1 20 5`, and make it current."""
        line = cursor.expect(".loc").line
        location = self._location(cursor)
        caller: _Location | None = None
        while cursor.here.text == "," and cursor.here.line == line:
            cursor.take()
            if cursor.word("function_name or inlined_at") == "inlined_at":
                caller = self._location(cursor)
            else:
                cursor.take()
                if cursor.accept("+"):
                    cursor.take()
        if caller is not None:
            self._callers[location] = caller
        elif location in self._callers:
            del self._callers[location]
        self._make_current(location)

    def _location(self, cursor: Cursor) -> _Location:
        return (cursor.integer("a file's number"), cursor.integer("a line"), cursor.integer("a column"))

    def _make_current(self, location: _Location) -> None:
        chain = {location: None}
        while location in self._callers and self._callers[location] not in chain:
            if self._files.get(self._callers[location][0]) == HARNESS_FILE:
                break  # a function under test: its own line, not that of the generated call
            location = self._callers[location]
            chain[location] = None
        self.is_made_up = location[1] == 0
        # Line 0 marks code that the compiler made up: the call, or else the line before it, is the better guess.
        known = [(file, line, column) for file, line, column in chain if line > 0 and file in self._files]
        if self.is_made_up or not known:
            return
        of_user = [place for place in known if place[0] not in self._library] or known
        library = known[: known.index(of_user[0])]
        (file, line), *calls = self._lines(of_user)
        inner = tuple((self._paths[number], line, column) for number, line, column in known)
        self.current = SourceLine(file, line, tuple(calls), tuple(self._lines(library)), inner)

    def _lines(self, chain: Sequence[_Location]) -> Sequence[tuple[str, int]]:
        """The lines of a chain of calls; a lambda's own line and that of its call may be the same one."""
        return list(dict.fromkeys((self._files[file], line) for file, line, _ in chain))


def _traps_of_source(text: str) -> frozenset[int]:
    """The lines of the traps that `__trap()` and `asm("trap;")` have become: NVVM marks both as inline assembly."""
    lines: set[int] = set()
    is_own = False
    for number, line in enumerate(text.splitlines(), 1):
        if "inline asm" in line:
            is_own = "begin" in line
        elif is_own and "trap;" in line:
            lines.add(number)
    return frozenset(lines)

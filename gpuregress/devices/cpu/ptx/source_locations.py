"""`.file` and `.loc`: which CUDA source line an instruction came from. PTX ISA manual, 11.5 "Debugging Directives"."""

from __future__ import annotations

import re
from pathlib import PurePath

from gpuregress.devices.cpu.ptx.cursor import Cursor
from gpuregress.devices.cpu.ptx.tree import SourceLine

_FILE = re.compile(r'^[ \t]*\.file[ \t]+(\d+)[ \t]+"((?:[^"\\]|\\.)*)"', re.MULTILINE)
_Place = tuple[int, int, int]


class Locations:
    """Follows `.loc` directives in the order of the text; `.file` may stand anywhere, so the text is searched first.

    Args:
        text: the whole PTX text.
    """

    def __init__(self, text: str) -> None:
        self._files = {int(index): PurePath(path).name for index, path in _FILE.findall(text)}
        self._callers: dict[_Place, _Place] = {}
        self.current: SourceLine | None = None

    def read(self, cursor: Cursor) -> None:
        """Reads one `.loc 1 12 3, function_name $L__info_string0, inlined_at 1 20 5`, and makes it current."""
        line = cursor.expect(".loc").line
        place = self._place(cursor)
        caller: _Place | None = None
        while cursor.here.text == "," and cursor.here.line == line:
            cursor.take()
            if cursor.word("function_name or inlined_at") == "inlined_at":
                caller = self._place(cursor)
            else:
                cursor.take()
                if cursor.accept("+"):
                    cursor.take()
        if caller is not None:
            self._callers[place] = caller
        elif place in self._callers:
            del self._callers[place]
        self._make_current(place)

    def _place(self, cursor: Cursor) -> _Place:
        return (cursor.integer("a file's number"), cursor.integer("a line"), cursor.integer("a column"))

    def _make_current(self, place: _Place) -> None:
        seen = {place}
        while place in self._callers and self._callers[place] not in seen:
            place = self._callers[place]
            seen.add(place)
        # Line 0 marks code that the compiler made up: the line before it is the better guess.
        if place[1] > 0 and place[0] in self._files:
            self.current = SourceLine(self._files[place[0]], place[1])

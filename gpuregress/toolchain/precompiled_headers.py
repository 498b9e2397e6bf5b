"""Headers of a source, parsed once for the compilations of many kernels.

NVRTC parses the directives at the begin of a source, with what they include, and writes its state to a file. Later
compilations in the same process read that file, and in processes of the same family of forks, whose memory has the same
addresses. NVRTC checks the options and the files on disk itself, but not the
headers that it is given as text, so each set of those has a folder of its own.

The directives are put before the source's first `#line`, because NVRTC precompiles nothing after one, and the source
has empty lines in their place: a macro or a header without a guard may mean something else the second time. What the
compiler says of the directives is left to a compilation without precompiled headers. The compiler's warnings of headers
are kept, and added to the log of each compilation that reads the file.

Host code that the grammar does not know is found by the compiler's errors. Where texts were refused as they are, the
errors are the same whatever is asked of them, but for those of instances of templates.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path
from typing import Any

from gpuregress.gpu.records import Record
from gpuregress.toolchain import cache, compiler_messages
from gpuregress.toolchain.host_code.preprocessing import CxxText

ErrorPlace = tuple[Path, int]
"""File and line."""

_HEAP_BYTES = 1 << 30
"""Address space; CUB's headers need a third of it."""

NO_HEAP = "catastrophic error: unable to obtain mapped memory"
"""The heap is a file in $TMPDIR, whose disk may be full."""

_QUIET = "639,20283"
"""The numbers of the warnings that the heap is too small, and that there is a `#line`: nothing is lost."""

_LAST = "#pragma nv_hdrstop\n"
_OPENING = ("if", "ifdef", "ifndef")
_OPEN_COMMENT = re.compile(r"/\*(?:(?!\*/).)*\Z|//.*\\[ \t]*\Z")
"""At the end of a line: it goes on in the next one."""
_LOST = re.compile(rb"\bpragma\s+(?:pack|nv_abi)\b|\b_Pragma\b[^\n]*\b(?:pack|nv_abi)\b|\b__BASE_FILE__\b")
"""Pragmas whose effect NVRTC 13.5 does not keep: with `--pch`, `pack(pop)` in a header has none, for instance.

The name of the source would be that of the first one with these headers.
"""
_PRAGMA_OF_MACRO = re.compile(rb"\b_Pragma\s*\(\s*[^\s\"]")
_WARNING = re.compile(r"^(?:(?P<file>[^\s(][^(\n]*)\(\d+\): w|W)arning.*", re.MULTILINE)
"""The compiler names no file where the type is its own."""

_folder: ContextVar[Path | None] = ContextVar("precompiled_headers", default=None)
_seen: set[Path] = set()
"""Folders of headers that were parsed once."""
_own: set[Path] = set()
"""Folders that this process writes, or the one that it was forked from."""
_lacking: set[Path] = set()
"""Folders that another process is writing."""
_refused: set[Path] = set()
_warnings: dict[Path, str] = {}
"""Folder → the warnings of its headers."""
_refusals: dict[str, Refusal] = {}


class PrecompiledHeaders(Record):
    """The directives that are precompiled, the source with empty lines in their place, and the folder of the result."""

    directives: str
    rest: str
    folder: Path

    def options(self, nvrtc: Any) -> list[str]:
        """Return the options with which NVRTC writes the file, or reads it where it is there.

        Args:
            nvrtc: the bindings.
        """
        nvrtc.nvrtcSetPCHHeapSize(_HEAP_BYTES)
        return ["--pch", f"--pch-dir={self.folder}", "--pch-messages=false", f"--diag-suppress={_QUIET}"]

    @property
    def is_known(self) -> bool:
        """Whether the warnings of the headers are known, which the compiler writes only where it parses them."""
        return self.folder in _warnings

    def has_warnings(self, log: str, source_name: str) -> bool:
        """Tell whether the compiler warns of a header.

        Args:
            log: of a compilation.
            source_name: the name of the source in the log.
        """
        return any(match["file"] != source_name for match in _WARNING.finditer(log))

    def give_up(self) -> None:
        """Precompile these headers no more."""
        _refused.add(self.folder)

    def note(self, *, has_warnings: bool, is_compiled: bool) -> None:
        """Note the first compilation; headers are given up that are refused, or whose warnings cannot be told.

        Args:
            has_warnings: whether the compiler warned of a header.
            is_compiled: whether that went well; where the headers themselves are refused, no file was written.
        """
        if has_warnings or not (is_compiled or self.is_written):
            self.give_up()
        else:
            _warnings[self.folder] = ""

    def note_warnings(self, first: str, second: str) -> None:
        """Note the warnings of the headers: what only the first one of two equal compilations says.

        Args:
            first: the log of the compilation that wrote the file.
            second: that of one that read it.
        """
        rest = compiler_messages.without_remark(second)
        warnings = first.removesuffix(rest)
        if first == warnings + rest:
            _warnings[self.folder] = warnings
        else:
            self.give_up()

    def with_warnings(self, log: str) -> str:
        """Return the log of a compilation that read the file, with the warnings of the headers.

        Args:
            log: as the compiler wrote it.
        """
        warnings = _warnings[self.folder]
        return log if warnings in log else warnings + compiler_messages.without_remark(log)

    @property
    def is_written(self) -> bool:
        """Whether the compiler has written a file: it found no error in the headers."""
        return any(self.folder.iterdir())

    @property
    def is_usable(self) -> bool:
        """Whether nothing is lost with them."""
        return self.folder not in _refused


@contextlib.contextmanager
def precompiling(folder: Path | None) -> Iterator[None]:
    """Precompile the headers of the sources that are compiled in this block.

    Args:
        folder: that gets the files, up to some 300 MB for each set of headers; None: nothing is precompiled. Processes
            that were forked from one another may share it.
    """
    token = _folder.set(folder)
    try:
        yield
    finally:
        _folder.reset(token)


def lacks_some() -> bool:
    """Tell whether this process needed headers that another one was parsing."""
    return not _lacking <= _warnings.keys() | _refused


def find(
    text: str,
    options: Sequence[str],
    headers: Mapping[str, str],
    contents: Sequence[bytes],
    *,
    may_be_last: bool = False,
) -> PrecompiledHeaders | None:
    """Return what of a source can be precompiled; None where that is nothing.

    Args:
        text: of the source.
        options: of the compiler, with the folders of the search.
        headers: those that the compiler is given as text.
        contents: of the project's files.
        may_be_last: nothing is precompiled the first time that this is seen: no other program may have these texts.
    """
    above = _folder.get()
    if above is None:
        return None
    directives = leading_directives(text)
    if not directives:
        return None
    if any(map(_changes_lost_state, (directives.encode(), *contents, *(one.encode() for one in headers.values())))):
        return None
    digest = hashlib.sha256(json.dumps([directives, list(options), sorted(headers.items())]).encode())
    for content in contents:
        digest.update(hashlib.sha256(content).digest())
    folder = above / digest.hexdigest()
    empty_lines = "\n" * directives.count("\n")
    rest = f"{empty_lines}{text[len(directives) :]}"
    headers_of_source = PrecompiledHeaders(f"{directives}{_LAST}", rest, folder)
    if not headers_of_source.is_usable:
        return None
    is_new = folder not in _seen
    _seen.add(folder)
    if headers_of_source.is_known:
        return headers_of_source
    if is_new and may_be_last:
        return None
    if folder not in _own:
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            _lacking.add(folder)
            return None
        _own.add(folder)
    return headers_of_source


def leading_directives(text: str) -> str:
    """Return the directives before the first line of code, up to the last `#include` outside of any condition."""
    source = CxxText(text)
    code = re.search(r"\S", source.code)
    last = len(text) if code is None else code.start()
    depth = 0
    end = 0
    for directive in source.directives:
        if directive.end > last or directive.word == "line":
            break
        if directive.word in _OPENING:
            depth += 1
        elif directive.word == "endif":
            depth -= 1
        line = source.text[directive.start : directive.end]
        if depth == 0 and directive.word in ("include", "endif") and not _OPEN_COMMENT.search(line):
            end = directive.end
    return f"{source.text[:end]}\n" if end else ""


@lru_cache(maxsize=512)
def _changes_lost_state(content: bytes) -> bool:
    return _LOST.search(content) is not None or _PRAGMA_OF_MACRO.search(content) is not None


class Refusal(Record):
    """The errors of texts that do not depend on what is asked of them.

    Attributes:
        rounds: where they are; then those of what was left of the texts without these places, and so on.
        log: of the first errors.
    """

    rounds: tuple[tuple[ErrorPlace, ...], ...]
    log: str


def note_refusal(key: str, refusal: Refusal) -> None:
    """Note the errors of texts.

    Args:
        key: of all that decides what the compiler says.
        refusal: the errors.
    """
    if _folder.get() is not None:
        _refusals[key] = refusal


def known_refusal(key: str) -> Refusal | None:
    """Return the errors of texts; None where they are not known.

    Args:
        key: as for `note_refusal`.
    """
    return _refusals.get(key) if _folder.get() is not None else None


def learned() -> dict[str, Any]:
    """Return what is noted of headers and refused texts, for another process."""
    noted: dict[str, Any] = {}
    for key, refusal in _refusals.items():
        rounds = [[(str(file), line) for file, line in places] for places in refusal.rounds]
        noted[key] = [rounds, refusal.log]
    warnings = {str(folder): text for folder, text in _warnings.items()}
    return {"refusals": noted, "warnings": warnings, "given up": [str(folder) for folder in _refused]}


def learn(noted: Mapping[str, Any]) -> None:
    """Note what another process has learned, which was forked from this one.

    Args:
        noted: what `learned` returned there.
    """
    for key, (rounds, log) in noted["refusals"].items():
        places = tuple(tuple((Path(file), line) for file, line in one) for one in rounds)
        _refusals[key] = Refusal(places, log)
    _warnings.update((Path(folder), text) for folder, text in noted["warnings"].items())
    _refused.update(map(Path, noted["given up"]))


def key_of(texts: Iterable[str | bytes]) -> str:
    """Digest texts; "" where nothing is noted.

    Args:
        texts: all that decides what the compiler says.
    """
    return cache.digest(texts) if _folder.get() is not None else ""

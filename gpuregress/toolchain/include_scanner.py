"""Scanner for the files that a source includes, without a compiler.

NVRTC can neither list its dependencies nor stop after preprocessing. So the directives are read here, after the
translation phases 1 to 3 of C++: splices, comments, strings, raw strings and digraphs are known; conditions are not
evaluated. Every `#include` counts, also one under an `#if`, and every `__has_include`: a dependency too many costs a
compilation, one too few a wrong result. Where a text does not tell which files it reads (an include of a macro), or
depends on the clock, the answer is `unknown`: such a program is compiled for every run.

Files that are found in none of the given folders are the compiler's own headers; their version is the compiler's.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, lru_cache
from pathlib import Path

from gpuregress.gpu.records import Record
from gpuregress.toolchain.headers import host_headers, virtual_headers

SUFFIXES = (".cu", ".cuh", ".cc", ".cpp", ".cxx", ".c", ".h", ".hpp")
"""Of sources that are compiled: many projects keep kernels in headers, or tell the compiler that `.cc` is CUDA."""

_ONE_INCLUDE = "0: 1\n1: "
"""The structure of a source with one header: the contents alone tell it, and its digest is that of earlier versions."""

_COMMENTS = re.compile(
    r"//(?:\\\n|[^\n])*|/\*.*?(?:\*/|\Z)"
    r'|\b(?:u8|[uUL])?R"(?P<delimiter>[^()\\\s]{0,16})\(.*?\)(?P=delimiter)"'
    r'|(?P<string>"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\')',
    re.DOTALL,
)
"""Comments and raw strings, which may hold the text of a program; any other string is kept."""

_SPLICE = "\x01"
"""Stands for a backslash at a line's end, which joins two lines everywhere but in raw strings."""

_TOKEN = re.compile(
    r"""
    (?P<blank>(?:[ \t\f\v\x01]|//[^\n]*|/\x01*\*.*?(?:\*\x01*/|\Z))+)
    | (?P<line>\n)
    | (?P<raw>(?:u\x01*8|[uUL])?\x01*R\x01*"(?P<delimiter>[^()\\\s]{0,16})\(.*?\)(?P=delimiter)")
    | (?P<number>\.?[0-9](?:[eEpP]\x01*[+-]|'\x01*\w|[\w.\x01])*)
    | (?P<word>[^\W\d](?:\w|\x01+\w)*)
    | (?P<string>"(?:[^"\\\n]|\\\x01*.)*"|'(?:[^'\\\n]|\\\x01*.)*')
    | (?P<hash>\#|%\x01*:)
    | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_PLAIN_PART = r"""(?:
    (?!__has_|__DATE|__TIME|defined|import|export)[^\W\d]\w*\b(?!["'\x01])
    | [-+*=<>()\[\]{},;:.!?&|^~]
)"""
_PLAIN = re.compile(rf"(?:{_PLAIN_PART}|[ \t]|\n[ \t\n]*(?={_PLAIN_PART}))*", re.VERBOSE)
"""Tokens after the first of a line that say nothing of files, and lines that begin with such: most of a text. No
possessive quantifiers: Python before 3.11.5 goes on after what such a one has not matched (gh-106052)."""

_NAME = re.compile(r'"([^"\n]*)"|<([^>\n]*)>')
_INCLUDE = re.compile(rb'#[ \t]*include[ \t]*["<]([^">\n]+)')
_PROBES = ("__has_include", "__has_include_next", "__has_embed")
_CLOCK = ("__DATE__", "__TIME__", "__TIMESTAMP__")
_UNKNOWN_BYTES = re.compile(
    rb"\r(?!\n)|\\[ \t\f\v]+\r?\n|\?\?[=/]"  # lone CR, odd splices, trigraphs
    rb"|[\x00\x01]|\A(?:\xff\xfe|\xfe\xff)"  # UTF-16 and UTF-32
)


_Lookup = Callable[[Path, str], tuple[Path, bytes] | None]
"""Search for a header by its folder and name."""


class SourceInputs(Record):
    """The files that decide the result of compiling a source.

    Attributes:
        files: the source, then every project file that it may read, in the order in which they are reached.
        contents: what they hold.
        structure: which file each directive leads to, without a path of this machine; with the contents it tells two
            different preprocessed texts apart.
        unknown: why there may be more that decides the result, "" where there is not.
        modules: of Python: the packages and modules that the files import, without their submodules.
    """

    files: tuple[Path, ...]
    contents: tuple[bytes, ...]
    structure: str
    unknown: str
    modules: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """64 hexadecimal digits of what the files hold and which of them each `#include` leads to; no name counts.

        Nor do copies of libraries that shims replace: digests of earlier versions are without them.
        """
        contents = [hashlib.sha256(content).digest() for content in self.contents]
        structure = re.sub(r"-[0-9a-f]{64}\b", "-", self.structure)
        where = b"" if len(contents) == 1 or structure == _ONE_INCLUDE else structure.encode()
        return hashlib.sha256(b"".join(contents) + where).hexdigest()


class _Directive(Record):
    """The name of a header in an `#include` or a `__has_include`.

    Attributes:
        name: as it is spelled.
        is_quoted: the including file's folder is searched first.
        is_next: `#include_next`: which of the files of this name it is, depends on where the including file was found.
    """

    name: str
    is_quoted: bool
    is_next: bool


class _Text(Record):
    """The directives of one file; `unknown` as in `SourceInputs`, with the line."""

    directives: tuple[_Directive, ...]
    unknown: str


def scan(path: Path, folders: Iterable[Path] = (), included: Sequence[str] = ()) -> SourceInputs:
    """Find every project file that a source may read.

    Args:
        path: the source.
        folders: those that the compiler searches, in its order.
        included: headers that the compiler's options put before the source.

    Raises:
        OSError: the source cannot be read.
    """
    source = Path(os.path.realpath(path.parent)) / path.name
    searched = tuple(dict.fromkeys((source.parent, *folders)))
    known = _known.get()
    if known is None:
        return _Scan(source, searched, cache(_header)).inputs(included)
    key = (source, searched, tuple(included))
    if key not in known.scans:
        known.scans[key] = _Scan(source, searched, known.header).inputs(included)
    return known.scans[key]


class _KnownFiles:
    """What is known of files in a block that reads each once."""

    def __init__(self) -> None:
        self.header = cache(_header)
        self.scans: dict[tuple[Path, tuple[Path, ...], tuple[str, ...]], SourceInputs] = {}


_known: ContextVar[_KnownFiles | None] = ContextVar("known_files", default=None)


@contextmanager
def reading_once() -> Iterator[None]:
    """Read each file once in this block; who compiles a source reads it again, and reports a change.

    What the block itself writes must be followed by `forget_files`.
    """
    token = _known.set(_KnownFiles())
    try:
        yield
    finally:
        _known.reset(token)


def forget_files() -> None:
    """Read the files again in a block of `reading_once`: some were written or removed."""
    if _known.get() is not None:
        _known.set(_KnownFiles())


def is_telling(text: str) -> bool:
    """Tell whether a macro's definition depends on the time or looks for files."""
    return any(word in text for word in (*_CLOCK, *_PROBES))


def find(name: str, folders: Iterable[Path]) -> str:
    """Find a header by its name in the folders; the name itself if none has it.

    NVRTC searches the working folder first for a header that an option names, which is not the project's.
    """
    searched = tuple(folders)
    for path, data in _candidates(name, searched):
        return name if _library_copy(name, path, data, searched) else str(path)
    return name


def _header(folder: Path, name: str) -> tuple[Path, bytes] | None:
    """Return the file that NVRTC finds for a name in a folder, with what it holds; None where there is none."""
    for spelled in _spellings(name):
        path = os.path.join(folder, spelled)  # noqa: PTH118 - most folders have no such file, and text is faster
        data = _content(path)
        if data is not None:
            return Path(path), data
    return None


def _library_copy(
    name: str, path: Path, data: bytes, folders: Sequence[Path], header: _Lookup = _header
) -> dict[Path, bytes]:
    """Return the files of a copy of a library of the host that a header leads to; none where it is the project's own.

    A shim replaces the copy, but nothing that device code may depend on: no file in which there is device code, and
    none that includes another file of the project.

    Args:
        name: as the directive spells it, `fmt/format.h`.
        path: the file that it leads to.
        data: what the file holds.
        folders: those that the compiler searches, in its order.
    """
    copy: dict[Path, bytes] = {}
    roots: set[Path] = set()
    waiting = [(name, path, data)]
    while waiting:
        name, path, data = waiting.pop()
        path = Path(os.path.normpath(path))
        if path in copy:
            continue
        if host_headers.is_library_file(name, path, data):
            root = host_headers.library_folder(name, path)
            if root is not None:
                roots.add(root)
        elif not any(path.is_relative_to(root) for root in roots):
            return {}
        if host_headers.has_device_code(path, data):
            return {}
        copy[path] = data
        for match in _INCLUDE.finditer(data):
            included = match[1].decode(errors="replace")
            target = next(_candidates(included, (path.parent, *folders), header), None)
            if target is not None:
                waiting.append((included, *target))
    return copy


def _candidates(name: str, folders: Iterable[Path], header: _Lookup = _header) -> Iterator[tuple[Path, bytes]]:
    """Yield the files of a name in the folders, in the order of the search, with what they hold."""
    for folder in folders:
        found = header(folder, name)
        if found is not None:
            yield found


class _Scan:
    """The search from one source. What a folder has of a name is looked up once."""

    def __init__(self, source: Path, folders: tuple[Path, ...], header: _Lookup) -> None:
        self._folders = folders
        self._header = header
        self._real_folder = cache(os.path.realpath)
        self._numbers: dict[str, int] = {}
        self._files: list[Path] = []
        self._contents: list[bytes] = []
        self._source = source

    def inputs(self, included: Sequence[str]) -> SourceInputs:
        self._reach(self._source, self._source.read_bytes())
        structure = [self._targets(_Directive(name, is_quoted=False, is_next=False), None) for name in included]
        structure += self._shadowing()
        unknown = ""
        at = 0
        while at < len(self._files):  # grows meanwhile
            text = _read(self._contents[at])
            if text.unknown and not unknown:
                unknown = f"{self._files[at].name}:{text.unknown}"
            folder = self._files[at].parent
            reached = (self._targets(directive, folder) for directive in text.directives)
            structure.append(f"{at}: {' '.join(reached)}")
            at += 1
        return SourceInputs(tuple(self._files), tuple(self._contents), "\n".join(structure), unknown)

    def _shadowing(self) -> Iterator[str]:
        """Project files that stand in for headers which the compiler's own headers include."""
        for number, folder in enumerate(self._folders):
            for name in sorted(virtual_headers.SHADOWABLE & _names(folder)):
                yield f"{number}/{name} {'+'.join(self._all_below(folder / name))}"

    def _all_below(self, path: Path) -> Iterator[str]:
        for file in sorted(path.rglob("*")) if path.is_dir() else (path,):
            data = _content(file)
            if data is not None:
                yield str(self._reach(file, data))

    def _targets(self, directive: _Directive, folder: Path | None) -> str:
        """The numbers of the files that a directive leads to, `-` where none is the project's.

        Files that a shim replaces are a digest.
        """
        searched = (folder, *self._folders) if folder is not None and directive.is_quoted else self._folders
        numbers: list[str] = []
        for path, data in _candidates(directive.name, searched, self._header):
            copy = _library_copy(directive.name, path, data, searched, self._header)
            if copy:
                digests = [hashlib.sha256(content).digest() for content in copy.values()]
                numbers.append(f"-{hashlib.sha256(b''.join(digests)).hexdigest()}")
            else:
                numbers.append(str(self._reach(path, data)))
            if not directive.is_next:
                break
        return "+".join(numbers) or "-"

    def _reach(self, path: Path, data: bytes) -> int:
        # A name in a folder is one file, however the folder is spelled; the system follows links, as in `link/../c.h`.
        identity = os.path.join(self._real_folder(path.parent), path.name)  # noqa: PTH118 - a key, faster than a path
        if identity not in self._numbers:
            self._numbers[identity] = len(self._files)
            self._files.append(path)
            self._contents.append(data)
        return self._numbers[identity]


@lru_cache(maxsize=4096)
def _spellings(name: str) -> tuple[str, ...]:
    """Return what NVRTC looks for by a name: `NAME.stdh`, too, for a name without a suffix."""
    path = Path(name)
    if path.suffix or not path.name:
        return (name,)
    return (name, f"{name}.stdh")


def _content(path: str | Path) -> bytes | None:
    """A file's content, None where there is no file that can be read."""
    try:
        return Path(path).read_bytes() if os.path.isfile(path) else None  # noqa: PTH113 - faster where there is none
    except (OSError, ValueError):
        return None


def _names(folder: Path) -> set[str]:
    try:
        return set(os.listdir(folder))  # noqa: PTH208 - names are needed, not paths
    except OSError:
        return set()


@lru_cache(maxsize=512)
def _read(data: bytes) -> _Text:
    """Scan one file's contents; cached, since variants of a source share their files."""
    odd = _UNKNOWN_BYTES.search(data)
    unknown = f"{data.count(10, 0, odd.start()) + 1}: {_ODD}" if odd else ""
    text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", errors="replace")
    return _Reader(text.replace("\r\n", "\n").replace("\\\n", _SPLICE)).read(unknown)


_ODD = "a lone carriage return, a trigraph, blanks after a backslash, or another encoding than UTF-8"


class _Reader:
    """One pass over a text's tokens."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._found: list[_Directive] = []
        self._unknown = ""

    def read(self, unknown: str) -> _Text:
        self._unknown = unknown
        at, is_first = 0, True
        while match := _TOKEN.match(self._text, at):
            kind, at = match.lastgroup, match.end()
            if kind == "hash" and is_first:
                at = self._directive(at)
            elif kind == "word":
                at = self._word(match, is_first=is_first)
            elif kind in ("string", "other"):
                self._check_quotes(match)
            if kind != "blank":
                is_first = kind == "line"
            if not is_first and (plain := _PLAIN.match(self._text, at)):
                at = plain.end()
        return _Text(tuple(self._found), self._unknown)

    def _directive(self, at: int) -> int:
        word = self._next(at)
        if word is None or word.lastgroup != "word":
            return at
        name = _plain(word[0])
        if name in ("include", "include_next", "import"):
            return self._name(word.end(), f"#{name} of a macro", is_next=name == "include_next")
        if name == "embed":
            self._give_up(at, "#embed")
        if name in ("ifdef", "ifndef", "define", "undef"):
            return self._skip_word(word.end())
        return word.end()

    def _skip_word(self, at: int) -> int:
        """The end of the next word: `#ifdef __has_include` looks for no file."""
        word = self._next(at)
        return word.end() if word is not None and word.lastgroup == "word" else at

    def _word(self, match: re.Match[str], *, is_first: bool) -> int:
        name, at = _plain(match[0]), match.end()
        if name in _PROBES:
            bracket = self._next(at)
            if bracket is None or bracket[0] != "(":
                self._give_up(at, f"{name} without a header's name")
                return at
            return self._name(bracket.end(), f"{name} of a macro", is_next=name != "__has_include")
        if name == "defined":
            bracket = self._next(at)
            return self._skip_word(bracket.end() if bracket is not None and bracket[0] == "(" else at)
        if name in _CLOCK:
            self._give_up(at, name)
        elif is_first and name in ("import", "export"):
            self._give_up(at, f"{name}: a module")
        return at

    def _name(self, at: int, otherwise: str, *, is_next: bool) -> int:
        """A header's name, in which neither quotes nor comments mean what they do elsewhere."""
        blank = _TOKEN.match(self._text, at)
        if blank is not None and blank.lastgroup == "blank":
            at = blank.end()
        name = _NAME.match(self._text, at)
        if name is None:
            self._give_up(at, otherwise)
            return at
        spelled = name[1] if name[1] is not None else name[2]
        self._found.append(_Directive(spelled.replace(_SPLICE, ""), name[1] is not None, is_next))
        return name.end()

    def _next(self, at: int) -> re.Match[str] | None:
        match = _TOKEN.match(self._text, at)
        return _TOKEN.match(self._text, match.end()) if match is not None and match.lastgroup == "blank" else match

    def _check_quotes(self, match: re.Match[str]) -> None:
        """A quote that may not be one (`don't` under an `#if 0`): whether a comment begins after it is not known."""
        is_lone = match.lastgroup == "other"
        if match[0][0] not in "\"'" or not (is_lone or match[0][0] == "'"):
            return
        end = self._text.find("\n", match.start())
        rest = self._text[match.start() : None if end < 0 else end] if is_lone else match[0]
        if re.search(r"/\x01*[*/]|R\x01*\"", rest):
            self._give_up(match.start(), "a quote before what may be a comment")

    def _give_up(self, at: int, why: str) -> None:
        if not self._unknown:
            line = sum(self._text.count(sign, 0, at) for sign in ("\n", _SPLICE)) + 1
            self._unknown = f"{line}: {why}"


def _plain(word: str) -> str:
    return word.replace(_SPLICE, "")


def without_comments(text: str) -> str:
    """Replace each comment and raw string of a C++ text by a space or its newlines, so that line numbers stay."""
    return _COMMENTS.sub(lambda match: match["string"] or "\n" * match[0].count("\n") or " ", text)


def blank_comments(text: str) -> str:
    """Replace each comment and raw string of a C++ text by spaces, so that lines and offsets stay."""
    return _COMMENTS.sub(lambda match: match["string"] or re.sub(r"[^\n]", " ", match[0]), text)

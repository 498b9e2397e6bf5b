"""Compilation databases: `compile_commands.json`, as CMake, Bear and `ninja -t compdb` write it.

The format is that of https://clang.llvm.org/docs/JSONCompilationDatabase.html. Nothing in it is run.
"""

from __future__ import annotations

import functools
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

from gpuregress.foundation import git
from gpuregress.foundation.errors import UsageError
from gpuregress.gpu.records import Record, replace
from gpuregress.toolchain import include_scanner
from gpuregress.toolchain.build_options.options import NO_OPTIONS, BuildOptions, from_words

_HEADER_SUFFIXES = (".cuh", ".h", ".hpp", ".hh", ".hxx", ".inl", ".inc")
_MOST_SCANNED = 60
"""Sources whose includes are followed to find a header that has no entry."""
_QUOTED = re.compile(r"""'[^']*'|(?:[^\s"\\]|\\.|"(?:[^"\\]|\\.)*"?)+""", re.DOTALL)


class CompileCommands(Record):
    """A compilation database that a project names.

    Attributes:
        path: of the file.
        original: a folder that the database was written for, and that is checked out elsewhere; None: there is none.
        copy: where it is checked out.
    """

    path: Path
    original: Path | None = None
    copy: Path | None = None

    def options_for(self, source: Path) -> BuildOptions:
        """Return the options of a source; none where the database has no entry for it.

        A header without an entry has those of a source that includes it.

        Args:
            source: absolute.

        Raises:
            UsageError: the database cannot be read.
        """
        original, copy = self.original, self.copy
        if original is None or copy is None or not source.is_relative_to(copy):
            return _options_for(self.path, source)
        options = _options_for(self.path, original / source.relative_to(copy))
        include = [_in_copy(folder, original, copy) for folder in options.include]
        words: list[str] = []
        for option in options.options:
            name, _, header = option.partition("=")
            if name == "-include" and Path(header).is_absolute():
                moved = _in_copy(Path(os.path.normpath(header)), original, copy)
                words.append(f"-include={moved}")
            else:
                words.append(option)
        return replace(options, include=tuple(include), options=tuple(words))


class _Entry(Record):
    """A command of a database.

    Attributes:
        file: absolute, without links.
        folder: in which the command runs.
        words: of the command, the compiler first.
        number: of the entry, counted from 1.
    """

    file: Path
    folder: Path
    words: tuple[str, ...]
    number: int


def _in_copy(path: Path, original: Path, copy: Path) -> Path:
    """Return where a folder or a header of a work tree is in a copy of one of its commits.

    What git does not know, the build has made: it is in no commit, and stays that of the work tree. What git knows and
    this commit lacks must not be taken from the work tree: its text is that of another commit.
    """
    for root, spelling in ((original, path), (Path(os.path.realpath(original)), Path(os.path.realpath(path)))):
        if not spelling.is_relative_to(root):
            continue
        relative = spelling.relative_to(root)
        if (copy / relative).exists() or _is_in_git(root, relative):
            return copy / relative
        return path
    return path


@functools.lru_cache(maxsize=256)
def _is_in_git(root: Path, relative: Path) -> bool:
    return bool(git.answer(root, "ls-files", "--recurse-submodules", "--", str(relative)))


def _options_for(path: Path, source: Path) -> BuildOptions:
    entries = _entries(path, _modified_ns(path))
    real = Path(os.path.realpath(source))
    own = [entry for entry in entries if entry.file == real]
    if own:
        return _options(path, own[0], "" if len(own) == 1 else f", the first of {len(own)} for this file")
    if real.suffix not in _HEADER_SUFFIXES:
        return NO_OPTIONS
    for entry in _including(entries, real):
        return _options(path, entry, f", whose source includes {real.name}")
    return NO_OPTIONS


def _options(path: Path, entry: _Entry, remark: str) -> BuildOptions:
    compiler = next((word for word in entry.words if not word.startswith("-")), "")
    for word in entry.words:
        if Path(word).stem in ("nvcc", "cl", "clang-cl"):  # after ccache or another launcher
            compiler = word
            break
    origin = f"{_shown(path)} (entry {entry.number}, {entry.file.name}{remark})"
    return from_words(entry.words[1:], entry.folder, origin, compiler)


def _including(entries: tuple[_Entry, ...], header: Path) -> Iterator[_Entry]:
    """List entries whose source includes a header: those that name it themselves first, and near ones first."""
    candidates: list[_Entry] = []
    name = re.compile(rf'^[ \t]*#[ \t]*include[ \t]*["<](?:[^">\n]*/)?{re.escape(header.name)}[">]', re.MULTILINE)
    others: list[_Entry] = []
    for entry in entries:
        text = _text(entry.file)
        if name.search(text):
            candidates.append(entry)
        elif text:
            others.append(entry)

    def distance(entry: _Entry) -> tuple[bool, int]:
        return entry.file.suffix != ".cu", -len(os.path.commonpath((entry.file, header)))

    for entry in (*sorted(candidates, key=distance), *sorted(others, key=distance))[:_MOST_SCANNED]:
        options = from_words(entry.words[1:], entry.folder, "")
        try:
            inputs = include_scanner.scan(entry.file, options.include)
        except OSError:
            continue
        if any(Path(os.path.realpath(file)) == header for file in inputs.files):
            yield entry


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _modified_ns(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError as error:
        raise UsageError(
            f"the compilation database {_shown(path)} cannot be read: {error.strerror}; the build writes it "
            "(cmake -DCMAKE_EXPORT_COMPILE_COMMANDS=ON, or bear -- make)"
        ) from None


@functools.lru_cache(maxsize=4)
def _entries(path: Path, modified_ns: int) -> tuple[_Entry, ...]:
    """Read a database.

    Args:
        path: of the file.
        modified_ns: when it was written: another one is read anew.
    """
    del modified_ns
    try:
        document = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"the compilation database {_shown(path)} cannot be read: {error}") from None
    if not isinstance(document, list):
        raise UsageError(f"{_shown(path)} is not a compilation database: expected a list of commands")
    return tuple(_entry(path, number, item) for number, item in enumerate(document, 1))


def _entry(path: Path, number: int, item: object) -> _Entry:
    fields = item if isinstance(item, dict) else {}
    file, folder = fields.get("file"), fields.get("directory", ".")
    words = fields.get("arguments")
    if words is None and isinstance(fields.get("command"), str):
        words = split_command(fields["command"])
    is_list = isinstance(words, list) and words and all(isinstance(word, str) for word in words)
    if not is_list or not isinstance(file, str) or not isinstance(folder, str):
        expected = "expected file, directory, and command or arguments"
        raise UsageError(f"{_shown(path)}: entry {number} is not a command of a compilation database; {expected}")
    assert isinstance(words, list)
    base = Path(os.path.normpath(path.absolute().parent / folder))
    return _Entry(Path(os.path.realpath(base / file)), base, tuple(words), number)


def split_command(command: str) -> list[str]:
    r"""Split a command of a database into its words.

    `"` and `\` are the special characters, as the format says. Single quotes around a whole word, which shell commands
    of ninja have, are quotes, too.
    """
    words: list[str] = []
    for match in _QUOTED.finditer(command):
        word = match[0]
        if word.startswith("'") and word.endswith("'") and len(word) > 1:
            words.append(word[1:-1])
            continue
        words.append(re.sub(r'\\(.)|"', lambda part: part[1] or "", word, flags=re.DOTALL))
    return words


def _shown(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)

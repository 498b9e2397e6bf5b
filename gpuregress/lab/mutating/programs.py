"""Programs with a mutation: sources in scratch copies of their folders, or PTX with edits."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import field

from gpuregress.execution import device_registry
from gpuregress.foundation.errors import GpuregressError
from gpuregress.foundation.records import SM_90, Case, Program, Source
from gpuregress.gpu.records import Record, replace
from gpuregress.lab.mutating.ptx_text import code_of
from gpuregress.lab.mutating.subject import Subject
from gpuregress.session.compilation import source_key, sources_of
from gpuregress.toolchain import cache, nvrtc_options, programs

_ABSOLUTE = re.compile(rb'(^[ \t]*#[ \t]*include[ \t]*["<])(/[^">\n]+)', re.MULTILINE)
"""An `#include` of a header by its absolute name."""
_BYTES = re.compile(r"\[(?P<size>\d+)\] = \{(?P<values>\d+(?:, \d+)*)\}")


class Variation(Record):
    """A change of a subject's programs.

    Attributes:
        name: of the variation, unique.
        files: file → its changed text, for CUDA C++.
        ptx: key of a source → the changed PTX of its program, for others.
        checks: dynamic checks that its cases run with, beside the job's own.
        cases: the names of its cases; none: all of the subject's.
        is_compared: whether its optimised code is compared with that of the unchanged program where no case notices it.
    """

    name: str
    files: Mapping[str, str] = field(default_factory=dict)
    ptx: Mapping[str, str] = field(default_factory=dict)
    checks: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()
    is_compared: bool = False

    @property
    def is_unchanged(self) -> bool:
        """Whether it changes no program, and runs for its checks."""
        return not self.files and not self.ptx


class MutatedPrograms:
    """The programs of variations.

    Args:
        subject: unchanged.
        scratch: a folder for changed files.
    """

    def __init__(self, subject: Subject, scratch: Path) -> None:
        self._subject = subject
        self._scratch = scratch
        self._files = {
            key: frozenset(map(str, programs.inputs(source).files)) for key, source in subject.sources.items()
        }
        self._codes: dict[str, str] = {}

    def sources(self, variation: Variation, case: Case) -> Iterator[tuple[str, Source]]:
        """Yield the changed sources of a case that must be compiled, each with the key of the unchanged one."""
        for source in sources_of(case):
            key = source_key(source)
            if not self._files[key].isdisjoint(variation.files):
                yield key, self._moved(variation, key, source)

    def of_case(self, variation: Variation, case: Case, compiled: Mapping[str, Program]) -> list[Program]:
        """Return the programs of a case in the order of `sources_of`: changed ones, and the others as they are."""
        keys = [source_key(source) for source in sources_of(case)]
        return [compiled.get(key) or self._of_ptx(variation, key) or self._subject.programs[key] for key in keys]

    def note_slow(self, case: Case, programs: Sequence[Program]) -> None:
        """Let the device optimise the programs of which the unchanged ones are worth it."""
        for source, program in zip(sources_of(case), programs, strict=True):
            if source_key(source) in self._subject.slow:
                cache.note_slow(program.key)

    def are_equal(self, case: Case, programs: list[Program]) -> bool:
        """Tell whether programs are the unchanged ones but for line information."""
        keys = [source_key(source) for source in sources_of(case)]
        return all(
            program is self._subject.programs[key] or code_of(self._without_scratch(program)) == self._code(key)
            for key, program in zip(keys, programs, strict=True)
        )

    def are_equivalent(self, variation: Variation, compiled: Mapping[str, Program]) -> bool:
        """Tell whether every changed program is proven to be equivalent, by its optimised code."""
        if device_registry.cpu_lack():
            return False  # it is not known
        from gpuregress.virtual_gpu.compilation import object_cache  # noqa: PLC0415 - loads LLVM, which is an extra

        changed = {key: self._of_ptx(variation, key) for key in variation.ptx} | dict(compiled)
        for key, program in changed.items():
            if program is None or not program.ptx:
                continue
            unchanged = self._subject.programs[key]
            card = unchanged.card or SM_90.name
            kernels = self._kernels(key)
            try:
                if not object_cache.is_equivalent(_text(unchanged), _text(program), kernels, card, cache):
                    return False
            except GpuregressError:
                return False  # it is not known
        return True

    def _kernels(self, key: str) -> tuple[str, ...]:
        """The mangled names of the kernels that a case loads of a program, in that order."""
        entries, named = self._subject.programs[key].entries, self._subject.sources[key].kernels
        return tuple(entries[name].mangled for name in named or entries)

    def _without_scratch(self, program: Program) -> str:
        """The PTX with the user's own folders in its strings: `__FILE__` of a header names the copy."""
        root = rf"{re.escape(str(self._scratch))}/[^/]+"
        return _BYTES.sub(lambda match: _relocated(match, re.compile(root.encode())), _text(program))

    def _code(self, key: str) -> str:
        if key not in self._codes:
            self._codes[key] = code_of(_text(self._subject.programs[key]))
        return self._codes[key]

    def _moved(self, variation: Variation, key: str, source: Source) -> Source:
        """The source in a copy of its folders that has the changed text; the user's own files are only read."""
        root = self._scratch / variation.name
        for file in self._files[key]:
            path = _below(root, Path(file))
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                changed = variation.files.get(file)
                text = Path(file).read_bytes() if changed is None else _encoded(changed)
                path.write_bytes(
                    _ABSOLUTE.sub(lambda match: match[1] + os.fsencode(self._copy_of(key, root, match[2])), text)
                )
        folders = [folder for folder in nvrtc_options.search_folders(source) if folder.is_dir()]
        include = (*(str(_below(root, folder)) for folder in folders), *map(str, folders))
        options = tuple(self._option(key, root, option) for option in source.options)
        return replace(source, path=str(_below(root, Path(source.path))), include=include, options=options, digest="")

    def _copy_of(self, key: str, root: Path, name: str | bytes) -> str:
        """The name of a header's copy where the name is absolute and there is one; else the name."""
        path = os.path.normpath(os.fsdecode(name))
        return str(_below(root, Path(path))) if path in self._files[key] else os.fsdecode(name)

    def _option(self, key: str, root: Path, option: str) -> str:
        """An option of the compiler, with the copy of a header that it names."""
        name, sign, value = option.rpartition("=")
        return f"{name}{sign}{self._copy_of(key, root, value)}"

    def _of_ptx(self, variation: Variation, key: str) -> Program | None:
        text = variation.ptx.get(key)
        if text is None:
            return None
        program = self._subject.programs[key]
        path = self._scratch / f"{variation.name}-{cache.digest([key])}.ptx"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(_encoded(text))
        return replace(program, key=cache.digest([program.key, _encoded(text)]), ptx=str(path), cubin="")


def _relocated(match: re.Match[str], root: re.Pattern[bytes]) -> str:
    """An array of bytes without the names of folders; its declaration as it is where it has none."""
    values = [int(value) for value in match["values"].split(",")]
    if max(values) > 255:
        return match[0]
    text, count = root.subn(b"", bytes(values))
    size = int(match["size"]) - (len(values) - len(text))
    if not count:
        return match[0]
    return f"[{size}] = {{{', '.join(str(byte) for byte in text)}}}"


def _encoded(text: str) -> bytes:
    """The bytes of a text that was read with `surrogateescape`."""
    return text.encode(errors="surrogateescape")


def _below(root: Path, path: Path) -> Path:
    return root / path.absolute().relative_to("/")


def _text(program: Program) -> str:
    if not program.ptx:
        return program.key
    return Path(program.ptx).read_text(encoding="utf-8", errors="replace")

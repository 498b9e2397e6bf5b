"""Facts of the host code for the drafts of a source's kernels."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from gpuregress.lab.drafts import types
from gpuregress.lab.drafts.launch import LaunchFacts
from gpuregress.lab.drafts.types import KnownTypes
from gpuregress.lab.host_programs import interpreter, program, scalars
from gpuregress.lab.host_programs.objects import ArrayPointer, SeenLaunch
from gpuregress.lab.host_programs.scalars import HostScalar, constant, named
from gpuregress.lab.host_programs.scope import GUESS
from gpuregress.toolchain.cxx_declarations import Declaration
from gpuregress.toolchain.cxx_types import dtype_of_type
from gpuregress.toolchain.host_code.preprocessing import WORD, CxxText

_SMALLER_GUESSES = (64, 8)
_MOST_GUESSED = 2**24
"""Threads of a launch, or bytes of an array."""
_INCLUDE = re.compile(r'\s*["<]([^">\n]+)[">]')


class HostProgram:
    """The host code around a source.

    Args:
        source: the file.
    """

    def __init__(self, source: Path) -> None:
        self.types = KnownTypes()
        self.program = program.read(source.absolute())
        self.include = include_folders(self.program.files)
        self._guess = GUESS
        self._run = self._interpreted()
        for self._guess in _SMALLER_GUESSES:
            if not any(map(_is_excessive, self._run.launches)):
                break
            self._run = self._interpreted()
        self.types = self._known_types(source)
        if self._run.unsized & self.types.layouts.keys():
            self._run = self._interpreted()

    @property
    def kernels(self) -> tuple[Declaration, ...]:
        """The kernels of the source, and those of files that it includes where its host code launches them."""
        own = self.program.kernels[: self.program.own_kernels]
        launched = {one.kernel.rpartition("::")[2] for one in self._run.launches}
        others = [
            one for one in self.program.kernels[self.program.own_kernels :] if one.name.rpartition("::")[2] in launched
        ]
        return (*own, *others)

    def _interpreted(self) -> interpreter.Interpreter:
        run = interpreter.Interpreter(self.program, self.types.sizes, self._guess)
        run.run()
        return run

    def _known_types(self, source: Path) -> KnownTypes:
        """Ask the compiler for the types of kernels' parameters, and for those whose size the host code needs."""
        files = self.program
        templates = {word for one in files.kernels for text in one.template for word in WORD.findall(text)}
        templates |= {name for functions in files.functions.values() for one in functions for name in one.template}
        given = {types.plain(one.type) for kernel in self.kernels for one in kernel.parameters}
        aliases = {one: self._run.resolved(one) for one in given if dtype_of_type(one) is None}
        needed = {one for one, text in aliases.items() if dtype_of_type(text) is None}
        needed |= {one for one in self._run.unsized if files.device_words & set(WORD.findall(one))}
        asked = sorted(one for one in needed if types.is_named(one, frozenset(templates)))
        return KnownTypes(aliases, types.ask(source, self.include, files, asked))

    def facts(self, kernel: Declaration) -> LaunchFacts | None:
        """Return what the host code tells of a kernel; None where nothing launches it or one like it."""
        launch = self._launch(kernel)
        if launch is None:
            return None
        sizes: dict[str, HostScalar] = {}
        for name, symbol in self.program.symbols.items():
            total: HostScalar = constant(1)
            for node in symbol.sizes:
                value = self._run.evaluate(node)
                if not isinstance(value, HostScalar):
                    value = named(f"{name}_size", 1, symbol.where, is_known=False)
                total = scalars.binary("*", total, value)
            sizes[name] = total
        fixed = frozenset(self._run.fixed)
        earlier = tuple(self._run.launches[: self._run.launches.index(launch)])
        return LaunchFacts(launch, self.program, self._run.symbols, sizes, fixed, self.include, self.types, earlier)

    def _launch(self, kernel: Declaration) -> SeenLaunch | None:
        """Choose a launch: one that the program makes, with as many arguments; or one of a kernel with its types."""
        name, count = kernel.name.rpartition("::")[2], len(kernel.parameters)
        least = len([one for one in kernel.parameters if not one.default])
        own = [
            one
            for one in self._run.launches
            if one.kernel.rpartition("::")[2] == name and least <= len(one.arguments) <= count
        ]
        overloads = [one for one in self.program.kernels if one.name == kernel.name and len(one.parameters) == count]
        if len(overloads) > 1:
            own = [one for one in own if self._takes(kernel, one)]
        if own:
            return min(own, key=lambda one: (not _is_named(one, kernel), one.branches_not_taken, not _is_whole(one)))
        types = [one.type for one in kernel.parameters]
        for launch in self._run.launches:
            other = self.program.kernel(launch.kernel)
            if other is not None and [one.type for one in other.parameters] == types and types:
                return launch
        return None

    def _takes(self, kernel: Declaration, launch: SeenLaunch) -> bool:
        """Tell whether a launch may be that of an overloaded kernel, by the known types of its arguments."""
        for parameter, type_ in zip(kernel.parameters, launch.types, strict=False):
            own, given = (self._run.resolved(types.plain(one)) for one in (parameter.type, type_))
            known = [dtype_of_type(one) for one in (own, given)]
            is_number = dtype_of_type(own) is not None and not parameter.pointer
            if given and parameter.pointer != type_.rstrip().endswith("*") and (parameter.pointer or not is_number):
                return False
            if given and parameter.pointer and own != given and (own not in known) and known[0] != known[1]:
                return False
        return True


def _is_excessive(launch: SeenLaunch) -> bool:
    """Tell whether guesses, multiplied with each other, make more threads or memory than a first run should have."""
    threads: HostScalar = constant(1)
    for one in (*(launch.grid or ()), *(launch.block or ())):
        threads = scalars.binary("*", threads, one)
    memory = [one.memory.bytes for one in launch.arguments if isinstance(one, ArrayPointer)]
    sizes = [threads, *(one for one in memory if one is not None)]
    return any(one.number > _MOST_GUESSED and not one.is_known for one in sizes)


def _is_whole(launch: SeenLaunch) -> bool:
    return launch.grid is not None and launch.block is not None


def _is_named(launch: SeenLaunch, kernel: Declaration) -> bool:
    """Tell whether a launch spells a kernel's name, not that of one in another namespace."""
    return f"::{kernel.name}".endswith(f"::{launch.kernel.strip(':')}")


def include_folders(files: Sequence[Path]) -> tuple[Path, ...]:
    """Find the folders above the files that hold the headers which they include.

    Args:
        files: a source and what it includes.
    """
    found: dict[Path, None] = {}
    for path in files:
        try:
            text = CxxText(path.read_text(encoding="utf-8", errors="replace"))
        except OSError:
            continue
        for directive in text.directives:
            match = _INCLUDE.match(directive.rest) if directive.word == "include" else None
            if match is not None and not (path.parent / match[1]).is_file():
                folder = program.header_folder(path.parent, match[1])
                if folder is not None:
                    found[folder] = None
    return tuple(found)

"""Facts that host code tells of the kernels of a source: their launches, sizes, types."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from gpuregress.gpu.records import Record, replace
from gpuregress.lab.drafts import fills, types
from gpuregress.lab.drafts.types import NOTHING, KnownTypes, Question
from gpuregress.lab.host_programs import interpreter, program, scalars
from gpuregress.lab.host_programs.objects import HostArray, SeenLaunch
from gpuregress.lab.host_programs.program import HostFiles
from gpuregress.lab.host_programs.scalars import HostScalar, constant, named
from gpuregress.lab.host_programs.scope import GUESS, Leaf
from gpuregress.toolchain import cxx_declarations, layouts
from gpuregress.toolchain.build_options.options import NO_OPTIONS, BuildOptions
from gpuregress.toolchain.cxx_declarations import Declaration
from gpuregress.toolchain.cxx_types import dtype_of_type
from gpuregress.toolchain.host_code.preprocessing import WORD, CxxText

_SMALLER_GUESSES = (64, 8)
_MOST_GUESSED = 2**24
"""Threads of a launch, or bytes of an array."""
_WANTS_CHANNELS_LAST = re.compile(r"\.\s*stride\(\s*1\s*\)\s*==\s*1\b")
_INCLUDE = re.compile(r'\s*["<]([^">\n]+)[">]')


class LaunchFacts(Record):
    """What the host code tells of a kernel.

    Attributes:
        launch: of the kernel, or of another one with the same parameters.
        program: the files.
        symbols: `__constant__` and `__device__` variables that the host code fills.
        sizes: of these variables, in elements.
        fixed: names whose values the launch depends on otherwise than by a formula.
        build: the options to compile with.
        types: what the compiler tells of the program's.
        earlier: launches that the program makes before this one.
    """

    launch: SeenLaunch
    program: HostFiles
    symbols: dict[str, HostArray]
    sizes: dict[str, HostScalar]
    fixed: frozenset[str]
    build: BuildOptions = NO_OPTIONS
    types: KnownTypes = NOTHING
    earlier: tuple[SeenLaunch, ...] = ()


class HostProgram:
    """The host code around a source, interpreted without what the compiler knows of its types.

    Args:
        source: the file.
        part: a file that the source includes, and whose kernels are taken; None: the source itself.
    """

    def __init__(self, source: Path, part: Path | None = None) -> None:
        self._source = source
        self._part = part
        self.types = KnownTypes()
        self._constants: dict[str, int] = {}
        self._assumed: dict[Leaf, int | float] = {}
        self.program = program.read(source.absolute())
        self.build = NO_OPTIONS
        self._guess = GUESS
        self._run = self._interpreted()
        if self._assumed:
            self._run = self._interpreted()
        self._lower_guess()

    def ask_types(
        self,
        build: BuildOptions | None = None,
        *,
        compiles_part: bool = False,
        prepare: Callable[[HostProgram, Question], None] | None = None,
    ) -> None:
        """Ask the compiler for types, and interpret the host code again where it depends on them.

        Args:
            build: the options to compile with; None: the folders above the files that hold their headers.
            compiles_part: whether the part is compiled for its types, not the source.
            prepare: is called before the compiler is asked, with what it will be asked.
        """
        self.build = build if build is not None else BuildOptions(include_folders(self.program.files))
        compiled = self._part if self._part is not None and compiles_part else self._source
        self.types = self._known_types(compiled, prepare)
        if self._constants or self._run.unsized & self.types.layouts.keys():
            self._run = self._interpreted()
            self._lower_guess()

    @property
    def launches(self) -> Sequence[SeenLaunch]:
        """The launches of the host code, in its order."""
        return self._run.launches

    @property
    def kernels(self) -> tuple[Declaration, ...]:
        """The kernels of the source, and those of files that it includes where its host code launches them."""
        if self._part is not None:
            text = self._part.read_text(encoding="utf-8", errors="replace")
            of_part = {(kernel.name, kernel.type_words) for kernel in cxx_declarations.declarations(text)}
            return tuple(kernel for kernel in self.program.kernels if (kernel.name, kernel.type_words) in of_part)
        launched = {launch.kernel.rpartition("::")[2] for launch in self._run.launches}
        own = self.program.kernels[: self.program.own_kernels]
        included = self.program.kernels[self.program.own_kernels :]
        return (*own, *[kernel for kernel in included if kernel.name.rpartition("::")[2] in launched])

    def _lower_guess(self) -> None:
        """Let what is not known be smaller where launches or arrays would be larger than a first run should have."""
        for guess in _SMALLER_GUESSES:
            if self._guess <= guess:
                continue
            if not any(_is_excessive(launch) for launch in self._run.launches):
                return
            self._guess = guess
            self._run = self._interpreted()

    def _interpreted(self) -> interpreter.Interpreter:
        given = (self.program, self.types.sizes, self._guess, self._constants, self._assumed)
        run = interpreter.Interpreter(*given)
        run.run()
        self._assumed = run.assumed
        if any(map(_WANTS_CHANNELS_LAST.search, self.program.texts)):
            other = interpreter.Interpreter(*given, has_channels_last=True)
            other.run()
            run.launches[:] = _likelier(run.launches, other.launches)
        return run

    def _known_types(self, source: Path, prepare: Callable[[HostProgram, Question], None] | None) -> KnownTypes:
        """Ask the compiler for the types of kernels' parameters, and for those whose size the host code needs."""
        files = self.program
        templates: set[str] = set()
        for kernel in files.kernels:
            for text in kernel.template:
                templates.update(WORD.findall(text))
        for functions in files.functions.values():
            for function in functions:
                templates.update(function.template)
        aliases: dict[str, str] = {}
        for kernel in self.kernels:
            for parameter in kernel.parameters:
                plain = types.plain(parameter.type)
                if dtype_of_type(plain) is None:
                    aliases[plain] = self._run.resolved(plain)
        needed = {name for name, resolved in aliases.items() if dtype_of_type(resolved) is None}
        launched = self._launched_templates()
        for name in self._run.unsized:
            is_of_other_instance = ">::" in name and name.rpartition("::")[0] not in launched
            if files.device_words & set(WORD.findall(name)) and not is_of_other_instance:
                needed.add(name)
        asked = sorted(name for name in needed if types.is_named(name, frozenset(templates)))
        constants: dict[str, str] = {}
        for name in sorted(self._run.unevaluated):
            scope, _, member = name.rpartition("::")
            class_name = scope.rpartition("::")[2]
            structure = files.structures.get(class_name)
            if scope in launched:
                constants[name] = layouts.constant(name)
            elif structure is not None and class_name in files.device_words:
                constants[name] = layouts.constant(f"{structure.name}::{member}")
        questions = dict.fromkeys(constants.values())
        question = types.question(source, self.build, files, [*asked, *questions])
        if prepare is not None:
            self.types = KnownTypes(aliases)
            prepare(self, question)
        answers = types.ask(question)
        for name, constant_type in constants.items():
            if constant_type in answers:
                self._constants[name] = answers[constant_type].size - 1
        return KnownTypes(aliases, {name: layout for name, layout in answers.items() if name not in questions})

    def _launched_templates(self) -> set[str]:
        """Return the template arguments of the drafts' launches: each instance of a class costs the compiler time."""
        templates: set[str] = set()
        for kernel in self.kernels:
            launch = self._launch(kernel)
            if launch is not None:
                templates.update(launch.template)
        return templates

    def facts(self, kernel: Declaration) -> LaunchFacts | None:
        """Return what the host code tells of a kernel; None where nothing launches it or one like it."""
        launch = self._launch(kernel)
        if launch is None:
            return None
        return self.facts_of(launch)

    def declaration(self, launch: SeenLaunch) -> Declaration | None:
        """Return the kernel of a launch; of overloaded ones the first that takes its arguments."""
        return self._launched(launch)

    def facts_of(self, launch: SeenLaunch) -> LaunchFacts:
        """Return what the host code tells of a launch."""
        sizes: dict[str, HostScalar] = {}
        for name, symbol in self.program.symbols.items():
            total: HostScalar = constant(1)
            for node in symbol.sizes:
                value = self._run.evaluate(node)
                if not isinstance(value, HostScalar):
                    value = named(f"{name}_size", 1, symbol.where, is_known=False)
                total = scalars.binary("*", total, value)
            sizes[name] = total
        before = self._run.launches[: self._run.launches.index(launch)]
        return LaunchFacts(
            launch=launch,
            program=self.program,
            symbols=self._run.symbols,
            sizes=sizes,
            fixed=frozenset(self._run.fixed),
            build=self.build,
            types=self.types,
            earlier=tuple(earlier for earlier in before if launch.may_follow(earlier)),
        )

    def _launch(self, kernel: Declaration) -> SeenLaunch | None:
        """Choose a launch: one that the program makes, with as many arguments; or one of a kernel with its types."""
        count = len(kernel.parameters)
        least = len([parameter for parameter in kernel.parameters if not parameter.default])
        overloads = 0
        for other in self.program.kernels:
            if other.name == kernel.name and len(other.parameters) == count:
                overloads += 1
        candidates: list[SeenLaunch] = []
        for launch in self._run.launches:
            if launch.kernel.rpartition("::")[2] != kernel.name.rpartition("::")[2]:
                continue
            if least <= len(launch.arguments) <= count and (overloads <= 1 or self._takes(kernel, launch)):
                candidates.append(launch)
        if candidates:
            return min(candidates, key=lambda launch: _doubt(launch, kernel, self.program.files[0]))
        parameter_types = [parameter.type for parameter in kernel.parameters]
        for launch in self._run.launches:
            declaration = self._launched(launch)
            if declaration is None or not parameter_types:
                continue
            if [parameter.type for parameter in declaration.parameters] == parameter_types:
                return launch
        return None

    def _launched(self, launch: SeenLaunch) -> Declaration | None:
        """Return the kernel of a launch; of overloaded ones the first that takes its arguments."""
        name = launch.kernel.rpartition("::")[2]
        for kernel in self.program.kernels:
            is_named = kernel.name.rpartition("::")[2] == name
            if is_named and len(kernel.parameters) == len(launch.arguments) and self._takes(kernel, launch):
                return kernel
        return self.program.kernel(launch.kernel)

    def _takes(self, kernel: Declaration, launch: SeenLaunch) -> bool:
        """Tell whether a launch may be that of an overloaded kernel, by the known types of its arguments."""
        for parameter, type_ in zip(kernel.parameters, launch.types, strict=False):
            expected = self._run.resolved(types.plain(parameter.type))
            given = self._run.resolved(types.plain(type_))
            if not given:
                continue
            expected_dtype = dtype_of_type(expected)
            given_dtype = dtype_of_type(given)
            is_number = expected_dtype is not None and not parameter.pointer
            if parameter.pointer != type_.rstrip().endswith("*") and not is_number:
                return False
            is_other = expected != given and expected not in (expected_dtype, given_dtype)
            if parameter.pointer and is_other and expected_dtype != given_dtype:
                return False
        return True


def _is_excessive(launch: SeenLaunch) -> bool:
    """Tell whether guesses, multiplied with each other, make more threads or memory than a first run should have."""
    threads: HostScalar = constant(1)
    for size in (*(launch.grid or ()), *(launch.block or ())):
        threads = scalars.binary("*", threads, size)
    arrays = [memory.size for memory in fills.arrays(launch.arguments)]
    sizes = [threads, *[size for size in arrays if size is not None]]
    return any(size.number > _MOST_GUESSED and not size.is_known for size in sizes)


def _likelier(launches: Sequence[SeenLaunch], others: Sequence[SeenLaunch]) -> list[SeenLaunch]:
    """Take the launches of some kernels from another run, which makes them and the first one does not.

    A chain does not join launches of two runs.
    """
    least: dict[str, int] = {}
    for launch in launches:
        least[launch.kernel] = min(launch.branches_not_taken, least.get(launch.kernel, launch.branches_not_taken))
    better = {launch.kernel for launch in others if launch.branches_not_taken < least.get(launch.kernel, 0)}
    kept = [launch for launch in launches if launch.kernel not in better]
    return kept + [replace(launch, call=-1 - launch.call) for launch in others if launch.kernel in better]


def _doubt(launch: SeenLaunch, kernel: Declaration, source: Path) -> tuple[bool, bool, bool, int, bool]:
    """Rank the launches of a kernel, the best first.

    Its name is spelled, the source makes it, no argument is a class of complex numbers, the branches are taken, sizes
    are known.
    """
    is_other_namespace = not f"::{kernel.name}".endswith(f"::{launch.kernel.strip(':')}")
    is_complex = any("complex" in argument for argument in launch.template)
    is_of_other_file = launch.where.partition(":")[0] != source.name
    return (
        is_other_namespace,
        is_of_other_file,
        is_complex,
        launch.branches_not_taken,
        launch.grid is None or launch.block is None,
    )


def include_folders(files: Sequence[Path]) -> tuple[Path, ...]:
    """Find the folders above the files that hold the headers which they include.

    Args:
        files: a source and what it includes.
    """
    folders: dict[Path, None] = {}
    for path in files:
        try:
            text = CxxText(path.read_text(encoding="utf-8", errors="replace"))
        except OSError:
            continue
        for directive in text.directives:
            if directive.word != "include":
                continue
            match = _INCLUDE.match(directive.rest)
            if match is None or (path.parent / match[1]).is_file():
                continue
            folder = program.header_folder(path.parent, match[1])
            if folder is not None:
                folders[folder] = None
    return tuple(folders)

"""Drafts of jobs for the kernels and device functions of a source, from host code and declarations."""

from __future__ import annotations

import fnmatch
import itertools
import os
import re
from collections.abc import Sequence
from pathlib import Path

from gpuregress.foundation import storage
from gpuregress.foundation.errors import UsageError
from gpuregress.gpu.records import Record, replace
from gpuregress.jobs.plan import job_plan
from gpuregress.lab.drafts import new_function, new_python, types
from gpuregress.lab.drafts.kernel import KernelDraft
from gpuregress.lab.drafts.launch import LaunchDraft, LaunchFacts
from gpuregress.lab.drafts.types import NOTHING, KnownTypes
from gpuregress.lab.host_programs import interpreter, program, scalars
from gpuregress.lab.host_programs.objects import ArrayPointer, SeenLaunch
from gpuregress.lab.host_programs.scalars import HostScalar, constant, named
from gpuregress.lab.host_programs.scope import GUESS
from gpuregress.store.project import Project
from gpuregress.toolchain import cxx_declarations
from gpuregress.toolchain.cxx_declarations import Declaration
from gpuregress.toolchain.cxx_types import dtype_of_type
from gpuregress.toolchain.functions import declarations
from gpuregress.toolchain.functions.declarations import CxxFunction
from gpuregress.toolchain.host_code.preprocessing import WORD, CxxText
from gpuregress.toolchain.include_scanner import SUFFIXES

_MOST_NAMED = 5
_MOST_CHARACTERS = 80
"""Of a kernel's name in that of its job, before a number."""


class Draft(Record):
    """A job: its file, the kernel or function that it tests, and the source's other ones.

    `is_kept` tells that the file was already there and was left as it is, `needed` what the host code does not tell,
    and `is_launched` that the job follows a launch of the host code. `guessed_sizes` are the buffers whose size is a
    guess, `buffer_bytes` the bytes of the others; `remarks` tell what the job does otherwise than the program.
    `refusal` tells why there is no job.
    """

    path: Path
    kernel: str
    others: tuple[str, ...]
    functions: tuple[str, ...] = ()
    is_kept: bool = False
    needed: tuple[str, ...] = ()
    is_launched: bool = False
    refusal: str = ""
    guessed_sizes: tuple[str, ...] = ()
    buffer_bytes: int = 0
    remarks: tuple[str, ...] = ()


def draft(project: Project, source: Path, *, kernel: str | None = None, target: Path | None = None) -> Draft:
    """Write a job for a kernel, or for the first device function of a source without kernels.

    Args:
        project: whose folder of jobs gets it.
        source: the `.cu` file.
        kernel: the name of one of its kernels; None: the first.
        target: the job's file, in place of configs/NAME.yaml.

    Raises:
        UsageError: no such source or kernel, or the job's file is already there.
        StorageError: no space, no permission.
    """
    path = target if target is not None else _job_path(project, source.stem)
    return draft_kernels(project, source, kernel=kernel, target=path)[0]


def draft_kernels(
    project: Project, source: Path, *, kernel: str | None = None, target: Path | None = None
) -> tuple[Draft, ...]:
    """Write a job for each kernel of a source, from the host code that launches it, or from its declaration.

    Args:
        project: whose folder of jobs gets them.
        source: a `.cu` or `.py` file.
        kernel: the name of one of its kernels; None: each, or the first if there is a target.
        target: the job's file, in place of configs/SOURCE.yaml for one kernel and configs/KERNEL.yaml for several.

    Raises:
        UsageError: no such source or kernel, or the files of all jobs are already there.
        StorageError: no space, no permission.
    """
    text = _text(source)
    if source.suffix not in (".py", *SUFFIXES):
        raise UsageError(
            f"{source} can be no job's source: name a {' or '.join(SUFFIXES)} file, such as one that includes it, "
            "or a .py file with kernels"
        )
    if source.suffix == ".py":
        return (_draft_python(project, source, text, kernel, target),)
    host, problem = _host_program(source)
    declared = host.kernels if host is not None else cxx_declarations.declarations(text)
    functions = declarations.device_functions([text])
    if not declared and not functions:
        raise UsageError(
            f"{source} has no __global__ function and no __device__ function: there is nothing to test; name the file "
            "that defines the kernels"
        )
    default = _job_path(project, source.stem)
    if not declared and kernel is None:
        return (_draft_function(source, text, functions, functions[0], target or default),)
    chosen = declared if kernel is None and target is None else (_choose(declared, kernel, source),)
    named_paths = dict(zip(declared, _kernel_paths(project, declared), strict=True))
    paths = [target or (default if len(declared) == 1 else named_paths[one]) for one in chosen]
    if all(path.exists() for path in paths):
        if len(paths) == 1:
            _refuse_existing(paths[0])
        raise UsageError(f"the jobs of all {len(paths)} kernels are already there and are left as they are")
    listed = zip(declared, cxx_declarations.listed(declared), strict=True)
    others = tuple(name for one, name in listed if one not in chosen)
    named = tuple(map(str, functions))
    made = [
        Draft(path, str(one), others, named, is_kept=True)
        if path.exists()
        else _draft_kernel(source, host, one, path, others, named)
        for one, path in zip(chosen, paths, strict=True)
    ]
    including = program.includers(source) if not any(one.is_launched or one.is_kept for one in made) else ()
    if including:
        names = ", ".join(str(one) for one in including[:_MOST_NAMED])
        hint = f"the launches: {source.name} is included by {names}; `gpuregress new` of that file reads them"
        made = [replace(one, needed=(hint, *one.needed)) for one in made]
    if all(one.refusal for one in made):
        raise UsageError("\n".join(f"{one.kernel} in {source}: no job is written: {one.refusal}" for one in made))
    return tuple(replace(one, needed=(problem, *one.needed)) if problem and not one.is_kept else one for one in made)


def _draft_kernel(
    source: Path,
    host: HostProgram | None,
    kernel: Declaration,
    path: Path,
    others: tuple[str, ...],
    functions: tuple[str, ...],
) -> Draft:
    facts = host.facts(kernel) if host is not None else None
    made: KernelDraft
    if facts is not None:
        made = LaunchDraft(kernel, source, path, facts)
    else:
        include, known = (host.include, host.types) if host is not None else ((), NOTHING)
        made = KernelDraft(kernel, source, path, include=include, known=known)
    if made.refusal:
        return Draft(path, str(kernel), others, functions, refusal=made.refusal)
    storage.write_atomic(path, ("\n".join(made.lines(others)) + "\n").encode())
    return Draft(
        path,
        str(kernel),
        others,
        functions,
        needed=made.needed,
        is_launched=facts is not None,
        guessed_sizes=made.guessed_sizes,
        buffer_bytes=made.buffer_bytes,
        remarks=made.remarks,
    )


def _kernel_paths(project: Project, declared: Sequence[Declaration]) -> list[Path]:
    """Name the jobs after their kernels: those of one name have their namespaces, and what is still equal a number."""
    last = [one.name.rpartition("::")[2] for one in declared]
    paths: list[Path] = []
    for one, name in zip(declared, last, strict=True):
        in_namespaces = len({other.name for other, same in zip(declared, last, strict=True) if same == name}) > 1
        stem = one.name.strip(":").replace("::", "_") if in_namespaces else name
        numbered = itertools.chain((stem,), (f"{stem[:_MOST_CHARACTERS]}_{number}" for number in itertools.count(2)))
        paths.append(next(path for name in numbered if (path := _job_path(project, name)) not in paths))
    return paths


def _job_path(project: Project, name: str) -> Path:
    """Return the file of a job; what its name must not have is left out."""
    safe = re.sub(r"[^A-Za-z0-9_.+-]+", "_", name).lstrip(".+-")[: job_plan.MAX_LENGTH].rstrip(".")
    return project.configs / f"{safe if job_plan.job_name_problem(safe) is None else f'job_{safe[:90]}'}.yaml"


def _host_program(source: Path) -> tuple[HostProgram | None, str]:
    """Read the host code of a source.

    Returns:
        None and the reason where that fails: a draft from the declaration is still of use.
    """
    try:
        return HostProgram(source), ""
    except Exception as error:  # noqa: BLE001 - C++ of any form must not end the command; the reason is shown
        what = f"{type(error).__name__}: {error}".splitlines()[0].rstrip(": ")
        return None, f"all that the host code tells: it could not be read ({what}); this is from the declaration alone"


def draft_functions(project: Project, source: Path, pattern: str, *, target: Path | None = None) -> tuple[Draft, ...]:
    """Write a job for each device function that a pattern names.

    Args:
        project: whose folder of jobs gets them.
        source: the `.cu` or `.cuh` file.
        pattern: a name, with or without namespace, or a shell pattern: `*` is every function.
        target: the job's file, in place of configs/FUNCTION.yaml; for one function only.

    Raises:
        UsageError: no such source or function, or the files of all its jobs are already there.
        StorageError: no space, no permission.
    """
    text = _text(source)
    functions = declarations.device_functions([text])
    chosen = [one for one in functions if _is_named(one, pattern)]
    if not chosen:
        there = f"it has: {', '.join(map(str, functions))}" if functions else "it has none"
        raise UsageError(f"{source} has no device function {pattern!r}; {there}")
    if target is not None and len(chosen) > 1:
        raise UsageError(
            f"{pattern!r} names {len(chosen)} functions, and -o is one file: {', '.join(map(str, chosen))}"
        )
    paths = [target or project.configs / f"{_function_job(one, functions)}.yaml" for one in chosen]
    if all(path.exists() for path in paths):
        if len(paths) == 1:
            _refuse_existing(paths[0])
        raise UsageError(f"the jobs of all {len(paths)} functions are already there and are left as they are")
    return tuple(
        Draft(path, str(one), (), is_kept=True)
        if path.exists()
        else _draft_function(source, text, functions, one, path)
        for one, path in zip(chosen, paths, strict=True)
    )


def _draft_function(
    source: Path, text: str, functions: Sequence[CxxFunction], chosen: CxxFunction, path: Path
) -> Draft:
    _refuse_existing(path)
    others = [one for one in functions if one is not chosen]
    written = "\n".join(new_function.lines(chosen, text, source, path, others)) + "\n"
    storage.write_atomic(path, written.encode())
    return Draft(path, str(chosen), (), tuple(map(str, others)))


def _draft_python(project: Project, source: Path, text: str, kernel: str | None, target: Path | None) -> Draft:
    try:
        found = new_python.kernels(text)
    except SyntaxError as error:
        raise UsageError(f"{source} is not Python: {error}") from error
    names = [one.name for one in found]
    if not found:
        raise UsageError(f"{source} has no function below @triton.jit or @cuda.jit: there is nothing to test")
    if kernel is not None and kernel not in names:
        raise UsageError(f"{source} has no kernel {kernel!r}; it has: {', '.join(names)}")
    chosen = found[names.index(kernel) if kernel is not None else 0]
    path = target if target is not None else _job_path(project, source.stem)
    _refuse_existing(path)
    others = tuple(name for name in names if name != chosen.name)
    relative = os.path.relpath(source.absolute(), path.absolute().parent)
    written = "\n".join(new_python.lines(chosen, relative, others)) + "\n"
    storage.write_atomic(path, written.encode())
    return Draft(path, chosen.name, others)


def _is_named(function: CxxFunction, pattern: str) -> bool:
    names = (function.name, function.name.rpartition("::")[2], str(function))
    return any(fnmatch.fnmatchcase(name, pattern) or name == pattern for name in names)


def _function_job(function: CxxFunction, functions: Sequence[CxxFunction]) -> str:
    return new_function.job_name(function, [one for one in functions if one is not function])


def _refuse_existing(path: Path) -> None:
    if path.exists():
        raise UsageError(f"{path} is already there and is left as it is; name another file with -o")


def _text(source: Path) -> str:
    if source.is_dir():
        inside = sorted(one.name for one in source.iterdir() if one.suffix in (".cu", ".cuh", ".py") and one.is_file())
        more = ", …" if len(inside) > _MOST_NAMED else ""
        there = f"one of {', '.join(inside[:_MOST_NAMED])}{more}" if inside else "it has no .cu file itself"
        raise UsageError(f"{source} is a folder: name a file in it ({there})")
    if not source.is_file():
        raise UsageError(f"there is no file {source}")
    content = storage.read_bytes(source)
    if not content.strip():
        raise UsageError(f"{source} is empty: there is nothing to test")
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise UsageError(f"{source} is UTF-16, which the compiler does not read: save it as UTF-8")
    if b"\0" in content:
        raise UsageError(f"{source} is no text (it has a byte 0): name the source in CUDA C++ or Python")
    return content.decode("utf-8", "replace")


def _choose(declared: Sequence[Declaration], kernel: str | None, source: Path) -> Declaration:
    if kernel is None:
        return declared[0]
    for one in declared:
        if kernel in (one.name, str(one), one.name.rpartition("::")[2], one.signature()):
            return one
    there = ", ".join(cxx_declarations.listed(declared)) or "none, but device functions (--function NAME)"
    raise UsageError(f"{source} has no kernel {kernel!r}; it has: {there}")


# --- facts of the host code for the drafts of a source's kernels ------------------------------------------------------


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
            return min(
                own, key=lambda one: (not _names_kernel(one, kernel), one.branches_not_taken, not _is_whole(one))
            )
        types = [one.type for one in kernel.parameters]
        for launch in self._run.launches:
            other = self._launched(launch)
            if other is not None and [one.type for one in other.parameters] == types and types:
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


def _names_kernel(launch: SeenLaunch, kernel: Declaration) -> bool:
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

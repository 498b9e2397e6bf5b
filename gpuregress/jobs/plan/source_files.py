"""Source files of a job, and which kernel of them an overloaded name means."""

from __future__ import annotations

import functools
import operator
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from gpuregress.foundation import dtypes
from gpuregress.foundation.document.problems import Problems
from gpuregress.foundation.document.reader import Key
from gpuregress.foundation.records import Buffer, Launch
from gpuregress.gpu.demangle import demangle
from gpuregress.gpu.records import Record, replace
from gpuregress.jobs.spec.load import JobFile
from gpuregress.jobs.spec.models.launch import PYTHON_SETTINGS
from gpuregress.jobs.spec.models.values import PythonSourceSpec
from gpuregress.jobs.spec.resolve.launches import changed_once
from gpuregress.jobs.spec.resolve.python_kernels import Language
from gpuregress.jobs.spec.resolve.scope import Scope, existing_file, existing_function
from gpuregress.toolchain import cubin, cxx_aliases, cxx_declarations, include_scanner, ptx_declarations
from gpuregress.toolchain.build_options.options import NO_OPTIONS, BuildOptions
from gpuregress.toolchain.cxx_declarations import Declaration
from gpuregress.toolchain.include_scanner import SourceInputs

SUFFIXES = (*include_scanner.SUFFIXES, ".ptx", ".cubin")
_QUALIFIED = re.compile(rf"(?P<file>.+(?:{'|'.join(map(re.escape, SUFFIXES))})):(?P<name>[^:].*)", re.DOTALL)


class SourcePath(Record):
    """The path of a source; of a Python source, also what of it is compiled.

    Attributes:
        path: absolute.
        language: of a Python source; "" of others.
        function: in a Python source.
        launch: the entry of `launches` whose own settings a Python source is compiled with; None: the job's.
    """

    path: Path
    language: Language | Literal[""] = ""
    function: str = ""
    launch: int | None = None


class SourcePaths(Record):
    """The paths of a job's sources.

    Attributes:
        own: the job's own `source`, None without one.
        of_launch: entries of `launches`, each with its source.
    """

    own: SourcePath | None
    of_launch: tuple[tuple[int, SourcePath], ...]

    @property
    def launched(self) -> tuple[SourcePath, ...]:
        """The sources that launches take kernels from, the job's own first; that alone where no launch is valid."""
        launched = dict.fromkeys(path for _, path in self.of_launch)
        if self.own is not None and (self.own in launched or not launched):
            launched = {self.own: None, **launched}
        return tuple(launched)


class SourceFile(Record):
    """A source of a job, the files that it is made of, and its options in the project's build."""

    located: SourcePath
    inputs: SourceInputs
    build: BuildOptions = NO_OPTIONS

    @property
    def path(self) -> Path:
        """Its path, absolute."""
        return self.located.path


def locate(file: JobFile, scope: Scope) -> SourcePaths | None:
    """Locate the source of every launch of a case; None if one is missing or invalid, which is reported.

    Args:
        file: the job.
        scope: the case's values.
    """
    job, before = file.job, scope.problems.reported
    own = None
    if job.source is not None:
        own = located(scope, job.source, job.language, ("source",))
    of_launch: list[tuple[int, SourcePath]] = []
    for position, launch in file.launches.items():
        path = own
        if launch.source is not None:
            path = located(scope, launch.source, job.language, ("launches", position, "source"))
        if path is None:
            continue
        if path.language and not launch.written.isdisjoint(PYTHON_SETTINGS):
            path = replace(path, launch=position)
        of_launch.append((position, path))
    if job.source is None:
        _report_missing(file, scope.problems)
    is_valid = scope.problems.reported == before and (own or of_launch)
    return SourcePaths(own, tuple(of_launch)) if is_valid else None


def located(
    scope: Scope, given: str | PythonSourceSpec, language: Literal["triton", "numba", "warp"] | None, key: Key
) -> SourcePath | None:
    """Locate one source; None if it is not there, which is reported.

    Args:
        scope: the case's values.
        given: the source: a path, with `:function` after it for a Python source.
        language: of the job, where the source is in Python.
        key: of the source.
    """
    own_language: Language | None = language
    if isinstance(given, PythonSourceSpec):
        given, own_language, key = given.python, "python", (*key, "python")
    text = scope.text(given, key)
    if text is None:
        return None
    if own_language is None or Path(text.rpartition(":")[0] or text).suffix != ".py":
        path = existing(scope.problems, key, text)
        return SourcePath(path) if path is not None else None
    if not text.rpartition(":")[0].endswith(".py"):
        scope.problems.add(key, f"names no function: write {text}:FUNCTION")
        return None
    found = existing_function(scope.problems, key, text)
    if found is None:
        return None
    file, _, name = found.rpartition(":")
    return SourcePath(Path(file), own_language, name)


def existing(problems: Problems, key: Key, text: str) -> Path | None:
    """Return the absolute path of a source; None if it is not there or no kernel source, which is reported."""
    if re.fullmatch(r".+\.py:\w+", text):  # its language is missing
        text = text.rpartition(":")[0]
    path = existing_file(problems, key, text, "source")
    if path is not None and path.suffix not in SUFFIXES:
        hint = "; for a kernel in Python add language: triton, numba or warp" if path.suffix == ".py" else ""
        problems.add(key, f"unsupported kernel source {path.name}; expected .cu, .ptx or .cubin{hint}")
        return None
    return path


def _report_missing(file: JobFile, problems: Problems) -> None:
    """Report a job without a source of which a launch names none either."""
    entries = file.document.data.get("launches")
    if not isinstance(entries, list):
        entries = []
    without = [at for at, entry in enumerate(entries) if not isinstance(entry, dict) or "source" not in entry]
    if len(without) == len(entries):
        problems.add(("source",), "missing key")
    elif without:
        problems.add(("source",), f"missing key: launches[{without[0]}] names no source of its own")


# --- variables --------------------------------------------------------------------------------------------------------


def with_variables(buffers: Mapping[str, Buffer], files: Sequence[SourceFile], problems: Problems) -> dict[str, Buffer]:
    """Find the source of each buffer that is a variable: every source has variables of its own.

    Args:
        buffers: of a case; `symbol: two.cu:coef` says which source's variable is meant.
        files: the sources.
        problems: collects the errors.
    """
    located = dict(buffers)
    for name, buffer in buffers.items():
        if buffer.symbol is not None:
            located[name] = _with_place(buffer, buffer.symbol, files, problems)
    return located


def _with_place(buffer: Buffer, symbol: str, files: Sequence[SourceFile], problems: Problems) -> Buffer:
    key: Key = ("buffers", buffer.name, "symbol")
    shown = names([file.path for file in files], problems.document.path.parent)
    qualified = _QUALIFIED.fullmatch(symbol)
    if qualified is not None:
        wanted = Path(os.path.normpath(problems.document.path.absolute().parent / qualified["file"]))
        same = [at for at, file in enumerate(files) if file.path == wanted or file.path.name == qualified["file"]]
        if len(same) != 1:
            problem = "is more than one source" if same else "is not a source of this job"
            problems.add(key, f"{qualified['file']} {problem}; its launches use {', '.join(shown)}")
        return replace(buffer, symbol=qualified["name"], symbol_source=same[0] if same else 0)
    if len(files) == 1:
        return buffer
    holders = [at for at, file in enumerate(files) if symbol.rpartition("::")[2] in _variables(file)]
    if len(holders) > 1:
        text = " and ".join(shown[at] for at in holders)
        hint = f"say whose it is: symbol: {shown[holders[0]]}:{symbol}"
        problems.add(key, f"{text} each have a variable {symbol!r} of their own; {hint}")
    return replace(buffer, symbol_source=holders[0]) if holders else buffer


def _variables(file: SourceFile) -> set[str]:
    """Collect the names of a source's variables, without their namespaces."""
    variables: set[str] = set()
    if file.path.suffix == ".py":
        return variables
    if file.path.suffix in include_scanner.SUFFIXES:
        for content in file.inputs.contents:
            variables.update(cxx_declarations.variable_names(content.decode(errors="replace")))
        return variables
    content = file.inputs.contents[0]
    if file.path.suffix == ".ptx":
        mangled = ptx_declarations.parse(content.decode(errors="replace")).variables
    else:
        try:
            mangled = cubin.parse(content).variables
        except ValueError:  # the compilation reports it
            return variables
    for name in mangled:
        variables.update((name, (demangle(name) or name).rpartition("::")[2]))
    return variables


def names(files: Sequence[Path], folder: Path) -> list[str]:
    """Name each source by its file, or by its path from a folder where two files share a name."""
    plain = [path.name for path in files]
    return [path.name if plain.count(path.name) == 1 else os.path.relpath(path, folder.absolute()) for path in files]


# --- choice among overloaded kernels: the declaration that the arguments of a launch fit ------------------------------


_OBJECTS = ("cudaTextureObject_t", "cudaSurfaceObject_t", "CUtensorMap")
_WORDS = ("uint64", "int64")
"""The types that a texture's handle may have."""


def resolved(
    launches: tuple[Launch, ...],
    contents: Sequence[tuple[bytes, ...]],
    buffers: Mapping[str, Buffer],
    defines: Callable[[], Mapping[str, str]],
) -> tuple[Launch, ...]:
    """Return the launches; the kernel of one whose name several kernels have is named with its parameters' types.

    A name stays as it is where not exactly one declaration fits the arguments: the compiler then lists them.

    Args:
        launches: of a case.
        contents: of the sources, each with the files that it includes.
        buffers: of the case.
        defines: the macros of the compilation, wanted only where a name is overloaded.
    """
    overloaded = [_overloaded(texts) for texts in contents]
    if not any(overloaded):
        return launches

    def resolve(launch: Launch) -> Launch:
        if launch.source >= len(contents) or not overloaded[launch.source]:
            return launch
        name = _of_several(launch, overloaded[launch.source], contents[launch.source], buffers, defines)
        return replace(launch, kernel=name) if name != launch.kernel else launch

    return changed_once(launches, resolve)


@functools.lru_cache(maxsize=64)
def _overloaded(contents: tuple[bytes, ...]) -> Mapping[str, tuple[Declaration, ...]]:
    """The kernels of a source and of its headers whose name has several types: name → its declarations."""
    found: dict[str, dict[object, Declaration]] = {}
    for content in contents:
        if content.count(b"__global__") and not content.startswith(b"\x7fELF"):
            for one in cxx_declarations.declarations(content.decode(errors="replace")):
                found.setdefault(one.name, {}).setdefault((bool(one.template), one.type_words), one)
    return {name: tuple(known.values()) for name, known in found.items() if len(known) > 1}


def _of_several(
    launch: Launch,
    overloaded: Mapping[str, tuple[Declaration, ...]],
    contents: tuple[bytes, ...],
    buffers: Mapping[str, Buffer],
    defines: Callable[[], Mapping[str, str]],
) -> str:
    """Return the name of a launch's kernel, with the types of its parameters if exactly one of several fits.

    One whose types are those of the arguments is preferred to one whose types may be.
    """
    if launch.kernel.startswith("_Z") or cxx_declarations.split_signature(launch.kernel)[1] is not None:
        return launch.kernel
    plain = cxx_declarations.strip_template_arguments(launch.kernel)
    given = cxx_declarations.template_arguments(launch.kernel)
    same = [one for one in overloaded.get(plain.removeprefix("::"), ()) if bool(one.template) == bool(given)]
    if len(same) < 2:
        return launch.kernel
    aliases = cxx_aliases.aliases([content.decode(errors="replace") for content in contents], defines())
    for may_take in (operator.eq, _may_take):
        fitting = [declared for declared in same if _takes(declared, launch, buffers, aliases, may_take)]
        if len(fitting) == 1:
            return fitting[0].signature(given)
    return launch.kernel


def _takes(
    declared: Declaration,
    launch: Launch,
    buffers: Mapping[str, Buffer],
    aliases: Mapping[str, str],
    may_take: Callable[[str, str | None], bool],
) -> bool:
    """Tell whether a kernel takes the arguments of a launch."""
    if len(declared.parameters) != len(launch.args):
        return False
    pointees = cxx_aliases.pointees(launch.kernel, declared, aliases)
    values = cxx_aliases.values(launch.kernel, declared, aliases)
    for argument, parameter, pointee, value in zip(launch.args, declared.parameters, pointees, values, strict=True):
        buffer = buffers.get(argument.buffer) if argument.kind == "buffer" else None
        if argument.as_map or (buffer is not None and buffer.texture is not None):
            fits = value in _WORDS or any(name in parameter.type for name in _OBJECTS)
        elif argument.kind == "struct":
            fits = not parameter.pointer and value is None
        elif argument.kind == "scalar":
            fits = not parameter.pointer and may_take(argument.dtype, value)
        else:
            fits = parameter.pointer and (buffer is None or argument.untyped or may_take(buffer.dtype, pointee))
        if not fits:
            return False
    return True


def _may_take(given: str, wanted: str | None) -> bool:
    """Tell whether a type that may not be known is one of the same kind and size."""
    if wanted is None:
        return True
    scalar, other = dtypes.parse(given).only_scalar, dtypes.parse(wanted).only_scalar
    if given.startswith("{") or scalar is None or other is None:
        return False
    return scalar.holds(other) or (scalar.size == other.size == 2 and scalar.is_float != other.is_float)

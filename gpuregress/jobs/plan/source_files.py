"""Source files of a job, and which kernel of them an overloaded name means."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from gpuregress.foundation import dtypes, records
from gpuregress.foundation.document.problems import Problems
from gpuregress.foundation.document.reader import Key
from gpuregress.foundation.records import Argument, Buffer, Launch
from gpuregress.gpu.demangle import demangle
from gpuregress.gpu.records import Record, replace
from gpuregress.jobs.spec.load import JobFile
from gpuregress.jobs.spec.models.job import JobSpec
from gpuregress.jobs.spec.models.values import PythonSourceSpec
from gpuregress.jobs.spec.resolve.python_kernels import Language
from gpuregress.jobs.spec.resolve.scope import Scope, existing_file, existing_function
from gpuregress.toolchain import cubin, cxx_aliases, cxx_declarations, include_scanner, ptx_declarations
from gpuregress.toolchain.cxx_declarations import CxxParameter, Declaration
from gpuregress.toolchain.include_scanner import SourceInputs

SUFFIXES = (*include_scanner.SUFFIXES, ".ptx", ".cubin")
_OWN_SETTINGS = frozenset({"signature", "constants", "num_warps", "num_stages", "num_ctas"})
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
        of_launch: entry of `launches` → its source.
    """

    own: SourcePath | None
    of_launch: Mapping[int, SourcePath]

    @property
    def launched(self) -> tuple[SourcePath, ...]:
        """The sources that launches take kernels from, the job's own first; that alone where no launch is valid."""
        used = dict.fromkeys(self.of_launch.values())
        own = [self.own] if self.own is not None and (self.own in used or not used) else []
        return tuple(dict.fromkeys((*own, *used)))


class SourceFile(Record):
    """A source of a job, and the files that it is made of."""

    located: SourcePath
    inputs: SourceInputs

    @property
    def path(self) -> Path:
        """Its path, absolute."""
        return self.located.path


class SourceText(Record):
    """A source as its job writes it, the templates filled.

    Attributes:
        text: a path, with `:function` behind it for a Python source.
        language: of a Python source; "" of others.
    """

    text: str
    language: Language | Literal[""] = ""


class SourceTexts(Record):
    """The sources of a case as its job writes them, the templates filled.

    Attributes:
        own: the job's own, None without one.
        of_launch: entry of `launches` and its own source, None without one.
    """

    own: SourceText | None
    of_launch: tuple[tuple[int, SourceText | None], ...]


def texts(file: JobFile, scope: Scope) -> SourceTexts | None:
    """Fill the templates of a job's sources; None if one is invalid, which is reported.

    Args:
        file: the job.
        scope: the case's values.
    """
    job, before = file.job, scope.problems.reported
    own = _text(scope, job, job.source, ("source",))
    numbered = zip(file.positions("launches"), job.launches, strict=True)
    of_launch = tuple((at, _text(scope, job, launch.source, ("launches", at, "source"))) for at, launch in numbered)
    return SourceTexts(own, of_launch) if scope.problems.reported == before else None


def _text(scope: Scope, job: JobSpec, given: str | PythonSourceSpec | None, key: Key) -> SourceText | None:
    """Fill the templates of one source; one of another file type than `.py` has no language."""
    if given is None:
        return None
    if isinstance(given, PythonSourceSpec):
        function = scope.text(given.python, (*key, "python"))
        return None if function is None else SourceText(function, "python")
    text = scope.text(given, key)
    if text is None:
        return None
    is_python = job.language is not None and Path(text.rpartition(":")[0] or text).suffix == ".py"
    return SourceText(text, job.language or "" if is_python else "")


def locate(file: JobFile, problems: Problems, given: SourceTexts) -> SourcePaths | None:
    """Locate the source of every launch; None if one is missing or invalid, which is reported.

    Args:
        file: the job.
        problems: collects the errors.
        given: from `texts`.
    """
    before = problems.reported
    own = _located(problems, ("source",), given.own) if given.own is not None else None
    of_launch: dict[int, SourcePath] = {}
    settings = dict(zip(file.positions("launches"), file.job.launches, strict=True))
    for position, text in given.of_launch:
        path = own if text is None else _located(problems, ("launches", position, "source"), text)
        if path is not None:
            has_own = path.language and _OWN_SETTINGS & settings[position].written
            of_launch[position] = replace(path, launch=position) if has_own else path
    if given.own is None:
        _report_missing(file, problems)
    return SourcePaths(own, of_launch) if problems.reported == before and (own or of_launch) else None


def _located(problems: Problems, key: Key, given: SourceText) -> SourcePath | None:
    """Locate one source; None if it is not there, which is reported."""
    if not given.language:
        path = existing(problems, key, given.text)
        return SourcePath(path) if path is not None else None
    if given.language == "python":
        key = (*key, "python")
    if not given.text.rpartition(":")[0].endswith(".py"):
        problems.add(key, f"names no function: write {given.text}:FUNCTION")
        return None
    found = existing_function(problems, key, given.text)
    if found is None:
        return None
    file, _, name = found.rpartition(":")
    return SourcePath(Path(file), given.language, name)


def of_reference(
    file: JobFile, problems: Problems, key: Key, text: str, language: Literal["triton", "numba"] | None
) -> SourcePath | None:
    """Locate the source of a reference's kernels; None if it is not there, which is reported.

    Args:
        file: the job.
        problems: collects the errors.
        key: of the reference's source.
        text: the source, its templates filled.
        language: the reference's own; None: the job's, where the source is in Python.
    """
    is_python = Path(text.rpartition(":")[0] or text).suffix == ".py"
    return _located(problems, key, SourceText(text, language or file.job.language or "" if is_python else ""))


def existing(problems: Problems, key: Key, text: str) -> Path | None:
    """Return the absolute path of a source; None if it is not there or no kernel source, which is reported."""
    is_python = re.fullmatch(r".+\.py:\w+", text)  # its language is missing
    path = existing_file(problems, key, text.rpartition(":")[0] if is_python else text, "source")
    if path is not None and path.suffix not in SUFFIXES:
        hint = "; for a kernel in Python add language: triton or numba" if path.suffix == ".py" else ""
        problems.add(key, f"unsupported kernel source {path.name}; expected .cu, .ptx or .cubin{hint}")
        return None
    return path


def _report_missing(file: JobFile, problems: Problems) -> None:
    """Report a job without a source of which a launch names none either."""
    written = file.document.data.get("launches")
    entries = written if isinstance(written, list) else []
    without = [at for at, entry in enumerate(entries) if not (isinstance(entry, dict) and "source" in entry)]
    if without and len(without) < len(entries):
        problems.add(("source",), f"missing key: launches[{without[0]}] names no source of its own")
    elif len(without) == len(entries):
        problems.add(("source",), "missing key")


# --- variables --------------------------------------------------------------------------------------------------------


def with_variables(buffers: Mapping[str, Buffer], files: Sequence[SourceFile], problems: Problems) -> dict[str, Buffer]:
    """Find the source of each buffer that is a variable: every source has variables of its own.

    Args:
        buffers: of a case; `symbol: two.cu:coef` says which source's variable is meant.
        files: the sources.
        problems: collects the errors.
    """
    return {
        name: buffer if buffer.symbol is None else _with_place(buffer, buffer.symbol, files, problems)
        for name, buffer in buffers.items()
    }


def _with_place(buffer: Buffer, symbol: str, files: Sequence[SourceFile], problems: Problems) -> Buffer:
    key: Key = ("buffers", buffer.name, "symbol")
    shown = names([file.path for file in files], problems.document.path.parent)
    qualified = _QUALIFIED.fullmatch(symbol)
    if qualified is not None:
        wanted = Path(os.path.normpath(problems.document.path.absolute().parent / qualified["file"]))
        named = [at for at, file in enumerate(files) if wanted == file.path or qualified["file"] == file.path.name]
        if len(named) != 1:
            which = "is more than one source" if named else "is no source of this job"
            problems.add(key, f"{qualified['file']} {which}; its launches use {', '.join(shown)}")
        return replace(buffer, symbol=qualified["name"], symbol_source=named[0] if named else 0)
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
    if file.path.suffix in include_scanner.SUFFIXES:
        texts = (content.decode(errors="replace") for content in file.inputs.contents)
        return {name for text in texts for name in cxx_declarations.variable_names(text)}
    if file.path.suffix == ".py":
        return set()
    if file.path.suffix == ".ptx":
        mangled = ptx_declarations.parse(file.inputs.contents[0].decode(errors="replace")).variables
        return {name for one in mangled for name in (one, (demangle(one) or one).rpartition("::")[2])}

    try:
        mangled = cubin.parse(file.inputs.contents[0]).variables
    except ValueError:  # the compilation reports it
        return set()
    return {name for one in mangled for name in (one, (demangle(one) or one).rpartition("::")[2])}


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
    buffers: Mapping[str, records.Buffer],
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
    several = [_overloaded(one) for one in contents]
    if not any(several):
        return launches
    chosen: dict[int, Launch] = {}  # a step that is repeated a million times stays one object
    for launch in {id(launch): launch for launch in launches}.values():
        names = several[launch.source] if launch.source < len(several) else {}
        name = _of_several(launch, names, contents[launch.source], buffers, defines) if names else launch.kernel
        chosen[id(launch)] = replace(launch, kernel=name) if name != launch.kernel else launch
    return tuple(chosen[id(launch)] for launch in launches)


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
    several: Mapping[str, tuple[Declaration, ...]],
    contents: tuple[bytes, ...],
    buffers: Mapping[str, records.Buffer],
    defines: Callable[[], Mapping[str, str]],
) -> str:
    plain = cxx_declarations.strip_template_arguments(launch.kernel)
    given = cxx_declarations.template_arguments(launch.kernel)
    is_told = launch.kernel.startswith("_Z") or cxx_declarations.split_signature(launch.kernel)[1] is not None
    same = [one for one in several.get(plain.removeprefix("::"), ()) if bool(one.template) == bool(given)]
    if is_told or len(same) < 2:
        return launch.kernel
    aliases = cxx_aliases.aliases([content.decode(errors="replace") for content in contents], defines())
    for judge in (_is_exact, _is_possible):
        fitting = [one for one in same if _takes(one, launch, buffers, aliases, judge)]
        if len(fitting) == 1:
            return fitting[0].signature(given)
    return launch.kernel


def _takes(
    declared: Declaration,
    launch: Launch,
    buffers: Mapping[str, records.Buffer],
    aliases: Mapping[str, str],
    judge: Callable[[str, str | None], bool],
) -> bool:
    """Tell whether a kernel takes the arguments of a launch."""
    if len(declared.parameters) != len(launch.args):
        return False
    pointees = cxx_aliases.pointees(launch.kernel, declared, aliases)
    values = cxx_aliases.values(launch.kernel, declared, aliases)
    pairs = zip(launch.args, declared.parameters, pointees, values, strict=True)
    return all(
        _fits(argument, parameter, pointee, value, buffers, judge) for argument, parameter, pointee, value in pairs
    )


def _fits(
    argument: Argument,
    parameter: CxxParameter,
    pointee: str | None,
    value: str | None,
    buffers: Mapping[str, records.Buffer],
    judge: Callable[[str, str | None], bool],
) -> bool:
    buffer = buffers.get(argument.buffer) if argument.kind == "buffer" else None
    if argument.as_map or (buffer is not None and buffer.texture is not None):
        return value in _WORDS or any(name in parameter.type for name in _OBJECTS)
    if argument.kind == "struct":
        return not parameter.pointer and value is None
    if argument.kind == "scalar":
        return not parameter.pointer and judge(argument.dtype, value)
    return parameter.pointer and (buffer is None or argument.untyped or judge(buffer.dtype, pointee))


def _is_exact(own: str, wanted: str | None) -> bool:
    return own == wanted


def _is_possible(own: str, wanted: str | None) -> bool:
    """Tell whether a type that may not be known is one of the same kind and size."""
    if wanted is None:
        return True
    element, other = dtypes.parse(own), dtypes.parse(wanted)
    scalars = [{part.scalar for part in one.parts} for one in (element, other)]
    if own.startswith("{") or any(len(one) != 1 for one in scalars):
        return False
    (one,), (two,) = scalars
    return one.holds(two) or (one.size == two.size == 2 and one.is_float != two.is_float)

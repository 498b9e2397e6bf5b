"""Source files of a job: its own `source`, and those that its launches name."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from gpuregress.foundation.document.problems import Problems
from gpuregress.foundation.document.reader import Key
from gpuregress.foundation.records import Buffer
from gpuregress.gpu.demangle import demangle
from gpuregress.gpu.records import Record, replace
from gpuregress.jobs.spec.load import JobFile
from gpuregress.jobs.spec.models.job import JobSpec
from gpuregress.jobs.spec.models.values import PythonSourceSpec
from gpuregress.jobs.spec.resolve import paths
from gpuregress.jobs.spec.resolve.python_kernels import Language
from gpuregress.jobs.spec.resolve.scope import Scope
from gpuregress.toolchain import SourceInputs, cxx_declarations, include_scanner, ptx_declarations

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
    found = paths.existing_function(problems, key, given.text)
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
    path = paths.existing(problems, key, text.rpartition(":")[0] if is_python else text, "source")
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
    from gpuregress.toolchain import cubin  # noqa: PLC0415 - seldom needed

    try:
        mangled = cubin.parse(file.inputs.contents[0]).variables
    except ValueError:  # the compilation reports it
        return set()
    return {name for one in mangled for name in (one, (demangle(one) or one).rpartition("::")[2])}


def names(files: Sequence[Path], folder: Path) -> list[str]:
    """Name each source by its file, or by its path from a folder where two files share a name."""
    plain = [path.name for path in files]
    return [path.name if plain.count(path.name) == 1 else os.path.relpath(path, folder.absolute()) for path in files]

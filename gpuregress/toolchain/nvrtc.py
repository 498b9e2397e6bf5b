"""Compilation of CUDA C++ to PTX by NVRTC; needs no GPU, driver or CUDA toolkit."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpuregress.foundation.errors import CompileError, HarnessError, InfeasibleSource, UnknownNames
from gpuregress.foundation.records import HARNESS_FILE, HARNESS_KERNEL, LineEdit, Source
from gpuregress.gpu.demangle import demangle
from gpuregress.gpu.records import Record, replace
from gpuregress.toolchain import (
    compiler_messages,
    cxx_declarations,
    include_scanner,
    kernel_text,
    local_arrays,
    ptx_declarations,
)
from gpuregress.toolchain.headers import host_headers, virtual_headers
from gpuregress.toolchain.host_code import path_macros, unknown_names
from gpuregress.toolchain.host_code.unit import UnitBuilder, words
from gpuregress.toolchain.include_scanner import SourceInputs

if TYPE_CHECKING:
    from gpuregress.toolchain.host_code.unit import TranslationUnit, UnitBuilder
from gpuregress.toolchain.cxx_declarations import Declaration


class NvrtcResult(Record):
    """The result of compiling a source with NVRTC.

    Attributes:
        ptx: not yet pinned; its `.file` lines name files as the project does, not as this machine does.
        kernels: C++ name → mangled name, for each name asked for.
        symbols: the same for variables.
        compiler: `nvrtc 13.5.37`, the release that the PTX itself names.
        warnings: the compiler's own words, "" if it had none.
        shows_folder: whether the PTX depends on the folder of the project, as through `__FILE__` in a header.
        local_arrays: edits of the PTX that make local arrays variables of their own.
    """

    ptx: str
    kernels: Mapping[str, str]
    symbols: Mapping[str, str]
    compiler: str
    warnings: str
    shows_folder: bool = False
    local_arrays: tuple[LineEdit, ...] = ()


_GIVEN = frozenset(["-lineinfo", "--generate-line-info", "-device-int128", "--device-int128"])
"""Options of every program; given twice, they are an error or a warning."""


def options_for(source: Source) -> tuple[str, ...]:
    """Return NVRTC's options without folders, which differ between machines: part of the cache's key.

    Raises:
        CompileError: an option chooses the architecture, which the device does.
    """
    for option in source.options:
        if re.match(r"-{1,2}(gpu-architecture|arch)\b", option):
            raise CompileError(
                f"compile option {option}: the device chooses the architecture ({source.arch}); leave it out"
            )
    rest, *_ = _split_folders(source.options)
    standard = () if any(re.match(r"-{1,2}std\b", option) for option in source.options) else ("--std=c++17",)
    return (
        f"--gpu-architecture=compute_{source.arch.removeprefix('sm_')}",
        *standard,
        "--generate-line-info",
        "--device-int128",  # nvcc's default
        *(
            f"--define-macro={name}={value}" if value else f"--define-macro={name}"
            for name, value in source.defines.items()
        ),
        *(option for option in rest if option not in _GIVEN),
    )


def search_folders(source: Source) -> tuple[Path, ...]:
    """Return the project's folders that NVRTC searches, in order: the source's own, the job's, those in its options."""
    folder = Path(source.path).parent
    named = _split_folders(source.options)[1]
    folders = [folder, *(Path(name) for name in source.include), *(folder / name for name in named)]
    return tuple(dict.fromkeys(Path(os.path.realpath(path)) for path in folders))


def inputs(source: Source) -> SourceInputs:
    """Return the files that decide the result of compiling a source.

    Raises:
        OSError: the source cannot be read.
    """
    _, _, included = _split_folders(source.options)
    files = include_scanner.scan(Path(source.path), search_folders(source), included)
    odd = [option for option in source.options if _reads_files(option)]
    odd += [f"-D{name}={text}" for name, text in source.defines.items() if include_scanner.is_telling(text)]
    return replace(files, unknown=f"option {odd[0]}") if odd and not files.unknown else files


def _reads_files(option: str) -> bool:
    """Tell whether an option reads files in a way that is not known here, such as a precompiled header."""
    is_understood = re.fullmatch(r"(?:-include|--pre-include|--include-path)(?:=.*)?", option) is not None
    return not is_understood and ("pch" in option or "include" in option or include_scanner.is_telling(option))


def _split_folders(options: Iterable[str]) -> tuple[list[str], list[str], list[str]]:
    """Separate the options that name folders and headers from the others."""
    rest: list[str] = []
    folders: list[str] = []
    included: list[str] = []
    words = iter(options)
    for word in words:
        match = re.fullmatch(r"(?:(-I|--include-path(?:=|$))|(?:-include|--pre-include)(?:=|$))(.*)", word)
        if match is None:
            rest.append(word)
        else:
            (folders if match[1] else included).append(match[2].strip() or next(words, ""))
    return rest, folders, included


_GAVE_UP = "Compilation aborted."
"""What NVRTC says where it gives no reason."""

UNIT = "gpuregress_unit"
_UNIT = f'#line 1 "{HARNESS_FILE}"\nextern "C" __device__ void {UNIT}() {{}}\n'
"""The first external symbol of every source, which compiled code without debug information does not contain.

The compiler makes the names of internal variables and functions (`static`, or of an unnamed namespace) unique by the
first external symbol. Where there is none, as in a source of templates, it takes the path and the process's id.
"""
_MOST_ATTEMPTS = 5
_DEFAULT_DEVICE = ("-default-device", "--device-as-default-execution-space")
"""Options with which functions without annotation are device code."""


class _Attempt(Record):
    """One compilation of texts: the result, or None and the log that says why."""

    unit: TranslationUnit
    result: NvrtcResult | None
    log: str


def compiled_unit(source: Source) -> TranslationUnit:
    """Return the texts that NVRTC compiles: without host code, unless the source keeps it.

    What the grammar leaves and the compiler refuses is gone, too, where the compiler is installed.

    Raises:
        CompileError: the source cannot be read.
    """
    try:
        files = inputs(source)
    except OSError as error:
        path = compiler_messages.shown(Path(source.path))
        raise CompileError(f"cannot read {path}: {error.strerror or error}") from error
    text = files.contents[0].decode(errors="replace")
    try:
        tried = [_attempts(source, one) for one in _texts(source, text)]
    except HarnessError:
        return _builder(source, files, text).unit()
    return next((attempts[-1].unit for attempts in tried if attempts[-1].result is not None), tried[-1][0].unit)


def compiled_text(source: Source) -> str:
    """Return the text that the compiler gets, and those of the project's headers that differ from what is on disk.

    Raises:
        CompileError: the source cannot be read.
    """
    if Path(source.path).suffix not in include_scanner.SUFFIXES:
        raise CompileError(f"{Path(source.path).name} has no host code: it is taken as it is")
    unit = compiled_unit(source)
    headers = (f"// {compiler_messages.shown(Path(path))}\n{text}" for path, text in unit.headers.items())
    return "\n".join((unit.text, *headers))


def compile_source(source: Source, text: str) -> NvrtcResult:
    """Compile a source.

    Kernels that nobody asked for are not instantiated: they would take most of the time of a library's source.

    Args:
        source: what to compile, with the names that must be there.
        text: the source's content.

    Raises:
        CompileError: it does not compile, or a name is not there.
        HarnessError: NVRTC is not installed, or too old for the architecture.
    """
    *fewer, whole = _texts(source, text)
    for one in fewer:
        with contextlib.suppress(CompileError, UnknownNames):  # what is wrong is told of the whole text
            return _compile_text(source, one)
    return _compile_text(source, whole)


def _texts(source: Source, text: str) -> list[str]:
    """The texts to compile, one after the other until one does."""
    fewer = kernel_text.without_instantiations(text) if source.kernels else text
    return list(dict.fromkeys((fewer, text)))


def _compile_text(source: Source, text: str) -> NvrtcResult:
    attempts = _attempts(source, text)
    first, last = attempts[0], attempts[-1]
    if last.result is not None:
        return replace(last.result, local_arrays=_local_arrays(source, last.unit, last.result.ptx))
    folders = search_folders(source)
    own = compiler_messages.error_places(first.log, source, folders)
    is_genuine = bool(own & compiler_messages.error_places(last.log, source, folders))
    raise _failure(source, text, last.log if is_genuine else first.log, folders)


def _local_arrays(source: Source, unit: TranslationUnit, ptx: str) -> tuple[LineEdit, ...]:
    """Find the edits that make local arrays variables of their own; few programs need a second compilation for it."""
    if not local_arrays.has_several_offsets(ptx):
        return ()
    texts = {path: local_arrays.with_gaps(text) for path, text in unit.headers.items()}
    padded = replace(unit, text=local_arrays.with_gaps(unit.text), headers=texts)
    if padded == unit:
        return ()
    result = _attempt(_bindings(), source, padded, search_folders(source)).result
    return () if result is None else local_arrays.edits(ptx, result.ptx)


def _attempts(source: Source, text: str) -> list[_Attempt]:
    """Compile without host code, and again without what the compiler's errors show to be the host's."""
    nvrtc = _bindings()
    folders = search_folders(source)
    builder = _builder(source, inputs(source), text)
    attempts = [_attempt(nvrtc, source, builder.unit(), folders)]
    while attempts[-1].result is None and len(attempts) < _MOST_ATTEMPTS:
        if not builder.drop(compiler_messages.error_places(attempts[-1].log, source, folders)):
            break
        attempts.append(_attempt(nvrtc, source, builder.unit(), folders))
    return attempts


def _builder(source: Source, files: SourceInputs, text: str) -> UnitBuilder:
    """Parse a source with its files; one that keeps its host code is not parsed."""
    texts = [text, *(content.decode(errors="replace") for content in files.contents[1:])]
    asked = [*source.kernels, *source.symbols, *source.defines.values(), *source.options, source.harness]
    keeps = source.host_code == "keep" or any(option in _DEFAULT_DEVICE for option in source.options)
    folders = search_folders(source)
    return UnitBuilder(files.files, texts, folders, words(asked), (host_headers.torch_text(),), keeps=keeps)


def _attempt(
    nvrtc: Any,
    source: Source,
    given: TranslationUnit,
    folders: tuple[Path, ...],
    signatures: Mapping[str, str] | None = None,
) -> _Attempt:
    path = folders[0] / Path(source.path).name
    texts = (given.text, *given.headers.values())
    virtual = virtual_headers.virtual_headers(folders, texts)
    if not given.uses_library and "std" not in source.harness:
        virtual |= dict.fromkeys(virtual_headers.LIBRARY & virtual.keys(), virtual_headers.WITHOUT_LIBRARY)
    unknown = [name for name in given.missing if name not in virtual]
    implied = host_headers.implied(texts)
    asked = name_expressions(() if source.harness else source.kernels, signatures or {})
    virtual |= {**host_headers.shims(unknown, texts), **given.headers}
    program = _checked(
        nvrtc.nvrtcCreateProgram(
            # The path lets `#include "…"` begin beside the source; the line keeps it out of messages, __FILE__ and PTX.
            f'{implied}{_UNIT}#line 1 "{path.name}"\n{given.text}{source.harness}{asked.text}'.encode(),
            str(path).encode(),
            len(virtual),
            [content.encode() for content in virtual.values()],
            [name.encode() for name in virtual],
        ),
    )
    try:
        attempt = _compile(nvrtc, program, source, given, folders, asked)
    finally:
        nvrtc.nvrtcDestroyProgram(program)
    if attempt.result is None and signatures is None and compiler_messages.OVERLOADED in attempt.log:
        declared = [one for text in texts for one in cxx_declarations.declarations(text)]
        known = overload_signatures(asked.expressions, declared)
        again = _attempt(nvrtc, source, given, folders, known) if known else attempt
        return again if again.result is not None else attempt
    return attempt


def _compile(
    nvrtc: Any,
    program: Any,
    source: Source,
    given: TranslationUnit,
    folders: tuple[Path, ...],
    asked: NameExpressions,
) -> _Attempt:
    managed = _managed(source.symbols, (given.text, *given.headers.values()))
    expressions = {
        **asked.expressions,
        **{name: f"&{name}" for name in source.symbols if name not in managed},
    }
    for expression in expressions.values():
        _checked(nvrtc.nvrtcAddNameExpression(program, expression.encode()))
    options = [
        *options_for(source),
        f"--pre-include={virtual_headers.PRELUDE}",
        *(f"--pre-include={include_scanner.find(name, folders)}" for name in _split_folders(source.options)[2]),
        *(f"--include-path={folder}" for folder in (*folders, *virtual_headers.cuda_folders())),
    ]
    (result,) = nvrtc.nvrtcCompileProgram(program, len(options), [option.encode() for option in options])
    log = _text(program, nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog)
    if log.strip() == _GAVE_UP and expressions:
        # The names asked for end NVRTC where the source ends in the middle of a declaration: without them it tells.
        without = _attempt(nvrtc, replace(source, kernels=(), symbols=()), given, folders, {})
        return replace(without, result=None, log=without.log or log)
    if int(result) != 0:
        return _Attempt(given, None, log or f"nvrtc: error: {result.name}")
    ptx = _text(program, nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX)
    lowered = {
        name: _checked(nvrtc.nvrtcGetLoweredName(program, expression.encode())).decode()
        for name, expression in expressions.items()
    }
    lowered |= _declared(managed, ptx, source, given.text)
    lowered |= _with_mangled_names(asked.mangled, ptx, source, given.text)
    compiled = NvrtcResult(
        compiler_messages.portable_paths(ptx, (*folders, *virtual_headers.cuda_folders())),
        {name: lowered.get(name, HARNESS_KERNEL) for name in source.kernels},
        {name: lowered[name] for name in source.symbols},
        f"nvrtc {_release(ptx)}",
        compiler_messages.locations(log, source).strip(),
        _shows_folder(source, given, ptx, folders),
    )
    return _Attempt(given, compiled, log)


def _shows_folder(source: Source, given: TranslationUnit, ptx: str, folders: tuple[Path, ...]) -> bool:
    """Tell whether the PTX depends on the folder of the project."""
    files = inputs(source)
    if path_macros.shows_folder(ptx, (*folders, *(file.parent for file in files.files))):
        return True
    defined = [f"{name}={text}" for name, text in source.defines.items()]
    defined += [option.removeprefix("--define-macro").lstrip("-D= ") for option in source.options]
    if not path_macros.mentions_path((*files.contents, *(one.encode() for one in defined))):
        return False
    read = zip(files.files[1:], files.contents[1:], strict=True)
    headers = [given.headers.get(str(file.resolve())) or content.decode(errors="replace") for file, content in read]
    return path_macros.expands_path((given.text + source.harness, *headers), defined)


def _managed(symbols: Iterable[str], texts: Iterable[str]) -> tuple[str, ...]:
    """Find the managed variables among symbols: NVRTC refuses their addresses as name expressions."""
    declared = re.findall(r"\b__managed__\b([^;{}()=]*)", "\n".join(texts))
    names = {word for text in declared for word in re.findall(r"\w+", text)}
    return tuple(name for name in symbols if name.rpartition("::")[2] in names)


def _declared(names: Iterable[str], ptx: str, source: Source, text: str) -> dict[str, str]:
    """Find variables by the names that the PTX declares.

    Raises:
        UnknownNames: it has no such variable.
    """
    declared = {demangle(one) or one: one for one in ptx_declarations.parse(ptx).variables} if names else {}
    missing = [name for name in names if name.removeprefix("::") not in declared]
    if missing:
        raise UnknownNames(unknown_names.explain(missing, source, text))
    return {name: declared[name.removeprefix("::")] for name in names}


def _with_mangled_names(names: Iterable[str], ptx: str, source: Source, text: str) -> dict[str, str]:
    """Find kernels by their mangled names.

    Raises:
        UnknownNames: the PTX has no such kernel.
    """
    missing = [name for name in names if re.search(rf"\.entry\s+{re.escape(name)}\b", ptx) is None]
    if missing:
        raise UnknownNames(unknown_names.explain(missing, source, text))
    return {name: name for name in names}


def _failure(source: Source, text: str, log: str, folders: tuple[Path, ...]) -> CompileError:
    """The error that a compiler's log tells."""
    named = () if source.harness else source.kernels
    asked = name_expressions(named, {})
    names = {
        **{expression: name for name, expression in asked.expressions.items()},
        **dict(zip(named, named, strict=True)),
    }
    unknown = compiler_messages.unknown_names(log, (*names, *source.symbols), asked.of_line)
    unknown = tuple(names.get(one, one) for one in unknown)
    if unknown:
        return UnknownNames(unknown_names.explain(unknown, source, text))
    uncallable = compiler_messages.harness_error(log) if source.harness else ""
    if uncallable and source.kernels:
        return UnknownNames({name: f"{name} cannot be called: {uncallable}" for name in source.kernels})
    refused = InfeasibleSource if compiler_messages.is_infeasible(log) else CompileError
    return refused(compiler_messages.explain(log, source, folders))


def _release(ptx: str) -> str:
    match = re.search(r"release [\d.]+, V([\d.]+)", ptx)
    return match[1] if match else "unknown"


def _text(program: Any, size_of: Any, read: Any) -> str:
    size: int = _checked(size_of(program))
    # The bindings write into a bytes object. Never one of length 1: Python shares those, and all others would change.
    buffer = bytes(size + 1)
    _checked(read(program, buffer))
    return buffer.rstrip(b"\0").decode(errors="replace")


def _checked(answer: tuple[Any, ...]) -> Any:
    if int(answer[0]) != 0:
        raise HarnessError(f"NVRTC failed: {answer[0].name}")
    return answer[1] if len(answer) > 1 else None


def _bindings() -> Any:
    try:
        from cuda.bindings import nvrtc  # noqa: PLC0415 - heavy, and not there on a host that only runs cached cubins

        (status, _, _) = nvrtc.nvrtcVersion()
    except (ImportError, RuntimeError) as error:
        raise HarnessError(
            f"NVRTC cannot be loaded ({_first_line(error)}): `pip install cuda-bindings nvidia-cuda-nvrtc` brings it; "
            "or compile elsewhere with `gpuregress build` and name its folder with GPUREGRESS_CACHE",
        ) from error
    if int(status) != 0:
        raise HarnessError(f"NVRTC does not answer: {status.name}")
    return nvrtc


def _first_line(error: BaseException) -> str:
    lines: Iterable[str] = str(error).splitlines()
    return next(iter(lines), type(error).__name__)


# --- name expressions: the texts for which NVRTC returns the mangled names of kernels ---------------------------------


_ALIAS = "gpuregress_overload_{}"


class NameExpressions(Record):
    """What the compiler is asked for.

    Attributes:
        expressions: name in the job → expression.
        mangled: the names that are to be in the PTX as they are.
        text: behind the source: a line for each alias.
        of_line: the name of each of these lines.
    """

    expressions: Mapping[str, str]
    mangled: tuple[str, ...] = ()
    text: str = ""
    of_line: tuple[str, ...] = ()


def name_expressions(names: Iterable[str], signatures: Mapping[str, str]) -> NameExpressions:
    """Write the name expressions of kernels.

    Args:
        names: as the job has them.
        signatures: a name without parameters → that with them, where the compiler needs it.
    """
    asked: dict[str, str] = {}
    mangled: list[str] = []
    lines: list[str] = []
    of_line: list[str] = []
    for name in names:
        spelled = signatures.get(name, cxx_declarations.readable(name))
        plain, types = cxx_declarations.split_signature(spelled)
        if name.startswith("_Z") and "<" not in plain:
            mangled.append(name)
        elif types is None:
            asked[name] = spelled
        else:
            scope = cxx_declarations.strip_template_arguments(plain).removeprefix("::").rpartition("::")[0]
            alias = _ALIAS.format(len(lines))
            given = ", ".join(map(cxx_declarations.spelled, types))
            opened = "".join(f"namespace {space} {{ " for space in scope.split("::") if space)
            lines.append(f"{opened}typedef void (*{alias})({given});{' }' * opened.count('{')}")
            of_line.append(name)
            asked[name] = f"static_cast<{f'{scope}::' if scope else ''}{alias}>(&{plain})"
    text = "\n".join(("", f'#line 1 "{HARNESS_FILE}"', *lines, "")) if lines else ""
    return NameExpressions(asked, tuple(mangled), text, tuple(of_line))


def overload_signatures(names: Iterable[str], declared: Iterable[Declaration]) -> dict[str, str]:
    """Find the signatures of names without parameters that one declaration of a source has, as a library may, too.

    Args:
        names: as the job has them.
        declared: the kernels of the source and of its headers.
    """
    found: dict[str, str] = {}
    for name in names:
        given = cxx_declarations.template_arguments(name)
        same = {
            (one.name, one.type_words): one
            for one in cxx_declarations.overloads(declared, name)
            if bool(one.template) == bool(given)
        }
        if len(same) == 1 and not name.startswith("_Z") and cxx_declarations.split_signature(name)[1] is None:
            (only,) = same.values()
            found[name] = only.signature(given)
    return found

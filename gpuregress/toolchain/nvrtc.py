"""Compilation of CUDA C++ to PTX by NVRTC; needs no GPU, driver or CUDA toolkit."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from gpuregress.foundation.errors import CompileError, HarnessError, InfeasibleSource, UnknownNames
from gpuregress.foundation.records import HARNESS_FILE, HARNESS_KERNEL, LineEdit, Source
from gpuregress.gpu.demangle import demangle
from gpuregress.gpu.records import Record, replace
from gpuregress.toolchain import (
    compiler_messages,
    cxx_declarations,
    debug_types,
    include_scanner,
    kernel_text,
    local_arrays,
    precompiled_headers,
    ptx_declarations,
    unknown_names,
)
from gpuregress.toolchain.cxx_declarations import Declaration
from gpuregress.toolchain.functions import harness
from gpuregress.toolchain.headers import host_headers, virtual_headers
from gpuregress.toolchain.host_code import path_macros
from gpuregress.toolchain.host_code.unit import TranslationUnit, UnitBuilder, words
from gpuregress.toolchain.include_scanner import SourceInputs
from gpuregress.toolchain.nvrtc_options import NvrtcResult, inputs, options_for, search_folders, split_options
from gpuregress.toolchain.precompiled_headers import ErrorPlace, PrecompiledHeaders, Refusal

_GAVE_UP = "Compilation aborted."
"""What NVRTC says where it gives no reason."""

_ABSENT = "gpuregress_absent_"
"""What the compiler warns of in place of a header that is not there, before its number."""

_NAMES_FILE = "__nv_name_map"
"""The file that NVRTC names in errors of what it is asked for."""

_asks_names_last: ContextVar[bool] = ContextVar("asks_names_last", default=False)


@contextlib.contextmanager
def asking_names_last(*, is_needed: bool = True) -> Iterator[None]:
    """Compile each source without names of kernels first, so that its own errors are found without a crash.

    NVRTC 13.5 crashes where it is asked for a kernel whose template parameter has an undefined type, as in
    `template <Gone T>`.

    Args:
        is_needed: False: nothing is changed.
    """
    token = _asks_names_last.set(is_needed)
    try:
        yield
    finally:
        _asks_names_last.reset(token)


UNIT = "gpuregress_unit"
_UNIT = f'#line 1 "{HARNESS_FILE}"\nextern "C" __device__ void {UNIT}() {{}}\n'
"""The first external symbol of every source, which compiled code without debug information does not contain.

The compiler makes the names of internal variables and functions (`static`, or of an unnamed namespace) unique by the
first external symbol. Where there is none, as in a source of templates, it takes the path and the process's id.
"""
_WITHOUT_WARNINGS = re.compile(r"^-(?:w$|-disable-warnings)|diag-suppress[\s=][\d,]*\b1444\b", re.MULTILINE)
_SUPPRESSED = re.compile(
    rb"diag_suppress\b(?:\\\r?\n|[^\n])*\b(?:1444|deprecated_entity_with_custom_message)\b"
    rb"|(?:\[\[|\(\(|__declspec\s*\()[^\])]*\b_*deprecated_*\b"
)
"""The warning of what is deprecated, which the prelude uses. In deprecated functions and classes there is none."""
_POWER_ERROR = re.compile(rf"error\b[^\n]*{re.escape(virtual_headers.OTHER_POWER)}")
"""Of `-Werror all-warnings`, for instance."""
_MOST_ATTEMPTS = 7
LATER_STANDARD = "c++20"
_STANDARD = re.compile(r"-{1,2}std\b")
_PLAIN_NAME = re.compile(r"[\w:]+")
"""A name that instantiates nothing."""
_REFUSALS = ("NVRTC_ERROR_COMPILATION", "NVRTC_ERROR_INVALID_OPTION", "NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID")
"""Results of NVRTC that depend on the source and its options alone."""
_DEFAULT_DEVICE = ("-default-device", "--device-as-default-execution-space")
"""Options with which functions without annotation are device code."""


class _Attempt(Record):
    """One compilation of texts: the result, or None and the log that says why.

    `is_refused` tells that the same texts are always refused: the compiler did not run out of memory.
    """

    unit: TranslationUnit
    result: NvrtcResult | None
    log: str
    is_refused: bool = True


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
        for candidate in _texts(source, text):
            attempts = _attempts(source, files, _builder(source, files, candidate))
            if attempts[-1].result is not None:
                return attempts[-1].unit
    except HarnessError:
        return _builder(source, files, text).unit()
    return attempts[0].unit


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


@include_scanner.reading_once()
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
    if source.harness == harness.DIRECTIVES:
        return _compile_directives(source, text)
    files = inputs(source)
    tried: list[_Attempt] = []
    for candidate in _texts(source, text):
        builder = _builder(source, files, candidate)
        log = _log_of_missing_header(source, files, builder) if not tried else ""
        if log:
            error = failure(source, text, log)
            error.needs = compiler_messages.needed_arguments(log)
            raise error
        attempts = _attempts(source, files, builder, _lasting_places(source, tried))
        last = attempts[-1]
        if last.result is not None:
            return replace(last.result, local_arrays=_local_arrays(source, files, last.unit, last.result.ptx))
        tried += attempts
        if compiler_messages.is_catastrophic(attempts[0].log):
            break
    log = compiler_messages.with_headline(attempts[0].log, attempts[-1].log)
    if not all(attempt.is_refused for attempt in tried):
        error = failure(source, text, log)
        error.log = ""  # it may compile the next time
        raise error
    needs = compiler_messages.needed_arguments(attempts[-1].log)
    standard = ""
    if not _is_question(source) and needs != "classes":  # no standard makes a number a class
        standard = _later_standard(source, files, log, attempts)
    error = failure(source, text, log, standard)
    error.needs = needs
    raise error


def _is_question(source: Source) -> bool:
    """Tell whether a source is compiled for what it says of types: of its errors only the names in them matter."""
    return bool(source.harness.strip()) and not source.kernels


def _never_runs(source: Source) -> bool:
    """Tell whether a program is compiled for what it says of types or directives."""
    return debug_types.are_asked(source.options) or _is_question(source) or source.harness == harness.DIRECTIVES


def _compile_directives(source: Source, text: str) -> NvrtcResult:
    """Compile the directives alone, with a warning in place of each header that is not there.

    Raises:
        CompileError: headers are missing, or the compiler gave up; the log is not that of the source.
    """
    folders = search_folders(source)
    files = inputs(source)
    unit = _builder(replace(source, host_code="keep"), files, text).directives()
    known = _given_headers(source, unit, folders)
    searched = virtual_headers.cuda_folders()
    absent = [name for name in unit.missing if name not in known and include_scanner.find(name, searched) == name]
    stand_ins = {name: f"#warning {_ABSENT}{number}\n" for number, name in enumerate(absent)}
    cccl = virtual_headers.without_cccl(set(unit.missing).difference(absent))
    attempt = _attempt_at_directives(source, files, unit, {**stand_ins, **cccl})
    if cccl and compiler_messages.is_catastrophic(attempt.log):  # an `#error` may follow from what CCCL defines
        attempt = _attempt_at_directives(source, files, unit, stand_ins)
    reached = dict.fromkeys(int(number) for number in re.findall(rf"directive: {_ABSENT}(\d+)", attempt.log))
    if attempt.result is not None and not reached:
        return attempt.result
    error = CompileError(f"headers of {Path(source.path).name} are missing")
    error.missing_headers = tuple(absent[number] for number in reached)
    raise error


def _attempt_at_directives(
    source: Source, files: SourceInputs, unit: TranslationUnit, headers: Mapping[str, str]
) -> _Attempt:
    unit = replace(unit, headers={**unit.headers, **headers}, uses_library=False)
    with precompiled_headers.precompiling(None):
        return _attempt(_bindings(), source, unit, search_folders(source), files=files)


def _log_of_missing_header(source: Source, files: SourceInputs, builder: UnitBuilder) -> str:
    """Compile the directives alone if a header is surely missing: all else would take most of the time.

    Returns:
        The compiler's error; "" where it has another one, or none.
    """
    folders = search_folders(source)
    given = virtual_headers.virtual_headers(folders)
    searched = virtual_headers.cuda_folders()

    def is_absent(name: str) -> bool:
        return name not in given and not host_headers.shims((name,)) and include_scanner.find(name, searched) == name

    header = builder.missing_header(is_absent)
    if not header:
        return ""
    unit = builder.directives()
    cccl = virtual_headers.without_cccl(name for name in unit.missing if not is_absent(name))
    asked = replace(source, kernels=(), symbols=(), harness="")
    attempt = _attempt_at_directives(asked, files, unit, cccl)
    if attempt.result is not None or compiler_messages.missing_header(attempt.log) != header:
        return ""
    return compiler_messages.with_headline(attempt.log, attempt.log)


def _texts(source: Source, text: str) -> list[str]:
    """The texts to compile, one after the other until one does.

    The second one has the explicit instantiations: what macros generate from parts of one may not compile without.
    """
    reduced = kernel_text.without_instantiations(text) if source.kernels or source.harness else text
    return [text] if reduced == text else [reduced, text]


def _lasting_places(source: Source, attempts: Sequence[_Attempt]) -> frozenset[tuple[Path, int]]:
    """The places of errors that attempts had from the first to the last one."""
    if not attempts:
        return frozenset()
    folders = search_folders(source)
    first = compiler_messages.error_places(attempts[0].log, source, folders)
    last = compiler_messages.error_places(attempts[-1].log, source, folders)
    return frozenset(first) & frozenset(last)


def _later_standard(source: Source, files: SourceInputs, log: str, attempts: Sequence[_Attempt]) -> str:
    """Return the later standard of C++ with which a source compiles that was refused; "" where none helps.

    Args:
        source: what was compiled.
        log: of its errors.
        attempts: whose first and last texts are tried.
    """
    if any(_STANDARD.match(option) for option in source.options) or not compiler_messages.may_be_newer(log):
        return ""
    if compiler_messages.uses_texture_reference(log, source):
        return ""
    folders = search_folders(source)
    if all(file.name == HARNESS_FILE for file, _ in compiler_messages.error_places(log, source, folders)):
        return ""
    later = replace(source, options=(*source.options, f"-std={LATER_STANDARD}"))
    units: list[TranslationUnit] = []
    for attempt in (attempts[0], attempts[-1]):
        # No standard makes host code compile, or a name that is asked for be there.
        if compiler_messages.has_host_code(attempt.log) or not compiler_messages.may_be_newer(attempt.log):
            continue
        if attempt.unit not in units:
            units.append(attempt.unit)
    for unit in units:
        if _attempt(_bindings(), later, unit, folders, files=files).result is not None:
            return LATER_STANDARD
    return ""


def _local_arrays(source: Source, files: SourceInputs, unit: TranslationUnit, ptx: str) -> tuple[LineEdit, ...]:
    """Find the edits that make local arrays variables of their own; few programs need a second compilation for it."""
    if _never_runs(source):
        return ()
    if not local_arrays.has_several_offsets(ptx):
        return ()
    texts = {path: local_arrays.with_gaps(text) for path, text in unit.headers.items()}
    padded = replace(unit, text=local_arrays.with_gaps(unit.text), headers=texts)
    if padded == unit:
        return ()
    result = _attempt(_bindings(), source, padded, search_folders(source), files=files).result
    return () if result is None else local_arrays.edits(ptx, result.ptx)


def _attempts(
    source: Source, files: SourceInputs, builder: UnitBuilder, known: frozenset[tuple[Path, int]] = frozenset()
) -> list[_Attempt]:
    """Compile without host code, and again without what the compiler's errors show to be the host's.

    Args:
        source: what is compiled.
        files: of it.
        builder: of its texts.
        known: places of errors that attempts with another text did not mend; nor would they here.
    """
    nvrtc = _bindings()
    folders = search_folders(source)
    if builder.is_partial and precompiled_headers.known_refusal(_key_unparsed(source, files)) is not None:
        builder.drop(())
    was_partial = builder.is_partial
    first = builder.unit()
    known_refusal = _skip_refused(builder, source, files)
    skipped = len(known_refusal.rounds) if known_refusal is not None else 0
    attempts = [_attempt(nvrtc, source, builder.unit(), folders, files=files, may_be_last=was_partial)]
    while attempts[-1].result is None and skipped + len(attempts) < _MOST_ATTEMPTS:
        places = compiler_messages.error_places(attempts[-1].log, source, folders)
        if not builder.is_partial:
            _note_refusal(source, files, attempts[-1])
        elif compiler_messages.has_host_code(attempts[-1].log):
            precompiled_headers.note_refusal(_key_unparsed(source, files), Refusal((places,), attempts[-1].log))
        if not known.isdisjoint(places) or compiler_messages.uses_texture_reference(attempts[-1].log, source):
            break
        # A header that was not found stays so; another `#error` may be that of a library that was withheld.
        if compiler_messages.is_catastrophic(attempts[-1].log) and not builder.withholds_library:
            break
        if not builder.drop(places):
            break
        more = _skip_refused(builder, source, files)
        skipped += len(more.rounds) if more is not None else 0
        attempts.append(_attempt(nvrtc, source, builder.unit(), folders, files=files, may_be_last=False))
    if attempts[-1].result is None and known_refusal is not None:
        # The log of the first attempt has the headline.
        log = compiler_messages.with_errors_of_instances(known_refusal.log, attempts[-1].log)
        attempts.insert(0, _Attempt(first, None, log))
    if was_partial and len(attempts) > 1:
        del attempts[0]  # its errors are those of host code in headers that were not parsed
    return attempts


def _note_refusal(source: Source, files: SourceInputs, attempt: _Attempt) -> None:
    """Note the errors of an attempt but for those of instances, which depend on what is asked."""
    log = attempt.log
    if source.harness.strip() or not all(map(_PLAIN_NAME.fullmatch, (*source.kernels, *source.symbols))):
        log = compiler_messages.without_instances(log)
    places = compiler_messages.error_places(log, source, search_folders(source))
    if places:
        precompiled_headers.note_refusal(_key(source, files, attempt.unit), Refusal((places,), log))


def _skip_refused(builder: UnitBuilder, source: Source, files: SourceInputs) -> Refusal | None:
    """Let go of what the compiler refused in the same texts, whatever was asked of them; return what it said.

    All that it refused from these texts on is noted for them, so that the next program does without the texts between.
    """
    key = _key(source, files, builder.unit())
    known = refusal = precompiled_headers.known_refusal(key)
    rounds: list[tuple[ErrorPlace, ...]] = []
    while refusal is not None and len(rounds) < _MOST_ATTEMPTS - 1:
        dropped = [places for places in refusal.rounds if builder.drop(places)]
        if not dropped:
            break
        rounds += dropped
        refusal = precompiled_headers.known_refusal(_key(source, files, builder.unit()))
    if known is None or not rounds:
        return None
    known = replace(known, rounds=tuple(rounds))
    precompiled_headers.note_refusal(key, known)
    return known


def _key_unparsed(source: Source, files: SourceInputs) -> str:
    """What decides whether headers compile that are not parsed: the compiler refuses their host code always."""
    defined = [f"{name}={text}" for name, text in source.defines.items()]
    folders = map(str, search_folders(source))
    return precompiled_headers.key_of(("unparsed", *files.contents, *defined, "", *folders))


def _key(source: Source, files: SourceInputs, unit: TranslationUnit) -> str:
    """Return the key of what decides the compiler's errors: debug information does not."""
    options = [option for option in options_for(source) if option not in debug_types.OPTIONS]
    texts = [unit.text, str(unit.uses_library), *itertools.chain.from_iterable(unit.headers.items())]
    folders = map(str, search_folders(source))
    return precompiled_headers.key_of((*texts, "", *unit.missing, "", *files.contents, *options, "", *folders))


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
    unit: TranslationUnit,
    folders: tuple[Path, ...],
    signatures: Mapping[str, str] | None = None,
    *,
    files: SourceInputs,
    may_be_last: bool = True,
) -> _Attempt:
    """Compile texts once; again with the signatures of kernels whose names turn out to be overloaded."""
    path = folders[0] / Path(source.path).name
    texts = (unit.text, *unit.headers.values())
    headers = _given_headers(source, unit, folders)
    asked = name_expressions(() if source.harness else source.kernels, signatures or {})
    contents = files.contents
    implied = host_headers.implied((unit.text, *_header_texts(files, unit)))
    options = _options(source, folders)
    precompiled = precompiled_headers.find(unit.text, options, headers, contents[1:], may_be_last=may_be_last)

    def compile_text(body: str = unit.text, directives: str = "", more_options: Sequence[str] = ()) -> _Attempt:
        # The path lets `#include "…"` begin beside the source; the line keeps it out of messages, __FILE__ and PTX.
        text = f'{implied}{directives}{_UNIT}#line 1 "{path.name}"\n{body}{source.harness}{asked.text}'
        program = _program(nvrtc, text, path, headers)
        return _compile(nvrtc, program, source, unit, folders, asked, more_options, files)

    attempt = None
    if precompiled is not None:
        options_for_headers = precompiled.options(nvrtc)
        compile_once = functools.partial(compile_text, precompiled.rest, precompiled.directives, options_for_headers)
        attempt = _precompiled(source, path, precompiled, compile_once)
    attempt = attempt or compile_text()
    if _has_other_powers(source, contents, attempt):
        defines = {**source.defines, virtual_headers.DOUBLE_POWERS: "1"}
        other = replace(source, defines=defines)
        again = _attempt(nvrtc, other, unit, folders, signatures, files=files, may_be_last=may_be_last)
        return attempt if again.result is None and attempt.result is not None else again
    if attempt.result is None and signatures is None and compiler_messages.OVERLOADED in attempt.log:
        declared: list[Declaration] = []
        for content in texts:
            declared += cxx_declarations.declarations(content)
        known = overload_signatures(asked.expressions, declared)
        again = _attempt(nvrtc, source, unit, folders, known, files=files) if known else attempt
        return again if again.result is not None else attempt
    return attempt


def _has_other_powers(source: Source, contents: Iterable[bytes], attempt: _Attempt) -> bool:
    """Tell whether code may have powers that nvcc computes otherwise; where warnings are off, by the texts.

    Args:
        source: what was compiled.
        contents: of its files.
        attempt: the compilation.
    """
    if virtual_headers.DOUBLE_POWERS in source.defines:
        return False
    if attempt.result is None:
        return _POWER_ERROR.search(attempt.log) is not None
    if _never_runs(source):
        return False
    if virtual_headers.OTHER_POWER in attempt.log:
        return True
    is_silent = _WITHOUT_WARNINGS.search("\n".join(source.options)) is not None
    if not is_silent and not any(_SUPPRESSED.search(content) for content in contents):
        return False
    return any(re.search(rb"\bpow\b", content) for content in contents)


def _header_texts(files: SourceInputs, unit: TranslationUnit) -> Iterator[str]:
    """Yield the texts of the project's headers as the compiler gets them."""
    for file, content in zip(files.files[1:], files.contents[1:], strict=True):
        yield unit.headers.get(str(file.resolve())) or content.decode(errors="replace")


def _precompiled(
    source: Source, path: Path, precompiled: PrecompiledHeaders, compile_once: Callable[[], _Attempt]
) -> _Attempt | None:
    """Compile with precompiled headers; None where a compilation without them may say something else.

    Args:
        source: what is compiled.
        path: its name before the first `#line`, where it includes the headers; elsewhere it has no folder.
        precompiled: the headers.
        compile_once: compiles with them.
    """
    attempt = compile_once()
    place = re.escape(str(path))
    is_of_directives = re.search(rf'^{place}\(|\bline \d+ of "?{place}(?!\w)', attempt.log, re.MULTILINE)
    if is_of_directives or precompiled_headers.NO_HEAP in attempt.log:
        precompiled.give_up()
        return None
    has_warnings = precompiled.has_warnings(attempt.log, path.name)
    if precompiled.is_known:
        attempt = _with_log(attempt, precompiled.with_warnings(attempt.log), source)
    elif attempt.result is not None and debug_types.are_asked(source.options):
        precompiled.note(has_warnings=False, is_compiled=True)  # nobody reads those of a program made for its types
    elif has_warnings and (attempt.result is not None or precompiled.is_written):
        precompiled.note_warnings(attempt.log, compile_once().log)
    else:
        precompiled.note(has_warnings=has_warnings, is_compiled=attempt.result is not None)
    is_whole = precompiled.is_usable
    if attempt.result is None:
        is_whole = bool(compiler_messages.error_places(attempt.log, source, (path.parent,)))
    return attempt if is_whole else None


def _with_log(attempt: _Attempt, log: str, source: Source) -> _Attempt:
    result = attempt.result
    if result is not None:
        result = replace(result, warnings=compiler_messages.locations(log, source).strip())
    return replace(attempt, log=log, result=result)


def _program(nvrtc: Any, text: str, path: Path, headers: Mapping[str, str]) -> Any:
    return _checked(
        nvrtc.nvrtcCreateProgram(
            text.encode(),
            os.fsencode(path),
            len(headers),
            [content.encode() for content in headers.values()],
            [os.fsencode(name) for name in headers],
        ),
    )


def _options(source: Source, folders: tuple[Path, ...]) -> list[str]:
    options = [*options_for(source), f"--pre-include={virtual_headers.PRELUDE}"]
    headers = split_options(source.options).headers
    options += [f"--pre-include={include_scanner.find(name, folders)}" for name in headers]
    options += [f"--include-path={folder}" for folder in (*folders, *virtual_headers.cuda_folders())]
    return options


def _given_headers(source: Source, unit: TranslationUnit, folders: tuple[Path, ...]) -> dict[str, str]:
    """Return the headers that NVRTC is given as text: name → content."""
    texts = (unit.text, *unit.headers.values())
    headers = virtual_headers.virtual_headers(folders, texts)
    if not unit.uses_library and "std" not in source.harness:
        headers.update(dict.fromkeys(virtual_headers.LIBRARY & headers.keys(), virtual_headers.WITHOUT_LIBRARY))
    unknown = [name for name in unit.missing if name not in headers]
    headers.update(host_headers.shims(unknown, texts))
    headers.update(unit.headers)
    return headers


def _compile(
    nvrtc: Any,
    program: Any,
    source: Source,
    unit: TranslationUnit,
    folders: tuple[Path, ...],
    asked: NameExpressions,
    more_options: Sequence[str],
    files: SourceInputs,
) -> _Attempt:
    """Compile a program once, which is then gone."""
    try:
        return _result(nvrtc, program, source, unit, folders, asked, more_options, files)
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def _result(
    nvrtc: Any,
    program: Any,
    source: Source,
    unit: TranslationUnit,
    folders: tuple[Path, ...],
    asked: NameExpressions,
    more_options: Sequence[str],
    files: SourceInputs,
) -> _Attempt:
    managed = _managed(source.symbols, (unit.text, *unit.headers.values()))
    expressions = dict(asked.expressions)
    expressions.update((name, f"&{name}") for name in source.symbols if name not in managed)
    for expression in expressions.values():
        _checked(nvrtc.nvrtcAddNameExpression(program, expression.encode()))
    options = [*_options(source, folders), *more_options]
    if expressions and _asks_names_last.get():
        without = _attempt(nvrtc, replace(source, kernels=(), symbols=()), unit, folders, {}, files=files)
        if without.result is None:
            return without
    (result,) = nvrtc.nvrtcCompileProgram(program, len(options), [os.fsencode(option) for option in options])
    log = compiler_messages.without_prelude(_text(program, nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog))
    if log.strip() == _GAVE_UP and expressions:
        # The names asked for end NVRTC where the source ends in the middle of a declaration: without them it tells.
        without = _attempt(nvrtc, replace(source, kernels=(), symbols=()), unit, folders, {}, files=files)
        return replace(without, result=None, log=without.log or log)
    if int(result) != 0:
        return _Attempt(unit, None, log or f"nvrtc: error: {result.name}", is_refused=result.name in _REFUSALS)
    ptx = _text(program, nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX)
    lowered: dict[str, str] = {}
    for name, expression in expressions.items():
        lowered[name] = _checked(nvrtc.nvrtcGetLoweredName(program, expression.encode())).decode()
    lowered.update(_declared(managed, ptx, source, unit.text))
    lowered.update(_with_mangled_names(asked.mangled, ptx, source, unit.text))
    release = re.search(r"release [\d.]+, V([\d.]+)", ptx)
    compiled = NvrtcResult(
        ptx=_legible(compiler_messages.portable_paths(ptx, (*folders, *virtual_headers.cuda_folders()))),
        kernels={name: lowered.get(name, HARNESS_KERNEL) for name in source.kernels},
        symbols={name: lowered[name] for name in source.symbols},
        compiler=f"nvrtc {release[1] if release else 'unknown'}",
        warnings=compiler_messages.locations(log, source).strip(),
        shows_folder=_shows_folder(source, files, unit, ptx, folders),
    )
    return _Attempt(unit, compiled, log)


def _shows_folder(
    source: Source, files: SourceInputs, unit: TranslationUnit, ptx: str, folders: tuple[Path, ...]
) -> bool:
    """Tell whether the PTX depends on the folder of the project."""
    if path_macros.shows_folder(ptx, (*folders, *(file.parent for file in files.files))):
        return True
    defined = [f"{name}={text}" for name, text in source.defines.items()]
    defined += [option.removeprefix("--define-macro").lstrip("-D= ") for option in source.options]
    if not path_macros.mentions_path((*files.contents, *(text.encode() for text in defined))):
        return False
    texts = [unit.text + source.harness, *_header_texts(files, unit)]
    return path_macros.expands_path(texts, defined)


def _managed(symbols: Collection[str], texts: Iterable[str]) -> tuple[str, ...]:
    """Find the managed variables among symbols: NVRTC refuses their addresses as name expressions."""
    if not symbols:
        return ()
    declared: set[str] = set()
    for declaration in re.findall(r"\b__managed__\b([^;{}()=]*)", "\n".join(texts)):
        declared.update(re.findall(r"\w+", declaration))
    return tuple(name for name in symbols if name.rpartition("::")[2] in declared)


def _declared(names: Sequence[str], ptx: str, source: Source, text: str) -> dict[str, str]:
    """Find variables by the names that the PTX declares.

    Raises:
        UnknownNames: it has no such variable.
    """
    if not names:
        return {}
    declared = {demangle(mangled) or mangled: mangled for mangled in ptx_declarations.parse(ptx).variables}
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


def failure(source: Source, text: str, log: str, standard: str = "") -> CompileError:
    """Return the error that a compiler's log tells.

    Args:
        source: what was compiled.
        text: of it.
        log: the compiler's.
        standard: a later one with which the source compiles, "" for none.
    """
    folders = search_folders(source)
    kernels = () if source.harness else source.kernels
    asked = name_expressions(kernels, {})
    names = {expression: name for name, expression in asked.expressions.items()}
    names.update((name, name) for name in kernels)
    unknown = compiler_messages.unknown_names(log, (*names, *source.symbols), asked.of_line)
    error: CompileError
    problem = compiler_messages.harness_error(log) if source.harness and source.kernels else ""
    if unknown:
        error = UnknownNames(unknown_names.explain([names.get(name, name) for name in unknown], source, text))
    elif problem:
        error = UnknownNames({name: f"{name} cannot be called: {problem}" for name in source.kernels})
    else:
        error_class = InfeasibleSource if compiler_messages.is_infeasible(log) else CompileError
        line = compiler_messages.first_line(log, source, folders, inputs(source).files)
        error = error_class(compiler_messages.explain(log, source, folders, standard), source_line=line)
    error.log = log
    missing = compiler_messages.missing_header(log)
    error.missing_headers = (missing,) if missing else ()
    error.standard = standard
    return error


def _text(program: Any, size_of: Any, read: Any) -> str:
    size: int = _checked(size_of(program))
    # The bindings write into a bytes object. Never one of length 1: Python shares those, and all others would change.
    buffer = bytes(size + 1)
    _checked(read(program, buffer))
    return buffer.rstrip(b"\0").decode("utf-8", "surrogateescape")  # it names files


def _legible(text: str) -> str:
    """A text as UTF-8: of names of files that are none, other bytes are replaced."""
    return text.encode("utf-8", "surrogateescape").decode(errors="replace")


def _checked(answer: tuple[Any, ...]) -> Any:
    if int(answer[0]) != 0:
        raise HarnessError(f"NVRTC failed: {answer[0].name}")
    return answer[1] if len(answer) > 1 else None


def preload() -> None:
    """Load the compiler before it has a source; where it is not installed, each source says so."""
    with contextlib.suppress(HarnessError):
        _bindings()


def _bindings() -> Any:
    try:
        from cuda.bindings import nvrtc  # noqa: PLC0415 - heavy, and not there on a host that only runs cached cubins

        (status, _, _) = nvrtc.nvrtcVersion()
    except (ImportError, RuntimeError) as error:
        lines = str(error).splitlines() or [type(error).__name__]
        problem = f"NVRTC cannot be loaded ({lines[0]}): pip install --force-reinstall 'gpuregress[cpu]'"
        if isinstance(error, ModuleNotFoundError):
            problem = "CUDA C++ needs cuda-bindings, which is not installed: pip install 'gpuregress[cpu]'"
        raise HarnessError(
            f"{problem}; or compile elsewhere with `gpuregress build` and name its folder with GPUREGRESS_CACHE",
        ) from error
    if int(status) != 0:
        raise HarnessError(f"NVRTC does not answer: {status.name}")
    return nvrtc


# --- name expressions: the texts for which NVRTC returns the mangled names of kernels ---------------------------------


_ALIAS = "gpuregress_overload_{}"


class NameExpressions(Record):
    """What the compiler is asked for.

    Attributes:
        expressions: name in the job → expression.
        mangled: the names that are to be in the PTX as they are.
        text: after the source: a line for each alias.
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
            namespaces = [space for space in scope.split("::") if space]
            alias = _ALIAS.format(len(lines))
            parameters = ", ".join(map(cxx_declarations.spelled, types))
            opening = "".join(f"namespace {space} {{ " for space in namespaces)
            lines.append(f"{opening}typedef void (*{alias})({parameters});{' }' * len(namespaces)}")
            of_line.append(name)
            qualified = f"{scope}::{alias}" if scope else alias
            asked[name] = f"static_cast<{qualified}>(&{plain})"
    text = "\n".join(("", f'#line 1 "{HARNESS_FILE}"', *lines, "")) if lines else ""
    return NameExpressions(asked, tuple(mangled), text, tuple(of_line))


def overload_signatures(names: Iterable[str], declared: Iterable[Declaration]) -> dict[str, str]:
    """Find the signatures of names without parameters that one declaration of a source has, as a library may, too.

    Args:
        names: as the job has them.
        declared: the kernels of the source and of its headers.
    """
    signatures: dict[str, str] = {}
    for name in names:
        if name.startswith("_Z") or cxx_declarations.split_signature(name)[1] is not None:
            continue
        arguments = cxx_declarations.template_arguments(name)
        candidates: dict[object, Declaration] = {}
        for candidate in cxx_declarations.overloads(declared, name):
            if bool(candidate.template) == bool(arguments):
                candidates[candidate.name, candidate.type_words] = candidate
        if len(candidates) == 1:
            (only,) = candidates.values()
            signatures[name] = only.signature(arguments)
    return signatures

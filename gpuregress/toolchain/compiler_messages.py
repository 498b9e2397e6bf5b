"""Translation of NVRTC's messages: paths of the project, and the first of its errors."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal

from gpuregress.foundation import usermodules
from gpuregress.foundation.errors import CodeLine, CompileError, UnsupportedError
from gpuregress.foundation.records import HARNESS_FILE, Source
from gpuregress.foundation.wording import plural
from gpuregress.gpu.records import replace
from gpuregress.toolchain.headers import header_search
from gpuregress.toolchain.headers.virtual_headers import PRELUDE

_LOCATION = re.compile(
    r"^(?P<file>[^\s(][^(\n]*)\((?P<line>\d+)\): (?=(?:catastrophic )?error|warning|remark|note|Error)", re.MULTILINE
)
_MESSAGE = re.compile(
    r"^(?:[^\s(][^(\n]*\(\d+\)|nvrtc|At end of source): (?P<kind>(?:catastrophic )?error|warning|remark|note|Error)",
    re.MULTILINE,
)
_NAME_MAP = re.compile(r"^__nv_name_map\(\d+\): error: .*(?:\n(?!\S).*)*\n?", re.MULTILINE)
_HARNESS = re.compile(rf"^{HARNESS_FILE}\((?P<line>\d+)\): error\b.*(?:\n(?!\S).*)*\n?", re.MULTILINE)
_BAD_EXPRESSION = re.compile(r'Input name expression was: "\s*&?\s*(.*?)\s*"')
_CATASTROPHE = re.compile(r"^[^\s(][^(\n]*\(\d+\): catastrophic error", re.MULTILINE)
_MISSING_HEADER = re.compile(r'\berror: (?:cannot|could not) open source file "([^"\n]+)"')
_NEWER = re.compile(
    r"\b(?:templates?|typename|requires|concepts?|lambda|designat\w*|consteval|constinit|constant|constexpr|deduc\w*)\b"
    r"|<=>|\bstd::|\bnamespace \"(?:cuda::)?std"
)
"""Words of errors, and of their source lines, that C++20 may mend: concepts, lambdas in more places, more of `std`."""
_USED_AS_CLASS = re.compile(
    r"error: (?:expression preceding parentheses of apparent call must have|expression must have (?:pointer-to-)?"
    r"(?:class|object) type|expression must have pointer"
    r'|operator -> or ->\* applied to|name followed by "::" must be)'
)
"""Errors of a number that is called, dereferenced, or has a member."""
_COUNT = re.compile(
    r"^(?:(?:\d+| and \d+) (?:catastrophic )?errors?)+ detected in the compilation of .*\n?"
    r"|^Compilation terminated\.\n?",
    re.MULTILINE,
)
_ERROR = re.compile(r"^(?:[^\n]*?\(\d+\)|nvrtc): (?:[a-z]+ )?error\b[^:\n]*: (.*)$", re.MULTILINE)
_OF_PRELUDE = re.compile(
    rf"^\S[^(\n]*\(\d+\): warning #47-D: .* \(declared at line \d+ of {re.escape(PRELUDE)}\)\n(?:[ \t].*\n|\n)*",
    re.MULTILINE,
)
"""A warning that a header defines what our prelude has, as CCCL's do with NAN."""
_REMARK = re.compile(r"^Remark: The warnings can be suppressed.*\n\n?", re.MULTILINE)
_FILE_DIRECTIVE = re.compile(r'^(\s*\.file\s+\d+\s+)"([^"\n]*)"', re.MULTILINE)

_MOST_ERRORS = 5
_ERROR_LIMIT = 100
"""After which NVRTC gives up."""
_MOST_FOLDERS = 5


OVERLOADED = "cannot determine which instance of overloaded function"
"""What NVRTC says of a name that several functions have."""


def without_remark(log: str) -> str:
    """Leave out of a log what follows its first warning: how to suppress warnings.

    Args:
        log: as NVRTC wrote it.
    """
    return _REMARK.sub("", log)


def without_prelude(log: str) -> str:
    """Leave the warnings of our prelude out of a log, of which nvcc has none.

    Args:
        log: as NVRTC wrote it.
    """
    rest = _OF_PRELUDE.sub("", log)
    return rest if ": warning" in rest else without_remark(rest)


def unknown_names(log: str, asked: Iterable[str], of_line: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the requested names that the source lacks, if nothing else is wrong with it.

    Args:
        log: as NVRTC wrote it; it spells names with spaces between all words.
        asked: the names as the job spells them, and what the compiler was asked for.
        of_line: the names whose parameters' types are in the lines of the generated text.
    """
    lines = [int(match["line"]) for match in _HARNESS.finditer(log)]
    aliased = [of_line[line - 1] for line in lines if 0 < line <= len(of_line)]
    others = _HARNESS.sub("", log) if aliased else log
    if re.search(r"\berror\b", _COUNT.sub("", _NAME_MAP.sub("", others))):
        return ()
    spelled = {"".join(name.split()): name for name in asked}
    unknown = dict.fromkeys(aliased)
    for expression in _BAD_EXPRESSION.findall(log):
        name = "".join(expression.split())
        if name in spelled or not aliased:
            unknown[spelled.get(name, name)] = None
    return tuple(unknown)


def is_infeasible(log: str) -> bool:
    """Tell whether every error of a log is a static_assert that fails.

    Args:
        log: as NVRTC wrote it.
    """
    errors = _ERROR.findall(_NAME_MAP.sub("", log))
    return bool(errors) and all(error.startswith("static assertion failed") for error in errors)


def harness_error(log: str) -> str:
    """Return the compiler's first error in the generated text, "" if it has none there or one in the source, too.

    Args:
        log: NVRTC's.
    """
    errors = re.findall(r"^(\S[^(\n]*)\(\d+\): error(?: #[\w-]+)?: (.*)$", log, re.MULTILINE)
    if not errors or any(file != HARNESS_FILE for file, _ in errors):
        return ""
    return str(errors[0][1])


def is_catastrophic(log: str) -> bool:
    """Tell whether the compiler gave up at an error, as at a header that is not there.

    Args:
        log: as NVRTC wrote it.
    """
    return _CATASTROPHE.search(log) is not None


def has_host_code(log: str) -> bool:
    """Tell whether the compiler refused a function or variable for being the host's, whatever uses it.

    Args:
        log: as NVRTC wrote it.
    """
    return _HOST_SIGNS[0] in log


def without_instances(log: str) -> str:
    """Leave the errors in instances of templates out of a log, which other kernels may not have.

    Args:
        log: as NVRTC wrote it.
    """
    if "detected during" not in log:
        return log
    return "\n\n".join(error for error in _errors(log) if "detected during" not in error)


def with_errors_of_instances(known: str, log: str) -> str:
    """Return the log of texts for what is asked now, of which the errors that do not depend on it are known.

    Args:
        known: these errors.
        log: of the same texts without what those are in.
    """
    return known if len(_errors(known)) >= _ERROR_LIMIT else f"{known}\n\n{log}"


def needed_arguments(log: str) -> Literal["any", "classes", "nothing"]:
    """Tell which other template arguments may mend errors; see `CompileError.needs`.

    Args:
        log: as NVRTC wrote it.
    """
    errors = _errors(_HARNESS.sub("", _NAME_MAP.sub("", log)))
    if any("detected during" not in error for error in errors):
        return "nothing"
    return "classes" if any(_USED_AS_CLASS.search(error) for error in errors) else "any"


def missing_header(log: str) -> str:
    """Return the name of the header that the compiler did not find; "" where it found all.

    Args:
        log: as NVRTC wrote it.
    """
    match = _MISSING_HEADER.search(log)
    return match[1] if match is not None else ""


def may_be_newer(log: str) -> bool:
    """Tell whether the errors of a log may be those of a source in a later standard of C++.

    Args:
        log: as NVRTC wrote it.
    """
    return not is_catastrophic(log) and any(_NEWER.search(error) for error in _errors(_NAME_MAP.sub("", log)))


def with_headline(first: str, last: str) -> str:
    """Return a log that begins with the first error of the first attempt, whose cause later ones may have lost.

    The errors of the last attempt follow, unless all of them come from what was dropped. Where the compiler gave up,
    its reason stands alone: no further attempt could tell which errors before it are those of host code.

    Args:
        first: the log of the first attempt.
        last: that of the last one.
    """
    errors = _errors(_HARNESS.sub("", _NAME_MAP.sub("", first)))
    others = _errors(_HARNESS.sub("", _NAME_MAP.sub("", last)))
    for error in (*errors, *others):
        if is_catastrophic(error):
            return f"{error}\n\n"
    if first == last or not set(errors) & set(others):
        return first
    headline = errors[0]
    for error in errors:
        if error in others or not any(sign in error for sign in _HOST_SIGNS):
            headline = error  # a complaint of host code that went later is no cause
            break
    if headline in others:
        others.remove(headline)
    return "\n\n".join((headline, *others, ""))


def explain(log: str, source: Source, folders: Iterable[Path], standard: str = "") -> str:
    """Translate NVRTC's log: its first errors, `kernels/saxpy.cu:12: error: …`, a count of the others, and a remedy.

    Args:
        log: as NVRTC wrote it.
        source: what was compiled.
        folders: the project's folders of the search.
        standard: a later standard of C++ with which the source compiles, "" for none.
    """
    log = _NAME_MAP.sub("", log) or log
    without_harness = _HARNESS.sub("", log)
    if _ERROR.search(without_harness):  # the errors in the generated text follow from the source's
        log = without_harness
    errors = _errors(log)
    texture = _texture_reference(log, source)
    if texture:
        return texture
    if not errors:
        return _COUNT.sub("", locations(log, source)).strip()
    text = locations("\n\n".join(errors[:_MOST_ERRORS]), source)
    hint = remedy(text, source, [shown(folder) for folder in folders])
    if standard:
        named = standard.replace("c", "C", 1)
        hint = f"it compiles as {named}: write `compile: {{options: [-std={standard}]}}` in the job"
    count = len(errors) - _MOST_ERRORS
    if count > 0:
        text += f"\n\n… and {plural(count, 'more error')}"
    return f"{text}\n{hint}".rstrip()


def _errors(log: str) -> list[str]:
    """The errors of a log, each with its source line and its notes, without warnings."""
    starts = [match.start() for match in _MESSAGE.finditer(log)]
    errors: list[str] = []
    is_error = False
    for start, end in itertools.pairwise([*starts, len(log)]):
        text = log[start:end]
        message = _COUNT.sub("", text).strip()
        kind = _MESSAGE.match(text)
        if kind is not None and kind["kind"] == "note" and is_error:
            errors[-1] += f"\n{message}"
        elif kind is not None:
            is_error = kind["kind"].lower().endswith("error")
            if is_error:
                errors.append(message)
    return errors


def error_places(log: str, source: Source, folders: Sequence[Path]) -> tuple[tuple[Path, int], ...]:
    """Return the files and lines of a log's errors, in their order.

    Args:
        log: as NVRTC wrote it.
        source: what was compiled.
        folders: of the search; the source's first.
    """
    own = Path(source.path).name
    found = re.findall(r"^([^\s(][^(\n]*)\((\d+)\): (?:catastrophic )?error", log, re.MULTILINE)
    return tuple((folders[0] / file if file == own else Path(file), int(line)) for file, line in found)


def first_line(log: str, source: Source, folders: Sequence[Path], files: Collection[Path]) -> CodeLine | None:
    """Return the line of the first error in a file of the project; None without one.

    Args:
        log: as NVRTC wrote it.
        source: what was compiled.
        folders: of the search; the source's first.
        files: of the project.
    """
    of_project = {os.path.realpath(file): file for file in files}
    for file, line in error_places(log, source, folders):
        known = of_project.get(os.path.realpath(file))
        if known is not None:
            return CodeLine(str(known), line)
    return None


def locations(log: str, source: Source) -> str:
    """Rewrite `file(12): ` to `path/file:12: `, with the path from the working folder."""
    own = Path(source.path)

    def rewrite(match: re.Match[str]) -> str:
        file = own if match["file"] == own.name else Path(match["file"])
        return f"{shown(file)}:{match['line']}: "

    return _LOCATION.sub(rewrite, log)


def shown(path: Path) -> str:
    """Shorten a path in messages: relative to the working folder, or absolute."""
    try:
        return str(path.relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(path)


def in_ptx_file(message: str, path: Path) -> str:
    """Name the file in an error about PTX, where a source is PTX itself: `PTX line 9` becomes `add.ptx:9`."""
    if path.suffix != ".ptx":
        return message
    return re.sub(r"\bPTX line (\d+)", lambda match: f"{shown(path)}:{match[1]}", message)


@contextlib.contextmanager
def naming_ptx_file(path: Path) -> Iterator[None]:
    """Name the file in errors about a source, where it is PTX itself."""
    try:
        yield
    except (CompileError, UnsupportedError) as error:
        error.args = (in_ptx_file(str(error), path),)
        line = error.source_line
        if line is not None and not line.file:
            # The PTX of a compiled source is no file of the user's.
            error.source_line = replace(line, file=str(path)) if path.suffix == ".ptx" else None
        raise


def portable_paths(ptx: str, folders: Iterable[Path]) -> str:
    """Rewrite `.file` lines of PTX to paths that are equal on every machine."""
    roots = sorted({_in_ptx(str(folder)) for folder in folders}, key=len, reverse=True)

    def directive(match: re.Match[str]) -> str:
        path = match[2]
        for root in roots:
            if path.startswith(f"{root}/"):
                return f'{match[1]}"{path[len(root) + 1 :]}"'
        # A file given as text (the source, a virtual header): NVRTC puts the working folder before its name.
        return f'{match[1]}"{path.removeprefix(f"{_in_ptx(str(Path.cwd()))}/")}"'

    return _FILE_DIRECTIVE.sub(directive, ptx)


def _in_ptx(path: str) -> str:
    """A path as NVRTC writes it: a byte that is no ASCII is an octal number."""
    return "".join(chr(byte) if byte < 0x80 else f"\\{byte:03o}" for byte in os.fsencode(path))


# --- remedies for the common errors of a CUDA source ------------------------------------------------------------------


_HEADERS = {
    "assert.h": "assert",
    "cfloat": "FLT_MAX FLT_MIN FLT_EPSILON DBL_MAX DBL_MIN DBL_EPSILON",
    "climits": "INT_MAX INT_MIN UINT_MAX LLONG_MAX ULLONG_MAX CHAR_BIT",
    "cooperative_groups.h": "cooperative_groups cg",
    "cooperative_groups/memcpy_async.h": "memcpy_async",
    "cstdint": "int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t uintptr_t intptr_t",
    "cub/cub.cuh": "cub",
    "cuComplex.h": "cuComplex cuFloatComplex cuDoubleComplex make_cuComplex cuCmulf cuCaddf",
    "cuda/barrier": "barrier",
    "cuda/pipeline": "pipeline",
    "cuda_bf16.h": "__nv_bfloat16 nv_bfloat16 __nv_bfloat162 nv_bfloat162 __float2bfloat16",
    "cuda_fp16.h": "half __half half2 __half2 __float2half __half2float __hadd __hmul __hfma",
    "cuda_fp8.h": "__nv_fp8_e4m3 __nv_fp8_e5m2 __nv_fp8x4_e4m3",
    "cuda_pipeline.h": "__pipeline_memcpy_async __pipeline_commit",
    "curand_kernel.h": "curandState curandState_t curandStateXORWOW_t curandStatePhilox4_32_10_t curand_init "
    "curand_uniform curand_normal",
    "math_constants.h": "CUDART_PI_F CUDART_INF_F CUDART_NAN_F CUDART_INF CUDART_PI",
    "mma.h": "nvcuda wmma",
    "cuda.h": "CUtensorMap",
}
_STANDARD = {
    "algorithm": "min max swap",
    "array": "array",
    "cmath": "sqrt abs fabs pow exp log isnan isinf floor ceil",
    "limits": "numeric_limits",
    "tuple": "tuple",
    "type_traits": "is_same enable_if is_same_v conditional integral_constant",
    "utility": "pair move forward",
}
_BY_NAME = {name: header for header, names in _HEADERS.items() for name in names.split()}
_BY_STANDARD_NAME = {name: header for header, names in _STANDARD.items() for name in names.split()}

_UNDEFINED = re.compile(r'error: (?:identifier|name) "(\w+)" is undefined')
_NO_NAMESPACE = re.compile(
    r"error: (?:name must be a namespace name|name followed by .::. must be a class or namespace)"
)
_NO_MEMBER = re.compile(r'error: namespace "(?:cuda::)?std(?:::__\w+)?" has no member "(\w+)"')
_LINE = re.compile(r"^ {2}(?! *\^)(.*)$", re.MULTILINE)

_SYNTAX_ERROR = re.compile(r"^[^\n]*: error: [^\n]*\bexpected\b[^\n]*\n[ \t]+(?P<line>[^\n]+)", re.MULTILINE)

_HOST_HINT = (
    "NVRTC compiles device code only: leave `compile.host_code: blank` as it is, or put the host code between "
    "`#ifndef __CUDACC_RTC__` and `#endif`"
)
_RUNTIME_HINT = "a kernel cannot call the CUDA runtime: the job allocates, copies and launches"
_OPTION_HINT = (
    "compile.options go to NVRTC unchanged, which does not know nvcc's own (-O3, -Xptxas, -Xcompiler, -gencode)"
)
_LAUNCH_HINT = (
    "kernels that launch kernels (dynamic parallelism) cannot run here: let the job launch them, one after the other"
)
_TEXTURE = re.compile(r"^[ \t]*(?:static\s+|extern\s+)?texture\s*<[^;{}()]*>\s*(?P<name>\w+)\s*;", re.MULTILINE)
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_TEXTURE_HINT = (
    "texture references were removed in CUDA 12, so nvcc does not take it either: pass a cudaTextureObject_t to the "
    "kernel, and give the buffer a `texture:`"
)
_DEFINE_HINT = "a constant that the build gives with -D (nvcc -DTILE=16) goes into compile.defines: {TILE: 16}"
_HOST_SIGNS = ("is considered a host function", "a __host__ function", "host variables are not allowed")


def remedy(errors: str, source: Source, searched: Iterable[str]) -> str:
    """Return what to do about the compiler's errors, "" where it is not known.

    Args:
        errors: its messages, with their source lines.
        source: what was compiled.
        searched: the folders of the project that it searched, as they are shown.
    """
    return next(_remedies(errors, source, searched), "")


def _remedies(errors: str, source: Source, searched: Iterable[str]) -> Iterator[str]:
    missing = missing_header(errors)
    if missing:
        yield _missing_header_hint(missing, searched, source)
    if "device-side kernel launch" in errors:
        yield _LAUNCH_HINT
    text = _content(source)
    names = list(dict.fromkeys(_UNDEFINED.findall(errors)))
    yield from _host_functions(names, text)
    includes = list(dict.fromkeys(_includes(errors, names)))
    if includes:
        yield "\n".join(includes)
    if any(sign in errors for sign in _HOST_SIGNS):
        yield _HOST_HINT
    if any(re.match(r"(?:cuda|cu)[A-Z]", name) for name in names) or "checkCudaErrors" in names:
        yield _RUNTIME_HINT
    if _looks_defined_elsewhere(names, text):
        yield _DEFINE_HINT
    if "unrecognized option" in errors:
        yield _OPTION_HINT
    yield from _macros(errors, source)


def _missing_header_hint(name: str, searched: Iterable[str], source: Source) -> str:
    """Say where a header was searched, and which folders of the source's clone have it."""
    if name.startswith("curand") and not usermodules.installed_version("nvidia-curand"):
        return f"{name} is cuRAND's, whose headers are an extra (121 MB): pip install 'gpuregress[curand]'"
    where = f"{name} was searched in {', '.join(searched)} and CUDA's own headers"
    folders = [shown(folder) for folder in header_search.folders_with(name, Path(source.path).parent)]
    if not folders:
        return f"{where}; add its folder to compile.include: the one that {name} begins in, as nvcc's -I has it"
    if len(folders) == 1:
        return f"{where}; this clone has it in {folders[0]}: add that folder to compile.include (-I {folders[0]})"
    listed = ", ".join(folders[:_MOST_FOLDERS])
    if len(folders) > _MOST_FOLDERS:
        listed += f" and {len(folders) - _MOST_FOLDERS} more"
    return f"{where}; several folders of this clone have it, add the right one to compile.include: {listed}"


def _host_functions(names: Iterable[str], text: str) -> Iterator[str]:
    """Names of functions that the source has for the host."""
    for name in names:
        match = re.search(
            rf"^[^\n#/;=]*[\w>&*][ \t\n]+[*&]?{name}\s*\([^;{{}}]*\)\s*(?:const\s*)?\{{", text, re.MULTILINE
        )
        if match is not None:
            line = text.count("\n", 0, text.index(name, match.start())) + 1
            yield f"{name} is a host function (line {line}): annotate it __device__ if kernels call it"


def _includes(errors: str, names: Iterable[str]) -> Iterator[str]:
    for name in names:
        if name in _BY_NAME:
            yield f"{name} is declared in <{_BY_NAME[name]}>: add #include <{_BY_NAME[name]}>"
    for name in _NO_MEMBER.findall(errors):
        if name in _BY_STANDARD_NAME:
            yield f"std::{name} is declared in <{_BY_STANDARD_NAME[name]}>: add #include <{_BY_STANDARD_NAME[name]}>"
    if _NO_NAMESPACE.search(errors):
        words = [word for line in _LINE.findall(errors) for word in re.findall(r"\w+", line)]
        for name in dict.fromkeys(words):
            if name in ("cooperative_groups", "nvcuda", "wmma", "cub"):
                yield f"{name} is declared in <{_BY_NAME[name]}>: add #include <{_BY_NAME[name]}>"


def _looks_defined_elsewhere(names: Iterable[str], text: str) -> bool:
    """Tell whether an undeclared name is a macro's, or is used twice and so no typing error."""
    words = re.findall(r"\w+", text)
    return any(words.count(name) > 1 or (len(name) > 1 and name == name.upper()) for name in names)


def _macros(errors: str, source: Source) -> Iterator[str]:
    """Name the macros of the job in the line of the first syntax error."""
    first = _SYNTAX_ERROR.search(errors)
    names = [name for name in source.defines if first is not None and re.search(rf"\b{name}\b", first["line"])]
    if names:
        given = ", ".join(f"{name} as {source.defines[name]!r}" for name in names)
        own = "pass only the macros that the source needs, or rename them"
        yield f"compile.defines defines {given} in this line: {own}"


def _texture_reference(log: str, source: Source) -> str:
    """Refuse the first texture reference of a source, whose errors or missing headers would only follow from it."""
    declared = _declared_texture(source)
    if declared is None:
        return ""
    if not is_catastrophic(log) and not re.search(rf'"(?:texture|{declared["name"]})"', log):
        return ""
    line = declared.string.count("\n", 0, declared.start("name")) + 1
    return f"{shown(Path(source.path))}:{line}: error: {declared['name']} is a texture reference: {_TEXTURE_HINT}"


def _declared_texture(source: Source) -> re.Match[str] | None:
    return _TEXTURE.search(_COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), _content(source)))


def uses_texture_reference(log: str, source: Source) -> bool:
    """Tell whether device code uses a texture reference, so that the source compiles in no form.

    Args:
        log: as NVRTC wrote it.
        source: what was compiled.
    """
    if "is undefined" not in log:
        return False
    declared = _declared_texture(source)
    return declared is not None and f'identifier "{declared["name"]}" is undefined' in log


def _content(source: Source) -> str:
    try:
        return Path(source.path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""

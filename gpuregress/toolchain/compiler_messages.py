"""Translation of NVRTC's messages: paths of the project, and hints for common mistakes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from gpuregress.records import HARNESS_FILE, Source

_LOCATION = re.compile(
    r"^(?P<file>[^\s(][^(\n]*)\((?P<line>\d+)\): (?=(?:catastrophic )?error|warning|remark|note|Error)", re.MULTILINE
)
_NAME_MAP = re.compile(r"^__nv_name_map\(\d+\): error: .*(?:\n(?!\S).*)*\n?", re.MULTILINE)
_HARNESS = re.compile(rf"^{HARNESS_FILE}\(\d+\): error\b.*(?:\n(?!\S).*)*\n?", re.MULTILINE)
_BAD_EXPRESSION = re.compile(r'Input name expression was: "\s*&?\s*(.*?)\s*"')
_COUNT = re.compile(
    r"^\d+ (?:catastrophic )?errors? detected in the compilation of .*\n?|^Compilation terminated\.\n?", re.MULTILINE
)
_SYNTAX_ERROR = re.compile(r"^[^\n]*: error: [^\n]*\bexpected\b[^\n]*\n[ \t]+(?P<line>[^\n]+)", re.MULTILINE)
_ERROR = re.compile(r"^(?:[^\n]*?\(\d+\)|nvrtc): (?:[a-z]+ )?error\b[^:\n]*: (.*)$", re.MULTILINE)
_FILE_DIRECTIVE = re.compile(r'^(\s*\.file\s+\d+\s+)"([^"\n]*)"', re.MULTILINE)

_HOST_HINT = (
    "NVRTC compiles device code only: keep the kernels in a file of their own, or put the host code between "
    "`#ifndef __CUDACC_RTC__` and `#endif`"
)
_OPTION_HINT = (
    "compile.options go to NVRTC as they are; nvcc's own (-O3, -Xptxas, -Xcompiler, -gencode) are none of its options"
)
_LAUNCH_HINT = (
    "kernels that launch kernels (dynamic parallelism) cannot run here: let the job launch them, one after the other"
)
_DEFINE_HINT = "a constant that the build gives with -D (nvcc -DTILE=16) goes into compile.defines: {TILE: 16}"
_HOST_ONLY = """
condition_variable ctime deque exception fstream future getopt.h helper_cuda.h helper_functions.h
iomanip iostream list map mutex omp.h ostream random regex set sstream stdexcept string sys/time.h
thread time.h unistd.h unordered_map unordered_set vector
"""
_HOST_SIGNS = (
    "is considered a host function",
    "a __host__ function",
    'identifier "cuda',
    'identifier "checkCudaErrors"',
    'identifier "fprintf"',
    'namespace "std" has no member "cout"',
)


def unknown_names(log: str, asked: Iterable[str]) -> tuple[str, ...]:
    """Return the requested names that the source lacks, if nothing else is wrong with it.

    Args:
        log: as NVRTC wrote it; it spells names with spaces between all words.
        asked: the names as the job spells them.
    """
    if not _NAME_MAP.search(log) or re.search(r"\berror\b", _COUNT.sub("", _NAME_MAP.sub("", log))):
        return ()
    spelled = {"".join(name.split()): name for name in asked}
    bad = ("".join(match[1].split()) for match in _BAD_EXPRESSION.finditer(log))
    return tuple(dict.fromkeys(spelled.get(name, name) for name in bad))


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


def explain(log: str, source: Source, folders: Iterable[Path]) -> str:
    """Translate NVRTC's log: `kernels/saxpy.cu:12: error: …`, with a hint.

    Args:
        log: as NVRTC wrote it.
        source: what was compiled.
        folders: the project's folders of the search.
    """
    own = _NAME_MAP.sub("", log) or log
    own = _HARNESS.sub("", own) if _ERROR.search(_HARNESS.sub("", own)) else own  # they follow from the source's
    text = _COUNT.sub("", locations(own, source)).strip()
    missing = re.search(r'cannot open source file "([^"]+)"', text)
    if missing is not None:
        return f"{text}\n{_missing_header(missing[1], folders)}"
    if "device-side kernel launch" in text:
        return f"{text}\n{_LAUNCH_HINT}"
    if any(sign in text for sign in _HOST_SIGNS):
        return f"{text}\n{_HOST_HINT}"
    if _looks_defined_elsewhere(text, source):
        return f"{text}\n{_DEFINE_HINT}"
    if "unrecognized option" in text:
        return f"{text}\n{_OPTION_HINT}"
    macros = _macros_of(text, source)
    return f"{text}\n{macros}" if macros else text


def _macros_of(text: str, source: Source) -> str:
    """Name the macros of the job in the line of the first syntax error; "" without any."""
    first = _SYNTAX_ERROR.search(text)
    names = [name for name in source.defines if first is not None and re.search(rf"\b{name}\b", first["line"])]
    if first is None or not names:
        return ""
    given = ", ".join(f"{name} as {source.defines[name]!r}" for name in names)
    return f"compile.defines defines {given} in this line: pass only the macros that the source needs, or rename them"


def _looks_defined_elsewhere(text: str, source: Source) -> bool:
    """Tell whether an undeclared name is a macro's, or is used twice and so no typing error."""
    missed = set(re.findall(r'error: identifier "(\w+)" is undefined', text))
    try:
        words = re.findall(r"\w+", Path(source.path).read_text(encoding="utf-8", errors="replace")) if missed else []
    except OSError:
        words = []
    return any(words.count(name) > 1 or (len(name) > 1 and name == name.upper()) for name in missed)


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


def portable_paths(ptx: str, folders: Iterable[Path]) -> str:
    """Rewrite `.file` lines of PTX to paths that are equal on every machine."""
    roots = sorted({str(folder) for folder in folders}, key=len, reverse=True)

    def directive(match: re.Match[str]) -> str:
        path = match[2]
        for root in roots:
            if path.startswith(f"{root}/"):
                return f'{match[1]}"{path[len(root) + 1 :]}"'
        # A file given as text (the source, a virtual header): NVRTC puts the working folder before its name.
        return f'{match[1]}"{path.removeprefix(f"{Path.cwd()}/")}"'

    return _FILE_DIRECTIVE.sub(directive, ptx)


def _missing_header(name: str, folders: Iterable[Path]) -> str:
    if name in _HOST_ONLY.split():
        return f"<{name}> is a host header. {_HOST_HINT}"
    searched = ", ".join(shown(folder) for folder in folders)
    return f"searched in {searched} and CUDA's own headers; add the header's folder to compile.include"

"""Translation of NVRTC's messages: paths of the project, and the first of its errors."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from gpuregress.foundation.errors import CompileError, UnsupportedError
from gpuregress.foundation.records import HARNESS_FILE, Source
from gpuregress.toolchain import remedies

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
_COUNT = re.compile(
    r"^\d+ (?:catastrophic )?errors? detected in the compilation of .*\n?|^Compilation terminated\.\n?", re.MULTILINE
)
_ERROR = re.compile(r"^[^\n]*: error: [^\n]*\bexpected\b[^\n]*\n[ \t]+(?P<line>[^\n]+)", re.MULTILINE)
_ERROR = re.compile(r"^(?:[^\n]*?\(\d+\)|nvrtc): (?:[a-z]+ )?error\b[^:\n]*: (.*)$", re.MULTILINE)
_FILE_DIRECTIVE = re.compile(r'^(\s*\.file\s+\d+\s+)"([^"\n]*)"', re.MULTILINE)

_MOST_ERRORS = 5


OVERLOADED = "cannot determine which instance of overloaded function"
"""What NVRTC says of a name that several functions have."""


def unknown_names(log: str, asked: Iterable[str], of_line: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the requested names that the source lacks, if nothing else is wrong with it.

    Args:
        log: as NVRTC wrote it; it spells names with spaces between all words.
        asked: the names as the job spells them, and what the compiler was asked for.
        of_line: the names whose parameters' types are in the lines of the generated text.
    """
    aliased = [match for match in _HARNESS.finditer(log) if 0 < int(match["line"]) <= len(of_line)]
    own = _HARNESS.sub("", log) if aliased else log
    if re.search(r"\berror\b", _COUNT.sub("", _NAME_MAP.sub("", own))):
        return ()
    spelled = {"".join(name.split()): name for name in asked}
    bad = ("".join(match[1].split()) for match in _BAD_EXPRESSION.finditer(log))
    wrong = [of_line[int(match["line"]) - 1] for match in aliased]
    return tuple(dict.fromkeys([*wrong, *(spelled.get(name, name) for name in bad if not wrong or name in spelled)]))


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
    """Translate NVRTC's log: its first errors, `kernels/saxpy.cu:12: error: …`, a count of the others, and a remedy.

    Args:
        log: as NVRTC wrote it.
        source: what was compiled.
        folders: the project's folders of the search.
    """
    own = _NAME_MAP.sub("", log) or log
    own = _HARNESS.sub("", own) if _ERROR.search(_HARNESS.sub("", own)) else own  # they follow from the source's
    errors = _errors(own)
    if not errors:
        return _COUNT.sub("", locations(own, source)).strip()
    shown_errors = locations("\n\n".join(errors[:_MOST_ERRORS]), source)
    count = len(errors) - _MOST_ERRORS
    more = f"\n\n… and {count} more {'errors' if count > 1 else 'error'}" if count > 0 else ""
    hint = remedies.remedy(shown_errors, source, [shown(folder) for folder in folders])
    return f"{shown_errors}{more}\n{hint}".rstrip()


def _errors(log: str) -> list[str]:
    """The errors of a log, each with its source line and its notes, without warnings."""
    starts = [match.start() for match in _MESSAGE.finditer(log)]
    texts = [log[start:end] for start, end in zip(starts, [*starts[1:], None], strict=False)]
    errors: list[str] = []
    is_error = False
    for text in texts:
        kind = _MESSAGE.match(text)
        if kind is not None and kind["kind"] == "note" and is_error:
            errors[-1] += f"\n{_COUNT.sub('', text).strip()}"
        elif kind is not None:
            is_error = kind["kind"].lower().endswith("error")
            errors += [_COUNT.sub("", text).strip()] if is_error else []
    return errors


def error_places(log: str, source: Source, folders: Sequence[Path]) -> frozenset[tuple[Path, int]]:
    """Return the files and lines of a log's errors.

    Args:
        log: as NVRTC wrote it.
        source: what was compiled.
        folders: of the search; the source's first.
    """
    own = Path(source.path).name
    found = re.findall(r"^([^\s(][^(\n]*)\((\d+)\): (?:catastrophic )?error", log, re.MULTILINE)
    return frozenset((folders[0] / file if file == own else Path(file), int(line)) for file, line in found)


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
        raise


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

"""Location of a failure in the sources: the line that a report on a code review can point at.

A fault, a compile error or a failing check at a line of one of the case's sources is located there. The error or the
outcome has that line as a fact; no message is read. Any other failure of a kernel is located at the kernel's
definition, and what has no kernel in its job.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Literal

from gpuregress.foundation.errors import CodeLine, GpuregressError
from gpuregress.foundation.records import Case, PythonKernel, Source, SourceLocation, Verdict
from gpuregress.gpu.records import replace
from gpuregress.toolchain import programs

_KEPT_FILES = 256


def located(verdict: Verdict, case: Case) -> Verdict:
    """Add the location to a verdict that has none.

    Args:
        verdict: a failure.
    """
    if verdict.location is not None:
        return verdict
    line = None
    # What differs is wrong at the end of the kernel, wherever the checks found something.
    if verdict.outcome is not None and verdict.status not in ("differ", "new"):
        line = verdict.outcome.source_line
    return replace(verdict, location=in_project(line, case) or _definition(verdict, case))


def in_project(line: CodeLine | None, case: Case) -> SourceLocation | None:
    """Find a line in the sources of the case and in the files that they include.

    Args:
        line: of an error or a fault; where it is in none of these files, the first of its calls that is.

    Returns:
        None where neither the line nor a call is in such a file.
    """
    if line is None:
        return None
    chain: list[SourceLocation] = []
    for file, number in ((line.file, line.line), *line.calls):
        path = _path(file, case)
        if path:
            chain.append(SourceLocation(path, number))
    if not chain:
        return None
    return replace(chain[0], calls=tuple(chain[1:]))


def _path(file: str, case: Case) -> str:
    """The path of a source of the case, or of a file that one includes; "" where it is none.

    Args:
        file: its path, or its name alone, as line information of a program has it.
    """
    name = Path(file).name
    of_sources = [source.path for source in case.sources]
    if case.program is not None:
        if file.startswith(f"{case.program.folder}/"):
            return file
        return next((path for path in case.source.files if Path(path).name == name), "")
    if file in of_sources:
        return file
    for path in of_sources:
        if Path(path).name == name:
            return path
    if Path(name).suffix:
        for source in case.sources:
            named = (source.python.language, source.python.function) if source.python is not None else None
            files = _included(source.path, source.options, source.include, named)
            if file in files.values():
                return file
            if name in files:
                return files[name]
    return ""


@lru_cache(maxsize=_KEPT_FILES)
def _included(
    path: str,
    options: tuple[str, ...],
    include: tuple[str, ...],
    named: tuple[Literal["triton", "numba", "python"], str] | None,
) -> dict[str, str]:
    """The name of each file of the project that a source may read → its path."""
    try:
        python = PythonKernel(*named) if named is not None else None
        files = programs.inputs(Source(path, options, include, python=python)).files
    except (OSError, GpuregressError):
        return {}
    return {file.name: str(file) for file in reversed(files)}


def _definition(verdict: Verdict, case: Case) -> SourceLocation:
    """The definition of the kernel that failed, or of the last one that was launched."""
    if verdict.status == "error" or not case.launches:
        return SourceLocation(case.path)
    position = _failing_launch(verdict)
    if position is None or position >= len(case.launches):
        position = -1
    launch = case.launches[position]
    name = case.function.name if case.function is not None else launch.kernel
    path = case.sources[launch.source].path
    line = _line_of(path, name.partition("<")[0].rpartition("::")[2])
    return SourceLocation(path, line) if line else SourceLocation(case.path)


def _failing_launch(verdict: Verdict) -> int | None:
    """The position of the launch that faulted, or after which a buffer first differed."""
    if verdict.outcome is not None and verdict.outcome.fault is not None:
        return verdict.outcome.fault.position
    for buffer in verdict.buffers:
        for comparison in buffer.comparisons:
            if comparison.first_wrong is not None:
                return comparison.first_wrong.number - 1
    return None


@lru_cache(maxsize=_KEPT_FILES)
def _line_of(path: str, name: str) -> int:
    """The line where a function's parameters begin; 0 where the text has none of this name."""
    try:
        text = Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0
    first_use = None
    for match in re.finditer(rf"\b{re.escape(name)}\s*\(", text):
        start = match.start()
        if "//" in text[text.rfind("\n", 0, start) + 1 : start]:
            continue
        if re.search(r"__(global|device|host)__[^;{}]*$", text[:start][-400:]):
            return text.count("\n", 0, start) + 1
        if first_use is None:
            first_use = start
    if first_use is None:
        return 0
    return text.count("\n", 0, first_use) + 1


def forget() -> None:
    """Forget the lines of all files, for they may have been edited since: in a process that runs cases again."""
    _included.cache_clear()
    _line_of.cache_clear()

"""Coverage as a trace file of lcov, which genhtml, editors and code hosts read. geninfo(1), "FILES"."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gpuregress.foundation.escapes import inert, one_line
from gpuregress.foundation.records import FileCoverage, RunSummary
from gpuregress.gpu.records import Record
from gpuregress.report import coverage_report
from gpuregress.report.layout import shown
from gpuregress.toolchain.functions import declarations


def render(summary: RunSummary, root: Path) -> str:
    """The coverage of a run; the run's notes as comments where nothing was counted.

    Args:
        summary: the run.
        root: the repository's folder; files below it are named relative to it.
    """
    coverage = coverage_report.of_run(summary)
    lines: list[str] = []
    if coverage is None or not coverage.files:
        lines += [f"# {inert(one_line(note))}" for note in summary.notes]
    else:
        for file in coverage.files:
            lines += _record(file, root)
    return "".join(f"{line}\n" for line in lines)


def _record(file: FileCoverage, root: Path) -> Iterator[str]:
    path = shown(file.path, root).replace("\n", " ")
    yield "TN:gpuregress"
    yield f"SF:{path}"
    functions = _functions(file)
    for function in functions:
        yield f"FN:{function.line},{function.name}"
    for function in functions:
        yield f"FNDA:{function.count},{function.name}"
    if functions:
        yield f"FNF:{len(functions)}"
        yield f"FNH:{sum(function.count > 0 for function in functions)}"
    counts: list[int] = []
    blocks: dict[tuple[Any, ...], int] = {}
    for branch in file.branches:
        block = blocks.setdefault((branch.line, branch.column, branch.kind, branch.condition), len(blocks))
        for side, count in enumerate(branch.sides):
            # "-" is for a branch that was never reached
            yield f"BRDA:{branch.line},{block},{side},{count if any(branch.sides) else '-'}"
        counts += branch.sides
    if counts:
        yield f"BRF:{len(counts)}"
        yield f"BRH:{sum(count > 0 for count in counts)}"
    for line, count in file.lines:
        yield f"DA:{line},{count}"
    yield f"LF:{len(file.lines)}"
    yield f"LH:{sum(count > 0 for _, count in file.lines)}"
    yield "end_of_record"


class _Function(Record):
    """A function with code.

    Attributes:
        name: unique in its file.
        line: where it begins, counted from 1.
        count: the executions of its first line that has code.
    """

    name: str
    line: int
    count: int


def _functions(file: FileCoverage) -> list[_Function]:
    """The functions of a file that the compiler made code of, as its text defines them now; none if it is gone."""
    try:
        text = Path(file.path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    try:
        spans = list(_python_spans(text) if file.path.endswith(".py") else _cxx_spans(text))
    except SyntaxError:  # of a Python file that was edited since
        return []
    names = Counter(name for name, *_ in spans)
    functions: dict[str, _Function] = {}
    for name, signature, first, last in spans:
        counts = [count for line, count in file.lines if first <= line <= last]
        unique = one_line(signature if names[name] > 1 else name)
        if unique in functions:  # as of two branches of `#if`, or a member and its const twin
            unique = f"{unique}:{first}"
        if counts:
            functions[unique] = _Function(unique, first, counts[0])
    return list(functions.values())


def _cxx_spans(text: str) -> Iterator[tuple[str, str, int, int]]:
    """Name, signature, first and last line of each function that a text defines."""
    for function in declarations.scan(text):
        start, end = function.span
        if text[start:end].rstrip().endswith("}"):  # else it is a declaration
            yield function.name, str(function), function.line, text.count("\n", 0, end) + 1


def _python_spans(text: str) -> Iterator[tuple[str, str, int, int]]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            yield node.name, f"{node.name}:{node.lineno}", node.lineno, node.end_lineno or node.lineno

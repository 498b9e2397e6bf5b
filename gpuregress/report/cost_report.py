"""Costs of a case for people: the columns and the text of a profile, and totals in words."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from gpuregress.foundation.escapes import one_line
from gpuregress.foundation.records import Costs, InstructionCost
from gpuregress.gpu.instruments import by_line, total
from gpuregress.gpu.records import Record
from gpuregress.report.coverage_report import source_lines

COLUMNS = ("instructions", "lanes", "requests", "sectors each", "bank conflicts", "divergent")
"""Of each line, after its number."""


class ProfiledLine(Record):
    """A line of source in a profile.

    Attributes:
        path: of the file.
        number: counted from 1.
        counts: its costs; nothing where it has no code.
        source: its text.
    """

    path: str
    number: int
    counts: Mapping[str, int]
    source: str

    @property
    def cells(self) -> tuple[str, ...]:
        """The texts of `COLUMNS`."""
        return cells(self.counts)


def cells(counts: Mapping[str, int]) -> tuple[str, ...]:
    """The texts of `COLUMNS`: empty where there is nothing to tell."""
    issued, threads = counts.get("instructions", 0), counts.get("thread_instructions", 0)
    if not issued:
        return ("",) * len(COLUMNS)
    requests, sectors = counts.get("requests", 0), counts.get("sectors", 0)
    branches, divergent = counts.get("branches", 0), counts.get("divergent_branches", 0)
    shared = counts.get("requests.shared", 0)
    return (
        f"{issued:,}",
        f"{threads / issued:.1f}",
        f"{requests:,}" if requests else "",
        f"{sectors / requests:.1f}" if requests else "",
        f"{counts.get('bank_conflicts', 0):,}" if shared else "",
        f"{divergent:,} of {branches:,}" if branches else "",
    )


def lines(costs: Costs) -> Iterator[ProfiledLine]:
    """The lines of all files of a profile from the first to the last with code, with what lies between."""
    found = by_line(costs)
    for path in dict.fromkeys(path for path, _ in found):
        numbers = [number for name, number in found if name == path]
        text = source_lines(path)
        for number in range(min(numbers), max(numbers) + 1):
            code = text[number - 1] if number <= len(text) else ""
            if code.strip() or (path, number) in found:
                yield ProfiledLine(path, number, found.get((path, number), {}), code)


def totals(costs: Costs) -> dict[str, int]:
    """The sum of all counts."""
    return total(costs.instructions)


def classes(costs: Costs) -> dict[str, tuple[int, int]]:
    """Class of instructions → executions by warps, and by threads; the most frequent first."""
    found: dict[str, list[InstructionCost]] = {}
    for item in costs.instructions:
        found.setdefault(item.kind, []).append(item)
    sums = {kind: total(items) for kind, items in found.items()}
    pairs = {kind: (one.get("instructions", 0), one.get("thread_instructions", 0)) for kind, one in sums.items()}
    return dict(sorted(((kind, pair) for kind, pair in pairs.items() if pair[0]), key=lambda item: -item[1][0]))


def summary(costs: Costs) -> Iterator[str]:
    """The totals in words, a line each."""
    counts = totals(costs)
    issued, threads = counts.get("instructions", 0), counts.get("thread_instructions", 0)
    lanes = f", {threads / issued:.1f} lanes each" if issued else ""
    yield f"instructions: {issued:,} by warps{lanes}, {threads:,} by threads"
    yield "  " + ", ".join(f"{kind} {number:,}" for kind, (number, _) in classes(costs).items())
    requests, sectors = counts.get("requests", 0), counts.get("sectors", 0)
    if requests:
        moved = counts.get("bytes", 0)
        yield f"memory: {requests:,} requests, {sectors:,} sectors ({sectors / requests:.1f} each), {moved:,} bytes"
    if shared := counts.get("requests.shared", 0):
        yield f"shared memory: {shared:,} requests, {counts.get('bank_conflicts', 0):,} bank conflicts"
    if branches := counts.get("branches", 0):
        yield f"branches: {branches:,} by warps, {counts.get('divergent_branches', 0):,} divergent"
    if most := max(costs.contention.values(), default=0):
        clashes = counts.get("atomic_conflicts", 0)
        yield f"atomics: {clashes:,} lanes wait for another one of their request; {most:,} updates of one address"
    rest = {"barriers": "barriers at which warps wait", "tensor_operations": "matrix instructions of warps"}
    yield from (f"{words}: {counts[name]:,}" for name, words in rest.items() if counts.get(name))
    if costs.uncounted:
        yield f"not all is counted: {costs.uncounted}"
    if costs.left_out:
        yield f"not counted: {'; '.join(costs.left_out)}"


_WIDEST_SOURCE = 90


def profile(case: str, costs: Costs, root: Path) -> Iterator[str]:
    """The totals, then each file with the costs of its lines.

    Args:
        case: its name.
        costs: of the case.
        root: the project's; paths below it are shown relative to it.
    """
    yield f"{case}"
    yield from summary(costs)
    found = list(lines(costs))
    for path in dict.fromkeys(line.path for line in found):
        rows: list[tuple[str, ...]] = [("line", *COLUMNS, "source")]
        rows += [
            (str(line.number), *line.cells, one_line(line.source.rstrip())[:_WIDEST_SOURCE])
            for line in found
            if line.path == path
        ]
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
        yield ""
        yield os.path.relpath(path, root) if Path(path).is_relative_to(root) else path
        for *texts, source in rows:
            yield "  ".join([*(text.rjust(width) for text, width in zip(texts, widths, strict=True)), source]).rstrip()

"""Costs of a case for people: the columns and the text of a profile, and totals in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from gpuregress.foundation.escapes import one_line
from gpuregress.foundation.records import Costs, InstructionCost
from gpuregress.gpu.instruments import by_line, total
from gpuregress.gpu.records import Record
from gpuregress.report.coverage_report import source_lines
from gpuregress.report.layout import shown

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
    memory, per_request, conflicts, divergence = "", "", "", ""
    if counts.get("requests"):
        memory = f"{counts['requests']:,}"
        per_request = f"{counts.get('sectors', 0) / counts['requests']:.1f}"
    if counts.get("requests.shared"):
        conflicts = f"{counts.get('bank_conflicts', 0):,}"
    if counts.get("branches"):
        divergence = f"{counts.get('divergent_branches', 0):,} of {counts['branches']:,}"
    return (f"{issued:,}", f"{threads / issued:.1f}", memory, per_request, conflicts, divergence)


def lines(costs: Costs) -> Iterator[ProfiledLine]:
    """The lines of all files of a profile from the first to the last with code, with what lies between."""
    files: dict[str, dict[int, Mapping[str, int]]] = {}
    for (path, number), counts in by_line(costs).items():
        files.setdefault(path, {})[number] = counts
    for path, numbers in files.items():
        text = dict(enumerate(source_lines(path), 1))
        for number in range(min(numbers), max(numbers) + 1):
            code = text.get(number, "")
            if code.strip() or number in numbers:
                yield ProfiledLine(path, number, numbers.get(number, {}), code)


def totals(costs: Costs) -> dict[str, int]:
    """The sum of all counts."""
    return total(costs.instructions)


def classes(costs: Costs) -> dict[str, tuple[int, int]]:
    """Class of instructions → executions by warps, and by threads; the most frequent first."""
    kinds: dict[str, list[InstructionCost]] = {}
    for instruction in costs.instructions:
        kinds.setdefault(instruction.kind, []).append(instruction)
    executions = {}
    for kind, instructions in kinds.items():
        counts = total(instructions)
        if counts.get("instructions"):
            executions[kind] = (counts["instructions"], counts.get("thread_instructions", 0))
    return dict(sorted(executions.items(), key=lambda execution: -execution[1][0]))


def summary(costs: Costs) -> Iterator[str]:
    """The totals in words, a line each."""
    counts = totals(costs)
    issued, threads = counts.get("instructions", 0), counts.get("thread_instructions", 0)
    warps = f"{issued:,} by warps"
    if issued:
        warps += f", {threads / issued:.1f} lanes each"
    yield f"instructions: {warps}, {threads:,} by threads"
    yield "  " + ", ".join(f"{kind} {number:,}" for kind, (number, _) in classes(costs).items())
    requests, sectors = counts.get("requests", 0), counts.get("sectors", 0)
    if requests:
        moved = counts.get("bytes", 0)
        yield f"memory: {requests:,} requests, {sectors:,} sectors ({sectors / requests:.1f} each), {moved:,} bytes"
    if counts.get("requests.shared"):
        conflicts = counts.get("bank_conflicts", 0)
        yield f"shared memory: {counts['requests.shared']:,} requests, {conflicts:,} bank conflicts"
    if counts.get("branches"):
        yield f"branches: {counts['branches']:,} by warps, {counts.get('divergent_branches', 0):,} divergent"
    most = max(costs.contention.values(), default=0)
    if most:
        clashes = counts.get("atomic_conflicts", 0)
        yield f"atomics: {clashes:,} lanes wait for another one of their request; {most:,} updates of one address"
    if counts.get("barriers"):
        yield f"barriers at which warps wait: {counts['barriers']:,}"
    if counts.get("tensor_operations"):
        yield f"matrix instructions of warps: {counts['tensor_operations']:,}"
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
    for path, of_file in groupby(lines(costs), attrgetter("path")):
        numbers: list[tuple[str, ...]] = [("line", *COLUMNS)]
        sources = ["source"]
        for line in of_file:
            numbers.append((str(line.number), *line.cells))
            sources.append(one_line(line.source.rstrip())[:_WIDEST_SOURCE])
        widths = [max(map(len, column)) for column in zip(*numbers, strict=True)]
        yield ""
        yield shown(path, root)
        for texts, source in zip(numbers, sources, strict=True):
            yield "  ".join((*map(str.rjust, texts, widths), source)).rstrip()

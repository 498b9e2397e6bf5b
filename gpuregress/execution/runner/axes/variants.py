"""Variants: other builds of a case, and the source lines that become other instructions in them.

A fused instruction rounds once where two would (`fma`). A fast one is approximate (`.approx`, `.full`) or flushes
subnormal numbers to zero (`.ftz`). NVRTC writes the source line of each instruction as `.loc` (PTX ISA manual, 11.5
"Debugging Directives").
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePath

from gpuregress.execution.runner.case_runs import CaseRuns, PlannedRun, RunAxis, RunPlan
from gpuregress.foundation import storage
from gpuregress.foundation.records import HARNESS_FILE, Case, FurtherRun, InstructionChange, Program, RunFacts
from gpuregress.gpu.records import replace

_FILE = re.compile(r'^[ \t]*\.file[ \t]+(\d+)[ \t]+"((?:[^"\\]|\\.)*)"', re.MULTILINE)
_FUNCTION = re.compile(r"^[ \t]*(?:\.(?:visible|weak|extern)[ \t]+)*\.(entry|func)\b.*?([\w$]+)[ \t]*(?:\(|$)")
_LOCATION = re.compile(r"^[ \t]*\.loc[ \t]+(\d+) (\d+) (\d+)(?:.*inlined_at (\d+) (\d+) (\d+))?")
_INSTRUCTION = re.compile(r"^[ \t]*(?:\{[ \t]*)?(?:@!?%\w+[ \t]+)?([a-z]\w*(?:[.:]+\w+)+)[ \t]")
_ARITHMETIC = re.compile(
    r"(?:add|sub|mul|fma|mad|div|rcp|sqrt|rsqrt|sin|cos|lg2|ex2|tanh|min|max|abs|neg|copysign|testp|setp|set)\."
)
_FLOAT = re.compile(r"\.(?:b?f16(?:x2)?|f32(?:x2)?|f64)\b")
_FAST = re.compile(r"^(?:fma|mad)\.|\.(?:approx|full|ftz|sat)\b")
_OF_THE_TARGET = re.compile(r"^\s*(?:\.version|\.target|//).*\n?", re.MULTILINE)

_Location = tuple[int, int, int]
SourcePlace = tuple[str, int]
"""File name and line."""


def is_fused_or_fast(instruction: str) -> bool:
    """Tell whether an instruction rounds less often, or less exactly, than IEEE 754 arithmetic does."""
    return _FAST.search(instruction) is not None


def without_target(ptx: str) -> str:
    """Strip the target and the comments from a PTX text: two builds with the same rest compute the same."""
    return _OF_THE_TARGET.sub("", ptx)


def changes(first: str, other: str, kernels: Collection[str]) -> tuple[InstructionChange, ...]:
    """List the source lines whose floating-point instructions differ between two builds of one source.

    Args:
        first: PTX.
        other: PTX of the other build.
        kernels: mangled names; instructions of other kernels are left out, those of device functions are not.
    """
    before, after = by_line(first, kernels), by_line(other, kernels)
    lines = []
    for place in sorted({*before, *after}):
        then, now = before.get(place, Counter()), after.get(place, Counter())
        if then != now:
            lines.append(InstructionChange(*place, _listed(then - now), _listed(now - then)))
    return tuple(lines)


def _listed(instructions: Counter[str]) -> tuple[str, ...]:
    """`fma.rn.f32`, or `4 fma.rn.f32` for several; fused and fast ones first."""
    ordered = sorted(instructions, key=lambda name: (not is_fused_or_fast(name), name))
    return tuple(name if instructions[name] == 1 else f"{instructions[name]} {name}" for name in ordered)


def by_line(ptx: str, kernels: Collection[str]) -> Mapping[SourcePlace, Counter[str]]:
    """Count the floating-point instructions of each source line.

    Args:
        ptx: compiled with line information.
        kernels: as for `changes`.
    """
    counts: dict[SourcePlace, Counter[str]] = {}
    for place, instruction in _instructions(ptx, kernels):
        counts.setdefault(place, Counter())[instruction] += 1
    return counts


@dataclass(slots=True)
class _Places:
    """The source location of the instructions that follow: the innermost one in the file of the kernel.

    Of a function under test it is the innermost one in the file of the function, which a generated kernel calls.
    """

    files: Mapping[int, str]
    callers: dict[_Location, _Location] = field(default_factory=dict)
    current: SourcePlace | None = None

    def read(self, match: re.Match[str]) -> None:
        numbers = [int(text) for text in match.groups() if text is not None]
        location: _Location = (numbers[0], numbers[1], numbers[2])
        if len(numbers) > 3:
            self.callers[location] = (numbers[3], numbers[4], numbers[5])
        else:
            self.callers.pop(location, None)
        chain = [location]
        while (caller := self.callers.get(chain[-1])) is not None and caller not in chain:
            chain.append(caller)
        written = [place for place in chain if self.files.get(place[0]) != HARNESS_FILE] or chain
        outermost = written[-1][0]
        file, line, _ = next(place for place in written if place[0] == outermost)
        # Line 0 marks code that the compiler made up.
        if line > 0 and file in self.files:
            self.current = (self.files[file], line)


def _instructions(ptx: str, kernels: Collection[str]) -> Iterator[tuple[SourcePlace, str]]:
    places = _Places({int(number): PurePath(path).name for number, path in _FILE.findall(ptx)})
    is_meant = True
    for line in ptx.split("\n"):
        if match := _LOCATION.match(line):
            places.read(match)
        elif match := _FUNCTION.match(line):
            is_meant = match[1] == "func" or match[2] in kernels
            places.current = None
        elif is_meant and places.current and (match := _INSTRUCTION.match(line)):
            name = match[1]
            if _ARITHMETIC.match(name) and _FLOAT.search(name):
                yield places.current, name


def _runs(runs: CaseRuns) -> Iterator[PlannedRun]:
    """Plan every variant whose program is another one."""
    variants, task = runs.case.variants, runs.launcher.task
    assert variants is not None
    builds = {_computed(task.programs): variants.first}
    for name in variants.sources:
        programs = task.variants[name]
        same_as = builds.setdefault(_computed(programs), name)
        if same_as != name:
            yield PlannedRun(name, None, RunFacts(same_as=same_as))
        else:
            facts = RunFacts(instructions=_instruction_changes(runs.case, task.programs, programs))
            yield PlannedRun(name, partial(_run, runs, name, facts), facts)


def _run(runs: CaseRuns, name: str, facts: RunFacts) -> FurtherRun:
    assert runs.case.variants is not None
    programs = zip(runs.case.variants.sources[name], runs.launcher.task.variants[name], strict=True)
    memory = runs.memory(RunPlan(replace(runs.label, variant=name), programs=tuple(programs)))
    _, dumps = runs.compared(memory, f"variant-{name}")
    return FurtherRun("variant", name, dumps=dumps, facts=facts)


def _instruction_changes(case: Case, own: Sequence[Program], other: Sequence[Program]) -> tuple[InstructionChange, ...]:
    """List the source lines that became other instructions, source by source."""
    lines: list[InstructionChange] = []
    for number, (first, second) in enumerate(zip(own, other, strict=True)):
        kernels = {first.entries[launch.kernel].mangled for launch in case.launches if launch.source == number}
        lines += changes(_ptx(first), _ptx(second), kernels)
    return tuple(lines)


def _computed(programs: Sequence[Program]) -> tuple[str, ...]:
    """What programs compute: their PTX without the target."""
    return tuple(without_target(_ptx(program)) for program in programs)


def _ptx(program: Program) -> str:
    if not program.ptx:
        return ""
    return storage.read_bytes(Path(program.ptx)).decode(errors="replace")


AXIS = RunAxis("variant", _runs, is_tolerant=True)

"""Variants: other combinations of compiler settings, and the source lines that become other instructions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from gpuregress.execution.runner import float_instructions
from gpuregress.execution.runner.case_runs import CaseRuns, PlannedRun, RunAxis, RunPlan
from gpuregress.foundation import storage
from gpuregress.foundation.records import Case, FurtherRun, InstructionChange, Program, RunFacts
from gpuregress.gpu.records import replace


def _runs(runs: CaseRuns) -> Iterator[PlannedRun]:
    """Plan every variant whose program is another one."""
    variants, task = runs.case.variants, runs.launcher.task
    if variants is None:
        return
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
        launches = [launch for launch in case.launches if launch.source == number]
        kernels = {first.entries[launch.kernel].mangled for launch in launches}
        lines += float_instructions.changes(_ptx(first), _ptx(second), kernels)
    return tuple(lines)


def _computed(programs: Sequence[Program]) -> tuple[str, ...]:
    """What programs compute: their PTX without the target."""
    return tuple(float_instructions.without_target(_ptx(program)) for program in programs)


def _ptx(program: Program) -> str:
    return storage.read_bytes(Path(program.ptx)).decode(errors="replace") if program.ptx else ""


AXIS = RunAxis("variant", _runs, is_tolerant=True)

"""Other seeds: the same programs on other random inputs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from gpuregress.execution.runner.case_runs import CaseRuns, PlannedRun, RunAxis, RunPlan
from gpuregress.execution.runner.dumps import BufferReader
from gpuregress.foundation.records import FurtherRun, Seeded
from gpuregress.gpu.records import replace


def _runs(runs: CaseRuns) -> Iterator[PlannedRun]:
    for seeded in runs.case.seeds:
        yield PlannedRun(str(seeded.seed), partial(_run, runs, seeded))


def _run(runs: CaseRuns, seeded: Seeded) -> FurtherRun:
    case = runs.case.with_seed(seeded)
    runs.launcher.entering("preparing")
    filled = {name: runs.fill(case.buffers[name]) for name in seeded.fills}
    label = replace(runs.label, seed=seeded.seed)
    memory = runs.memory(RunPlan(label, filled, case.launches))
    runs.launcher.entering("saving")
    folder = runs.folder.within(f"seed-{seeded.seed}")
    dumps = {name: folder.stream(BufferReader(memory[name], case.buffers[name]), {}) for name in case.dump}
    return FurtherRun("seed", str(seeded.seed), dumps=dumps)


AXIS = RunAxis("seed", _runs)

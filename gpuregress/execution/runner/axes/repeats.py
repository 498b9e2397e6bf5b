"""Further runs of a case's own programs: repeats, the other poison, and other seeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from gpuregress.execution.runner.case_runs import CaseRuns, PlannedRun, RunAxis, RunPlan
from gpuregress.execution.runner.dumps import BufferReader, digest_of
from gpuregress.execution.runner.poison import COMPLEMENT, poison_shows, proven_unwritten
from gpuregress.foundation import dtypes
from gpuregress.foundation.numeric import determinism
from gpuregress.foundation.records import Determinism, Dump, FurtherRun, PoisonComparison, RunFacts, Seeded
from gpuregress.gpu.base import Memory
from gpuregress.gpu.records import replace


def compared(
    runs: CaseRuns, memory: Mapping[str, Memory], number: int, order: str, *, is_classified: bool = True
) -> FurtherRun:
    """Compare the buffers after a repeat by their digests; dump those that differ from the first run's.

    Args:
        memory: after the repeat.
        number: of the repeat among the case's runs, counted from 1.
        order: of its blocks and threads, "" where none was chosen.
        is_classified: whether the determinism of each buffer is classified.
    """
    digests: dict[str, str] = {}
    dumps: dict[str, Dump] = {}
    classes: dict[str, Determinism] = {}
    for first, result in runs.readers(memory):
        name = first.buffer
        digests[name] = digest_of(result)
        if is_classified:
            classes[name] = "bitwise"
        if digests[name] == first.digest:
            continue
        dumps[name] = runs.folder.within(f"repeat-{number}").stream(result, {})
        if is_classified:
            pair = (runs.arrays[name].reshape(-1), result.array().reshape(-1))
            classes[name] = determinism.classify(dtypes.parse(result.buffer.dtype), pair)
    facts = RunFacts(label=order, digests=digests, determinism=classes)
    return FurtherRun("repeat", str(number), dumps=dumps, facts=facts)


def _repeats(runs: CaseRuns) -> Iterator[PlannedRun]:
    # The last run of the timing loop is a repeat, too.
    first = 2 if runs.case.settings.timing is None else 3
    for repeat in range(1, runs.case.repeat):
        order = runs.vary(repeat)
        number = first + repeat - 1
        yield PlannedRun(str(number), partial(_repeat, runs, number, order))
    runs.launcher.device.vary(0)


def _repeat(runs: CaseRuns, number: int, order: str) -> FurtherRun:
    return compared(runs, runs.memory(RunPlan(is_own=True)), number, order)


def _poisons(runs: CaseRuns) -> Iterator[PlannedRun]:
    yield PlannedRun("complement", partial(_other_poison, runs))


def _other_poison(runs: CaseRuns) -> FurtherRun:
    """Compare each output with that of the first run."""
    memory, initial = runs.memory(RunPlan(poison=COMPLEMENT, is_own=True)), runs.case.initial_buffers
    poisons: dict[str, PoisonComparison] = {}
    for dump, result in runs.readers(memory):
        if initial[dump.buffer].is_poisoned:
            first, second = runs.arrays[dump.buffer], result.array()
            poisons[dump.buffer] = PoisonComparison(proven_unwritten(first, second), poison_shows(first, second))
    return FurtherRun("poison", "complement", facts=RunFacts(poisons=poisons))


def _seeds(runs: CaseRuns) -> Iterator[PlannedRun]:
    for seeded in runs.case.seeds:
        yield PlannedRun(str(seeded.seed), partial(_other_seed, runs, seeded))


def _other_seed(runs: CaseRuns, seeded: Seeded) -> FurtherRun:
    """Run the case on other random inputs, and dump all of its results."""
    case = runs.case.with_seed(seeded)
    runs.launcher.entering("preparing")
    filled = {name: runs.fill(case.buffers[name]) for name in seeded.fills}
    label = replace(runs.label, seed=seeded.seed)
    memory = runs.memory(RunPlan(label, filled, case.launches))
    runs.launcher.entering("saving")
    folder = runs.folder.within(f"seed-{seeded.seed}")
    dumps = {name: folder.stream(BufferReader(memory[name], case.buffers[name]), {}) for name in case.dump}
    return FurtherRun("seed", str(seeded.seed), dumps=dumps)


REPEATS = RunAxis("repeat", _repeats, ends_case=True)
POISON = RunAxis("poison", _poisons, ends_case=True)
SEEDS = RunAxis("seed", _seeds)

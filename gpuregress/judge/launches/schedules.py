"""Judgement of the runs under further schedules."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from gpuregress.foundation.records import SM_90, Case, Comparison, ConflictSurvey, Dump, Finding, Outcome, ScheduleRun
from gpuregress.gpu.records import replace
from gpuregress.gpu.schedules import BLOCKS, BY_WARP, THREADS, WARPS, switches_in
from gpuregress.judge.buffer_pairs import BufferPair

AGAINST = "schedule"
_ON_A_GPU = "not compared under other schedules: on a GPU the hardware decides the order; --device cpu compares them"


def comparisons(
    case: Case, outcome: Outcome, own: Dump, compare: Callable[[BufferPair], Comparison]
) -> list[Comparison]:
    """Compare one buffer under all schedules: the first two that differ, else one comparison for all.

    Two results that are both within the rule of the first one's may differ from each other by more.

    Args:
        case: the case.
        outcome: its dumps.
        own: the buffer's dump under the first schedule.
        compare: compares a pair, and diagnoses a difference.
    """
    runs = outcome.observations.schedules
    if not runs:
        return []
    main = case.settings.main_schedule
    results = {own.digest: (main, own)}
    for run in runs:
        result = run.dumps.get(own.buffer)
        if result is None or result.digest in results:
            continue
        for name, other in results.values():
            compared = compare(BufferPair(case, AGAINST, other, result))
            if not compared.same:
                found = f"the schedules {name} and {run.name} give different results: {_first(compared)}"
                message = found + (_smallest(run, own.buffer) if other is own else "")
                findings = (*compared.findings, *_accesses(run, own.buffer))
                return [replace(compared, message=message, findings=findings)]
        results[result.digest] = (run.name, result)
    ran = [run for run in runs if not run.left_out and not run.fault]
    if not ran:
        return []
    count = len({own.digest, *(run.digests.get(own.buffer, own.digest) for run in ran)})
    names = ", ".join((main, *(run.name for run in ran)))
    rule = f"{len(ran) + 1} schedules ({names}), {count} different results, all the same under the buffer's rule"
    return [Comparison(own.buffer, AGAINST, rule, same=True, identical=count == 1, of=own.count)]


def faults(case: Case, outcome: Outcome) -> Iterator[Comparison]:
    """The failure of the first further schedule that ends with a fault, at a buffer that need not be dumped.

    Args:
        case: the case.
        outcome: of its run.
    """
    run = next((run for run in outcome.observations.schedules or () if run.fault), None)
    if run is not None:
        name = next((dump.buffer for dump in outcome.dumps), next(iter(case.buffers), ""))
        message = f"{case.settings.main_schedule} runs to its end, {run.name} does not: {run.fault}{_smallest(run, '')}"
        findings = _accesses(run, "")
        yield Comparison(name, AGAINST, "", same=False, identical=False, of=0, message=message, findings=findings)


def _smallest(run: ScheduleRun, buffer: str) -> str:
    """What is enough for the difference, and how to run that alone."""
    if buffer not in run.switches:
        return ""
    return f"; {run.switches[buffer]}: --schedule {run.replays[buffer]}"


def _accesses(run: ScheduleRun, buffer: str) -> tuple[Finding, ...]:
    return tuple(Finding("order of accesses", text, 1.0) for text in run.accesses.get(buffer, ()))


def _first(compared: Comparison) -> str:
    """The first element that differs, with both values, and the number of those that do."""
    if not compared.first:
        return compared.difference
    element = min(compared.first, key=lambda one: one.index)
    where = f"{compared.buffer}[{element.index}]{'.' + element.part if element.part else ''}"
    values = f"{element.expected or 'missing'} and {element.actual or 'missing'}"
    return f"{where} is {values}; {compared.difference}"


def notes(case: Case, outcome: Outcome, compare: Callable[[BufferPair], Comparison]) -> Iterator[str]:
    """Tell the differences within the buffers' rules, with their sizes; and that a GPU has no choice.

    Args:
        case: the case.
        outcome: its dumps.
        compare: compares a pair.
    """
    if not case.settings.schedules or outcome.state != "done":
        return
    runs = outcome.observations.schedules
    if runs is None:
        yield _ON_A_GPU
        return
    if outcome.observations.schedule:
        yield f"the results are those of the schedule {outcome.observations.schedule}, not of the usual order"
    yield from _without_effect(case)
    if outcome.observations.conflicts is not None:
        yield _surveyed(outcome.observations.conflicts)
    yield from (f"the {run.name} schedule was left out: {run.left_out}" for run in runs if run.left_out)
    for own in outcome.dumps:
        for run in runs:
            if own.buffer in run.dumps:
                compared = compare(BufferPair(case, AGAINST, own, run.dumps[own.buffer]))
                if compared.same:
                    yield _within(case.settings.main_schedule, run, compared)
                    break


def _without_effect(case: Case) -> Iterator[str]:
    """The switches of blocks, warps and threads that no launch has."""
    blocks = max((math.prod(launch.grid) for launch in case.launches), default=0)
    threads = max((math.prod(launch.block) for launch in case.launches), default=0)
    counts = {BLOCKS: blocks, WARPS: -(-threads // SM_90.warp_size), THREADS: threads}
    for one in switches_in(case.settings.main_schedule) or ():
        number = max(one.first, one.second)
        if number >= counts.get(one.part, number + 1):
            yield f"the switch {one} changes nothing beside {BY_WARP}: no launch has a {one.part[:-1]} {number}"


def _surveyed(survey: ConflictSurvey) -> str:
    """What the adversarial schedule exchanges, or why there is nothing to exchange."""
    left = "".join(f"; {text}" for text in survey.unwatched)
    if survey.pairs:
        pairs = "pairs of accesses conflict" if survey.pairs != 1 else "pair of accesses conflicts"
        exchanged = (
            "all" if survey.exchanged == survey.pairs else f"{survey.exchanged:,}" if survey.exchanged else "none"
        )
        adversarial = f"the adversarial schedule exchanges {exchanged} of them"
        return f"{survey.pairs:,} {pairs}, as {survey.first}; {adversarial}{left}"
    if left:
        return f"no two accesses that were watched conflict{left}"
    return "no two accesses conflict: no schedule can change the result"


def _within(main: str, run: ScheduleRun, compared: Comparison) -> str:
    worst = compared.worst
    sizes = () if worst is None else (("ulp", worst.ulp), ("abs", worst.absolute), ("rel", worst.relative))
    size = next((f", at most by {name} {value:.3g}" for name, value in sizes if value is not None), "")
    changed = f"{compared.changed} of {compared.of} elements" if compared.changed else "some elements"
    return f"{compared.buffer}: {main} and {run.name} differ within the buffer's rule in {changed}{size}"

"""Judgement of the runs with other seeds: statistics against the baseline, checks, faults."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gpuregress.foundation import dtypes
from gpuregress.foundation.records import Case, Check, Comparison, Dump, Outcome, Rule
from gpuregress.gpu.records import replace
from gpuregress.judge.buffer_pairs import BufferPair
from gpuregress.judge.compare import multiple_testing

AGAINST = "seeds"
Checker = Callable[[Check, Case, Dump], Comparison]


def rule_of(case: Case, buffer: str) -> Rule | None:
    """The rule of a buffer whose limits hold for all seeds together; None where it is the buffer's own.

    Args:
        case: with or without further seeds.
        buffer: its name.
    """
    rule = case.compare.get(buffer, Rule())
    if not case.seeds or not rule.statistics.given:
        return None
    parts = len(dtypes.parse(case.buffers[buffer].dtype).parts)
    return multiple_testing.corrected(rule, parts * (len(case.seeds) + 1))


def comparisons(case: Case, outcome: Outcome, own: Dump, baseline: Dump | None, check: Checker) -> Iterator[Comparison]:
    """Compare and check one buffer under every further seed; one comparison for all seeds of a kind.

    Args:
        case: the case that ran.
        outcome: with the dumps of each seed.
        own: the buffer's dump under the job's own seed.
        baseline: its accepted dump.
        check: checks a dump of a case.

    Raises:
        DumpError: a dump does not hold what its header says.
        StorageError: one cannot be read.
    """
    runs, name = outcome.observations.seeds, own.buffer
    if not case.seeds:
        return
    fault = next((run for run in runs if run.fault), None)
    if fault is not None and name == outcome.dumps[0].buffer:
        yield _failed(name, f"seed {fault.seed}: {fault.fault}")
    dumps = [(run.seed, run.dumps[name]) for run in runs if name in run.dumps]
    results = len({own.digest, *(dump.digest for _, dump in dumps)})
    told = f"{len(dumps) + 1} seeds, {results} different results"
    rule = rule_of(case, name)
    if baseline is not None and rule is not None:
        compared = ((seed, BufferPair(case, AGAINST, baseline, dump, rule).compare()) for seed, dump in dumps)
        yield _summary(own, compared, f"{told}, limits corrected for the number of tests")
    seeded = {one.seed: case.with_seed(one) for one in case.seeds}
    for wanted in case.checks.get(name, ()):
        checked = ((seed, check(wanted, seeded[seed], dump)) for seed, dump in dumps)
        yield _summary(own, checked, f"{wanted.name} for {told}")


def _summary(own: Dump, compared: Iterator[tuple[int, Comparison]], rule: str) -> Comparison:
    """The first failure, with the number of all; or a comparison that passed."""
    results = list(compared)
    failed = [(seed, one) for seed, one in results if not one.same]
    if not failed:
        return Comparison(own.buffer, AGAINST, rule, same=True, identical=False, of=own.count)
    seed, first = failed[0]
    count = f"{len(failed)} of {len(results)} other seeds fail"
    return replace(
        first, against=AGAINST, rule=f"{first.rule}; {rule}", message=f"{count}; seed {seed}: {first.difference}"
    )


def _failed(buffer: str, message: str) -> Comparison:
    return Comparison(buffer, AGAINST, "", same=False, identical=False, of=0, message=message)

"""Further seeds of a case: the fills and arguments that each of them changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gpuregress.foundation.records import Buffer, Case, Launch, Seeded
from gpuregress.gpu.records import Record
from gpuregress.jobs.spec.models.job import JobSpec
from gpuregress.jobs.spec.resolve.scope import Scope

MAX_SEEDS = 1000
_RANDOM = frozenset(["uniform", "normal", "integers", "permutation", "choice", "python", "same"])
"""Fills that draw from a seed, or may do so."""


class CaseInputs(Record):
    """Buffers and launches of a case under one seed."""

    buffers: Mapping[str, Buffer]
    launches: tuple[Launch, ...]


def further(job: JobSpec, scope: Scope, seed: int, inputs_of: Callable[[int], CaseInputs]) -> tuple[Seeded, ...]:
    """Plan the runs of `repeat: {seeds: …}`: the job's seed, and the numbers after it.

    Args:
        job: as the file has it.
        scope: the case's numbers; errors are reported there.
        seed: the job's.
        inputs_of: plans the inputs of a seed.
    """
    if job.repeat.seeds is None:
        return ()
    key = ("repeat", "seeds")
    count = scope.whole(job.repeat.seeds, key, low=2, high=MAX_SEEDS, what="seeds")
    if count is None:
        return ()
    ruled = [name for name, rule in job.compare.items() if rule.statistics is not None]
    if not ruled and not job.checks:
        scope.error(key, "needs a rule with `statistics` in compare, or checks: else no result of a seed is judged")
        return ()
    own, seeds = inputs_of(seed), []
    for number in ((seed + step) % 2**64 for step in range(1, count)):
        other = inputs_of(number)
        fills = {
            name: buffer.fill
            for name, buffer in other.buffers.items()
            if buffer.fill is not None and _is_changed(own.buffers.get(name), buffer)
        }
        seeds.append(Seeded(number, fills, () if other.launches == own.launches else other.launches))
    if not len(scope.problems) and seeds and not seeds[0].fills and not seeds[0].launches:
        scope.error(key, "changes nothing: no buffer has a random fill, and no argument takes the seed")
    return tuple(seeds)


def _is_changed(own: Buffer | None, other: Buffer) -> bool:
    if own is None or own.fill is None or other.fill is None:
        return False
    return own.fill != other.fill if other.fill.kind in _RANDOM else own.fill.options != other.fill.options


def describe(case: Case) -> str:
    """`20 seeds, 42 to 61`; "" for a case of one seed."""
    return f"{len(case.seeds) + 1} seeds, {case.seed} to {case.seeds[-1].seed}" if case.seeds else ""

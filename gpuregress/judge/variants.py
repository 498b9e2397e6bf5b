"""Comparison of a case with its other builds: which buffers change, and by how much."""

from __future__ import annotations

from collections.abc import Iterator

from gpuregress.foundation.records import Case, Comparison, Dump, Outcome, Rule, VariantRun, VariantVerdict
from gpuregress.gpu.records import replace
from gpuregress.judge.buffer_pairs import BufferPair
from gpuregress.judge.user_code import UserCodeProcess

AGAINST = "variant"


def verdicts(case: Case, outcome: Outcome, user: UserCodeProcess | None = None) -> tuple[VariantVerdict, ...]:
    """Compare each variant with the case's own run; () for a case without variants, or that did not end well.

    Args:
        case: the case that ran.
        outcome: its own dumps, and the variants' dumps that differ from them.
        user: the process for the user's functions; None: this one.

    Raises:
        DumpError: a dump does not hold what its header says.
        StorageError: one cannot be read.
    """
    if case.variants is None or outcome.state != "done":
        return ()
    own = {dump.buffer: dump for dump in outcome.dumps}
    verdicts = []
    for run in outcome.observations.variants:
        buffers = tuple(_compared(case, own[name], dump, user) for name, dump in run.dumps.items())
        verdicts.append(
            VariantVerdict(run.name, case.variants.first, run.same_as, _message(run), buffers, run.instructions)
        )
    return tuple(verdicts)


def _message(run: VariantRun) -> str:
    return run.fault or (f"not run: {run.problem}" if run.problem else "")


def _compared(case: Case, own: Dump, other: Dump, user: UserCodeProcess | None) -> Comparison:
    """Count every changed bit; `same` is the verdict of the buffer's own rule."""
    exact = BufferPair(case, AGAINST, own, other, Rule()).compare()
    rule = case.compare.get(own.buffer, Rule())
    if rule.is_exact:
        return exact
    pair = BufferPair(case, AGAINST, own, other, rule)
    ruled = user.compare(pair) if user is not None and rule.verify else pair.compare()
    return replace(exact, same=ruled.same, rule=ruled.rule, differing=ruled.differing, message=ruled.message)


def failures(case: Case, outcome: Outcome, variants: tuple[VariantVerdict, ...]) -> Iterator[Comparison]:
    """The comparisons that fail the case: faults of variants, and where the job demands it, results and missing ones.

    Args:
        case: the case that ran.
        outcome: of its run.
        variants: from `verdicts`.
    """
    must_agree = case.variants is not None and case.variants.must_agree
    name = next((dump.buffer for dump in outcome.dumps), next(iter(case.buffers), ""))
    for run, variant in zip(outcome.observations.variants, variants, strict=True):
        if run.fault or (run.problem and must_agree):
            message = f"{variant.name}: {variant.message}"
            yield Comparison(name, AGAINST, "", same=False, identical=False, of=0, message=message)
        for compared in variant.buffers if must_agree else ():
            if not compared.same:
                yield replace(compared, message=f"{variant.name}: {compared.difference}")

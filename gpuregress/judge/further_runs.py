"""Comparison of a case's further runs: the rule for the runs of each axis, and the messages.

References are compared in `case_comparisons`, because one may have another precision. The run under the other poison is
compared in `write_coverage`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from statistics import NormalDist

from gpuregress.foundation import dtypes
from gpuregress.foundation.records import (
    SM_90,
    Case,
    Check,
    Comparison,
    ConflictSurvey,
    Dump,
    FurtherRun,
    Outcome,
    Rule,
    Sigmas,
    Timing,
    VariantVerdict,
)
from gpuregress.foundation.records.further_runs import AXES, Axis
from gpuregress.gpu.records import Record, replace
from gpuregress.gpu.schedules import BLOCKS, BY_WARP, THREADS, WARPS, switches_in
from gpuregress.judge.buffer_pairs import BufferPair
from gpuregress.judge.user_code import UserCodeProcess

_ON_A_GPU = "not compared under other schedules: on a GPU the hardware decides the order; --device cpu compares them"


class JudgedBuffer(Record):
    """A buffer of a case, as the first run left it, and how it is compared.

    Attributes:
        case: the case that ran.
        outcome: with its further runs.
        own: the buffer's dump.
        baseline: its accepted dump; None without one.
        compare: compares a pair, and diagnoses a difference.
        check: checks a dump of a case.
    """

    case: Case
    outcome: Outcome
    own: Dump
    baseline: Dump | None
    compare: Callable[[BufferPair], Comparison]
    check: Callable[[Check, Case, Dump], Comparison]


def _failed(buffer: str, against: str, message: str, of: int = 0) -> Comparison:
    """The comparison with a run that gave no results."""
    return Comparison(buffer, against, "", same=False, identical=False, of=of, message=message)


def _first_buffer(case: Case, outcome: Outcome) -> str:
    """The buffer at which a failure of a whole run is reported; it need not be dumped."""
    if outcome.dumps:
        return outcome.dumps[0].buffer
    return next(iter(case.buffers), "")


# --- repeats, and every axis without functions of its own -------------------------------------------------------------


def with_first_run(judged: JudgedBuffer, axis: Axis) -> Iterator[Comparison]:
    """One comparison for all runs of an axis: of the first one that differs from the first run, else of all.

    A run that ends with a fault fails the first buffer.
    """
    own, observed = judged.own, judged.outcome.observations
    runs = observed.along(axis)
    if own.buffer == judged.outcome.dumps[0].buffer:
        for run in runs:
            if run.fault:
                yield _failed(own.buffer, axis, f"the {axis} run {run.name}: {run.fault}")
                break
    done = [run for run in runs if own.buffer in run.facts.digests]
    if not done:
        return
    total = len(done) + 1
    for run in done:
        if own.buffer not in run.dumps:
            continue
        compared = judged.compare(BufferPair(judged.case, axis, own, run.dumps[own.buffer]))
        if not compared.same:
            message = f"{_title(run, observed.timing, total)} is not the first one: {compared.difference}"
            yield replace(compared, message=message)
            return
    counted = f"{total} runs"
    labels = observed.orders if axis == "repeat" else [run.name for run in done]
    if labels:
        counted += f" ({'; '.join(labels)})"
    results = {own.digest, *(run.facts.digests[own.buffer] for run in done)}
    rule = f"{counted}, {len(results)} different results, all the same under the buffer's rule"
    yield Comparison(own.buffer, axis, rule, same=True, identical=len(results) == 1, of=own.count)


def left_out_runs(outcome: Outcome) -> Iterator[str]:
    """Notes of the runs that were not made, on axes that are compared with the first run."""
    for axis in AXES:
        if axis.comparison == "first run":
            for run in outcome.observations.along(axis.name):
                if run.left_out:
                    yield f"the {axis.name} run {run.name} was left out: {run.left_out}"


def _title(run: FurtherRun, timing: Timing | None, total: int) -> str:
    """A further run in a message. The last run of the timing loop is a repeat, too."""
    if run.axis != "repeat":
        return f"the {run.axis} run {run.name}"
    if timing is not None and str(timing.run) == run.name:
        return "the last run of the timing loop"
    order = f" ({run.facts.label})" if run.facts.label else ""
    return f"run {run.name} of {total}{order}"


# --- twins ------------------------------------------------------------------------------------------------------------


def twins(judged: JudgedBuffer) -> Iterator[Comparison]:
    """Compare a buffer with those of the case's twins; a difference gets its causes."""
    own, device = judged.own, judged.outcome.device
    here = f"{device.name} ({device.model})" if device is not None else "this device"
    for twin in judged.outcome.observations.along("twin"):
        if twin.fault:
            yield _failed(own.buffer, "twin", f"{twin.facts.label}: {twin.fault}", own.count)
        elif own.buffer in twin.dumps:
            compared = judged.compare(BufferPair(judged.case, "twin", twin.dumps[own.buffer], own))
            if not compared.same:
                message = f"{here} and its twin {twin.facts.label}: {compared.difference}"
                findings = (*twin.facts.findings.get(own.buffer, ()), *compared.findings)
                compared = replace(compared, message=message, findings=findings)
            yield compared


# --- schedules --------------------------------------------------------------------------------------------------------


def schedules(judged: JudgedBuffer) -> Iterator[Comparison]:
    """Compare one buffer under all schedules: the first two that differ, else one comparison for all.

    Two results that are both within the rule of the first one's may differ from each other by more.
    """
    case, own, runs = judged.case, judged.own, judged.outcome.observations.along("schedule")
    main = case.settings.main_schedule
    results = {own.digest: (main, own)}
    for run in runs:
        result = run.dumps.get(own.buffer)
        if result is None or result.digest in results:
            continue
        for name, other in results.values():
            compared = judged.compare(BufferPair(case, "schedule", other, result))
            if not compared.same:
                message = f"the schedules {name} and {run.name} give different results: {_first_difference(compared)}"
                if other is own:
                    message += _replay(run, own.buffer)
                findings = (*compared.findings, *run.facts.findings.get(own.buffer, ()))
                yield replace(compared, message=message, findings=findings)
                return
        results[result.digest] = (run.name, result)
    ended = [run for run in runs if not run.left_out and not run.fault]
    if not ended:
        return
    count = len({own.digest, *(run.facts.digests.get(own.buffer, own.digest) for run in ended)})
    names = ", ".join((main, *(run.name for run in ended)))
    rule = f"{len(ended) + 1} schedules ({names}), {count} different results, all the same under the buffer's rule"
    yield Comparison(own.buffer, "schedule", rule, same=True, identical=count == 1, of=own.count)


def schedule_faults(case: Case, outcome: Outcome) -> Iterator[Comparison]:
    """The failure of the first further schedule that ends with a fault."""
    for run in outcome.observations.along("schedule"):
        if run.fault:
            ends = f"{case.settings.main_schedule} runs to its end, {run.name} does not: {run.fault}"
            failed = _failed(_first_buffer(case, outcome), "schedule", ends + _replay(run, ""))
            yield replace(failed, findings=run.facts.findings.get("", ()))
            return


def _replay(run: FurtherRun, buffer: str) -> str:
    """What is enough for the difference, and how to run that alone."""
    if buffer not in run.facts.switches:
        return ""
    return f"; {run.facts.switches[buffer]}: --schedule {run.facts.replays[buffer]}"


def _first_difference(compared: Comparison) -> str:
    """The first element that differs, with both values, and the number of those that do."""
    if not compared.first:
        return compared.difference
    element = min(compared.first, key=attrgetter("index"))
    values = f"{element.expected or 'missing'} and {element.actual or 'missing'}"
    return f"{compared.buffer}{element.place} is {values}; {compared.difference}"


def schedule_notes(case: Case, outcome: Outcome, compare: Callable[[BufferPair], Comparison]) -> Iterator[str]:
    """Tell the differences within the buffers' rules, with their sizes; and that a GPU has no choice."""
    if not case.settings.schedules or outcome.state != "done":
        return
    if outcome.device is not None and outcome.device.name.startswith("cuda"):
        yield _ON_A_GPU
        return
    observed = outcome.observations
    runs = observed.along("schedule")
    if observed.schedule:
        yield f"the results are those of the schedule {observed.schedule}, not of the usual order"
    yield from _without_effect(case)
    if observed.instruments.conflicts is not None:
        yield _surveyed(observed.instruments.conflicts)
    for run in runs:
        if run.left_out:
            yield f"the {run.name} schedule was left out: {run.left_out}"
    for own in outcome.dumps:
        for run in runs:
            if own.buffer in run.dumps:
                compared = compare(BufferPair(case, "schedule", own, run.dumps[own.buffer]))
                if compared.same:
                    yield _within_rule(case.settings.main_schedule, run, compared)
                    break


def _without_effect(case: Case) -> Iterator[str]:
    """The switches of blocks, warps and threads that no launch has; the launches of a program are not known."""
    if case.program is not None:
        return
    blocks = max((math.prod(launch.grid) for launch in case.launches), default=0)
    threads = max((math.prod(launch.block) for launch in case.launches), default=0)
    counts = {BLOCKS: blocks, WARPS: -(-threads // SM_90.warp_size), THREADS: threads}
    for switch in switches_in(case.settings.main_schedule) or ():
        number = max(switch.first, switch.second)
        if number >= counts.get(switch.part, number + 1):
            part = switch.part[:-1]
            yield f"the switch {switch} changes nothing beside {BY_WARP}: no launch has a {part} {number}"


def _surveyed(survey: ConflictSurvey) -> str:
    """What the adversarial schedule exchanges, or why there is nothing to exchange."""
    unwatched = "".join(f"; {text}" for text in survey.unwatched)
    if not survey.pairs:
        if unwatched:
            return f"no two accesses that were watched conflict{unwatched}"
        return "no two accesses conflict: no schedule can change the result"
    exchanged = f"{survey.exchanged:,}"
    if survey.exchanged == survey.pairs:
        exchanged = "all"
    elif not survey.exchanged:
        exchanged = "none"
    pairs = "pair of accesses conflicts" if survey.pairs == 1 else "pairs of accesses conflict"
    adversarial = f"the adversarial schedule exchanges {exchanged} of them"
    return f"{survey.pairs:,} {pairs}, as {survey.first}; {adversarial}{unwatched}"


def _within_rule(main: str, run: FurtherRun, compared: Comparison) -> str:
    size, worst = "", compared.worst
    if worst is not None:
        for name, value in (("ulp", worst.ulp), ("abs", worst.absolute), ("rel", worst.relative)):
            if value is not None:
                size = f", at most by {name} {value:.3g}"
                break
    changed = "some elements"
    if compared.changed:
        changed = f"{compared.changed} of {compared.of} elements"
    return f"{compared.buffer}: {main} and {run.name} differ within the buffer's rule in {changed}{size}"


# --- seeds ------------------------------------------------------------------------------------------------------------


def rule_for_seeds(case: Case, buffer: str) -> Rule | None:
    """The rule of a buffer whose limits hold for all seeds together; None where it is the buffer's own."""
    rule = case.compare.get(buffer, Rule())
    if not case.seeds or not rule.statistics.given:
        return None
    parts = len(dtypes.parse(case.buffers[buffer].dtype).parts)
    return corrected_for_tests(rule, parts * (len(case.seeds) + 1))


def seeds(judged: JudgedBuffer) -> Iterator[Comparison]:
    """Compare and check one buffer under every further seed; one comparison for all seeds of a kind."""
    case, own, runs = judged.case, judged.own, judged.outcome.observations.along("seed")
    if not case.seeds:
        return
    if own.buffer == judged.outcome.dumps[0].buffer:
        for run in runs:
            if run.fault:
                yield _failed(own.buffer, "seeds", f"seed {run.name}: {run.fault}")
                break
    dumps = {run.name: run.dumps[own.buffer] for run in runs if own.buffer in run.dumps}
    results = len({own.digest, *(dump.digest for dump in dumps.values())})
    told = f"{len(dumps) + 1} seeds, {results} different results"
    rule = rule_for_seeds(case, own.buffer)
    if judged.baseline is not None and rule is not None:
        compared = {}
        for seed, dump in dumps.items():
            compared[seed] = BufferPair(case, "seeds", judged.baseline, dump, rule).compare()
        yield _of_seeds(own, compared, f"{told}, limits corrected for the number of tests")
    seeded = {str(settings.seed): case.with_seed(settings) for settings in case.seeds}
    for wanted in case.checks.get(own.buffer, ()):
        checked = {seed: judged.check(wanted, seeded[seed], dump) for seed, dump in dumps.items()}
        yield _of_seeds(own, checked, f"{wanted.name} for {told}")


def _of_seeds(own: Dump, compared: dict[str, Comparison], rule: str) -> Comparison:
    """The first failure, with the number of all; or a comparison that passed."""
    failed = [(seed, comparison) for seed, comparison in compared.items() if not comparison.same]
    for seed, first in failed:
        message = f"{len(failed)} of {len(compared)} other seeds fail; seed {seed}: {first.difference}"
        return replace(first, against="seeds", rule=f"{first.rule}; {rule}", message=message)
    return Comparison(own.buffer, "seeds", rule, same=True, identical=False, of=own.count)


# --- variants ---------------------------------------------------------------------------------------------------------


def variant_verdicts(case: Case, outcome: Outcome, user: UserCodeProcess | None = None) -> tuple[VariantVerdict, ...]:
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
    for run in outcome.observations.along("variant"):
        buffers = tuple(_changed(case, own[name], dump, user) for name, dump in run.dumps.items())
        message = f"not run: {run.left_out}" if run.left_out else run.fault
        verdicts.append(
            VariantVerdict(
                run.name,
                case.variants.first,
                same_as=run.facts.same_as,
                message=message,
                buffers=buffers,
                instructions=run.facts.instructions,
            )
        )
    return tuple(verdicts)


def _changed(case: Case, own: Dump, other: Dump, user: UserCodeProcess | None) -> Comparison:
    """Count every changed bit; `same` is the verdict of the buffer's own rule."""
    exact = BufferPair(case, "variant", own, other, Rule()).compare()
    rule = case.compare.get(own.buffer, Rule())
    if rule.is_exact:
        return exact
    pair = BufferPair(case, "variant", own, other, rule)
    ruled = user.compare(pair) if user is not None and rule.verify else pair.compare()
    return replace(exact, same=ruled.same, rule=ruled.rule, differing=ruled.differing, message=ruled.message)


def variant_failures(case: Case, outcome: Outcome, variants: Sequence[VariantVerdict]) -> Iterator[Comparison]:
    """The comparisons that fail the case: faults of variants, and where they must agree, results and missing ones."""
    must_agree = case.variants is not None and case.variants.must_agree
    for run, variant in zip(outcome.observations.along("variant"), variants, strict=False):
        if run.fault or (run.left_out and must_agree):
            yield _failed(_first_buffer(case, outcome), "variant", f"{variant.name}: {variant.message}")
        for compared in variant.buffers if must_agree else ():
            if not compared.same:
                yield replace(compared, message=f"{variant.name}: {compared.difference}")


# --- correction for the number of tests -------------------------------------------------------------------------------
# The user's limit holds for all tests of a statistic together. Bonferroni's correction: each of m tests at the level
# alpha/m keeps the probability of any false alarm at or below alpha, however the tests depend on each other
# (O. J. Dunn, Multiple Comparisons among Means, Journal of the American Statistical Association 56, 1961). A limit of s
# standard errors stands for the level alpha = erfc(s / sqrt 2), both tails of the normal distribution.

_SMALLEST_LEVEL = 1e-290
_STEPS = 1000
"""Limits are rounded up to a thousandth, so that a report shows them as they are."""


def corrected_for_tests(rule: Rule, tests: int) -> Rule:
    """Return a rule with the limits of one of several tests.

    Args:
        rule: with `statistics`, whose limits hold for all tests of a statistic together.
        tests: the number of tests of each statistic.
    """
    limits = rule.statistics
    if tests < 2 or not limits.given:
        return rule
    return replace(
        rule,
        statistics=replace(
            limits,
            mean=None if limits.mean is None else Sigmas(sigmas_for_tests(limits.mean.sigmas, tests)),
            variance=None if limits.variance is None else Sigmas(sigmas_for_tests(limits.variance.sigmas, tests)),
            ks=None if limits.ks is None else limits.ks / tests,
        ),
    )


def sigmas_for_tests(limit: float, tests: int) -> float:
    """The limit of one test, in standard errors.

    Args:
        limit: of all tests together.
        tests: their number.
    """
    level = math.erfc(limit / math.sqrt(2)) / tests
    if level < _SMALLEST_LEVEL:  # exp(-s^2 / 2) decides: the tail's other factor hardly changes
        return _rounded_up(math.sqrt(limit**2 + 2 * math.log(tests)))
    return _rounded_up(-NormalDist().inv_cdf(level / 2))


def _rounded_up(limit: float) -> float:
    return math.ceil(limit * _STEPS) / _STEPS

"""Accuracy of cases: each runs beside itself in higher precision on the CPU device."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import field

from gpuregress.foundation import storage
from gpuregress.foundation.errors import UsageError
from gpuregress.foundation.records import Case, Instruments, ResultAccuracy, Verdict
from gpuregress.foundation.records.audits import AuditEvidence
from gpuregress.gpu.records import Sparse
from gpuregress.jobs import plan
from gpuregress.jobs.spec.overrides import ParameterOverride
from gpuregress.lab import experiment
from gpuregress.store.project import Project

_SLOWER = 20
"""A case may take so many times its time limit: it runs once for each source line, and more slowly."""
_MOST_LEFT = 5
"""Cases without an accuracy that a message names."""


class CaseAccuracy(Sparse):
    """The accuracy of a case.

    Attributes:
        case: its name.
        accuracy: what was found.
    """

    case: str
    accuracy: ResultAccuracy


class AccuracyResults(Sparse):
    """The accuracy of the cases that were asked for.

    Attributes:
        version: of this document.
        cases: in the order of the plan.
        left: case → why it has no accuracy.
        notes: which jobs, or values of parameters, are left out.
    """

    version: int
    cases: tuple[CaseAccuracy, ...]
    left: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def accuracy(
    project: Project, selectors: Sequence[str], parameters: tuple[ParameterOverride, ...] = ()
) -> AccuracyResults:
    """Find the accuracy of cases; nothing of the project is changed.

    Args:
        project: whose.
        selectors: cases, jobs, files or globs.
        parameters: parameters with other values than the jobs' own.

    Raises:
        UsageError: none of them runs on the CPU device and has a floating-point result.
        Interrupted: ^C.
        GpuregressError: the errors of `session.run`.
    """
    planned = plan.make(project, list(selectors), overrides=plan.CaseOverrides(parameters=parameters))
    experiment.require_launches(planned.cases, "accuracy")
    cases = tuple(watched(case) for case in planned.cases)
    with storage.scratch() as scratch:
        where = experiment.scratch_project(project, scratch)
        summary = experiment.CPU.run(where, plan.Plan(cases), kind="experiment")
    left: dict[str, str] = {}
    accuracies = []
    for verdict in summary.verdicts:
        reason = _why_left(verdict)
        if reason:
            left[verdict.case] = reason
        else:
            accuracies.append(CaseAccuracy(verdict.case, of(verdict) or ResultAccuracy()))
    if not accuracies and left:
        raise UsageError("; ".join(f"{case} {reason}" for case, reason in list(left.items())[:_MOST_LEFT]))
    notes = planned.notes if parameters else ()
    return AccuracyResults(1, tuple(accuracies), left, notes)


def watched(case: Case) -> Case:
    """Return a case as it runs beside itself in higher precision, without anything else."""
    alone = case.alone().with_settings(instruments=Instruments(accuracy=True))
    return experiment.limited(alone, _SLOWER * case.limits.timeout)


def of(verdict: Verdict) -> ResultAccuracy | None:
    """Return what the run of a watched case found; None where it found nothing."""
    if verdict.outcome is None:
        return None
    return verdict.outcome.observations.instruments.accuracy


def evidence(verdicts: Iterable[Verdict], root: Path) -> Iterator[AuditEvidence]:
    """Yield what runs of watched cases prove.

    Args:
        verdicts: on the cases.
        root: of the project, to which the names of files are relative.
    """
    for verdict in verdicts:
        result_accuracy = of(verdict) or ResultAccuracy()
        for buffer in result_accuracy.buffers:
            name = f"{verdict.case}: {buffer.buffer}"
            if buffer.not_finite:
                text = f"{name}: {buffer.not_finite} elements are finite on one side only"
                yield AuditEvidence("luck", f"{text}, in {buffer.dtype} or in {buffer.precision}")
            if buffer.compared and (buffer.largest or not result_accuracy.restarts):
                text = f"{name}: errors of at most {buffer.largest:.3g} ulp, median {buffer.median:.3g}"
                if buffer.never_finite:
                    text += f"; {buffer.never_finite} results are NaN or infinite"
                yield AuditEvidence("proven", text)
        for place in result_accuracy.cancellations:
            where = f"{os.path.relpath(place.path, root)}:{place.line}" if place.path else "an unknown line"
            text = f"{verdict.case}: looks like catastrophic cancellation at {where}: up to {place.bits} bits lost"
            yield AuditEvidence("luck", text)


def _why_left(verdict: Verdict) -> str:
    """Why a case has no accuracy; empty: it has one."""
    outcome = verdict.outcome
    if outcome is None or outcome.state != "done":
        return f"has no results to compare: {verdict.headline}"
    result_accuracy = of(verdict)
    if result_accuracy is None or not result_accuracy.buffers:
        return "has no result of a floating-point type (float16, bfloat16, float32, float64)"
    return ""

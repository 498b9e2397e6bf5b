"""Accuracy in an audit: the errors of one case of each job, beside itself in higher precision."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from gpuregress.foundation.records import ResultAccuracy
from gpuregress.foundation.records.audits import AuditEvidence, JobExamination
from gpuregress.lab.auditing import examination
from gpuregress.lab.auditing.examination import (
    EXPECTS_FAULT,
    NO_TIME,
    AuditContext,
    AuditedJob,
    AuditPart,
    Examined,
    JobVerdicts,
)
from gpuregress.lab.instrumented import accuracy


def examine(context: AuditContext, jobs: Sequence[AuditedJob]) -> Examined:
    """Run the fastest case of each job in higher precision; there are no points for it."""
    usable = [some for job in jobs if not job.expects_fault and (some := context.usable(job))]
    cases = sorted((min(some, key=context.clean_s) for some in usable), key=context.clean_s)
    summary = examination.run(context, [accuracy.watched(case) for case in cases]) if cases else None
    ran = examination.by_job(summary, jobs) if summary is not None else {}

    def examined(job: AuditedJob) -> JobExamination:
        if job.expects_fault:
            return examination.does_not_apply(job.name, EXPECTS_FAULT)
        if not context.usable(job):
            return JobExamination(job.name, None, why=context.why_unusable(job))
        return _judged(context, job.name, ran.get(job.name, JobVerdicts()))

    return Examined(tuple(map(examined, jobs)), summary is not None and summary.interrupted)


def _judged(context: AuditContext, job: str, verdicts: JobVerdicts) -> JobExamination:
    one = next(iter(verdicts.examined), None)
    if one is None or one.outcome is None or one.outcome.state != "done":
        return JobExamination(job, None, why=verdicts.why_left or (one.headline if one is not None else NO_TIME))
    found = one.outcome.observations.instruments.accuracy
    if found is None or not any(buffer.tracked for buffer in found.buffers):
        return examination.does_not_apply(job, "it has no floating-point result that can be followed")
    return JobExamination(job, 1.0, 1.0, one.case, "", tuple(_evidence(context, one.case, found)))


def _evidence(context: AuditContext, case: str, found: ResultAccuracy) -> Iterator[AuditEvidence]:
    for buffer in found.buffers:
        if buffer.not_finite:
            text = f"{case}: {buffer.buffer}: {buffer.not_finite} elements are finite on one side only"
            yield AuditEvidence("luck", f"{text}, in {buffer.dtype} or in {buffer.precision}")
        if buffer.compared and (buffer.largest or not found.restarts):
            text = f"{case}: {buffer.buffer}: errors of at most {buffer.largest:.3g} ulp, median {buffer.median:.3g}"
            left = f"; {buffer.never_finite} results are NaN or infinite" if buffer.never_finite else ""
            yield AuditEvidence("proven", text + left)
    for place in found.cancellations:
        where = f"{os.path.relpath(place.path, context.project.root)}:{place.line}" if place.path else "an unknown line"
        text = f"{case}: looks like catastrophic cancellation at {where}: up to {place.bits} bits lost"
        yield AuditEvidence("luck", text)


PART = AuditPart(
    "accuracy",
    points=0,
    time_share=1.0,
    proves="The errors of the fastest case of each job by rounding. It has no points: a job says which errors matter.",
    examine=examine,
    is_kept=True,
)

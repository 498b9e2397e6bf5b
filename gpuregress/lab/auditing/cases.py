"""The jobs' own cases in an audit, and what they are compared with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpuregress.foundation.escapes import one_line
from gpuregress.foundation.records import Verdict, side_text
from gpuregress.foundation.records.audits import AuditEvidence, JobExamination
from gpuregress.gpu.records import replace
from gpuregress.lab.auditing import examination
from gpuregress.lab.auditing.examination import AuditContext, AuditedJob, AuditPart, Examined, JobVerdicts


def examine(context: AuditContext, jobs: Sequence[AuditedJob]) -> Examined:
    """Run the cases; the points are the share of those that pass."""
    summary = examination.run(context, examination.in_rounds(context, jobs))
    done = examination.of_cases(jobs, summary, _judged)
    return replace(done, clean=examination.by_job(summary, jobs))


def _judged(job: AuditedJob, verdicts: JobVerdicts) -> JobExamination:
    good = [one for one in verdicts.examined if one.status == "pass"]
    return examination.of_share(job.name, verdicts, len(good), [*_passed(good), *map(_told, _others(verdicts))])


def _others(verdicts: JobVerdicts) -> list[Verdict]:
    return [one for one in verdicts.examined if one.status != "pass"]


def _passed(good: Sequence[Verdict]) -> Iterator[AuditEvidence]:
    sides = dict.fromkeys(side_text(name) for one in good for name in one.against)
    if good:
        plural = "cases pass" if len(good) != 1 else "case passes"
        compared = f", as {' and '.join(sides)}" if sides else ""
        yield AuditEvidence("proven", f"{len(good)} {plural}{compared}")


def _told(one: Verdict) -> AuditEvidence:
    if one.status == "new":
        return AuditEvidence("unnoticed", f"{one.case}: nothing is compared: {one_line(one.reason)}")
    if one.status == "skip":
        return AuditEvidence("unnoticed", f"{one.case}: {one_line(one.reason)}")
    return AuditEvidence("wrong", f"{one.case}: {one_line(one.headline)}")


PART = AuditPart(
    "cases",
    points=25,
    time_share=0.4,
    proves=(
        "The results of these cases on the CPU device are those that were accepted, or those of the reference. "
        "Other inputs, and mistakes that were accepted, are not examined."
    ),
    examine=examine,
)

"""Other schedules in an audit: results that depend on the order of blocks, warps and lanes."""

from __future__ import annotations

from collections.abc import Sequence

from gpuregress.foundation.escapes import one_line
from gpuregress.foundation.records import Verdict
from gpuregress.foundation.records.audits import AuditEvidence, JobExamination
from gpuregress.gpu import schedules
from gpuregress.gpu.records import replace
from gpuregress.judge import write_coverage
from gpuregress.lab.auditing import examination
from gpuregress.lab.auditing.examination import (
    EXPECTS_FAULT,
    AuditContext,
    AuditedJob,
    AuditPart,
    Examined,
    JobVerdicts,
)

COUNT = 8
_AGAINST = "schedule"


def examine(context: AuditContext, jobs: Sequence[AuditedJob]) -> Examined:
    """Run the cases under several schedules; the points are the share of those with one result under all."""
    cases = examination.in_rounds(context, [job for job in jobs if not job.expects_fault])
    summary = examination.run(context, cases, schedules=schedules.first(COUNT))
    done = examination.of_cases(jobs, summary, _judged)
    of_job = {one.job: one for one in done.jobs}
    told = (
        examination.does_not_apply(job.name, EXPECTS_FAULT) if job.expects_fault else of_job[job.name] for job in jobs
    )
    return replace(done, jobs=tuple(told))


def _judged(job: AuditedJob, verdicts: JobVerdicts) -> JobExamination:
    """A case that has no results of other schedules, as one that faults under the first, is not examined."""
    ran = tuple(one for one in verdicts.examined if one.outcome and one.outcome.observations.along("schedule"))
    told = replace(verdicts, examined=ran, left=(*verdicts.left, *(one for one in verdicts.examined if one not in ran)))
    if not ran:
        return JobExamination(job.name, None, why=told.why_left)
    lucky = [(one, text) for one in ran for text in _differences(one)]
    idle = [one for one in ran if write_coverage.wrote_nothing(one)]
    clean = len({one.case for one in ran} - {one.case for one, _ in lucky} - {one.case for one in idle})
    evidence = [AuditEvidence("luck", f"{one.case}: {one_line(text)}") for one, text in lucky]
    evidence += [AuditEvidence("unnoticed", f"{one.case}: nothing was written, under any schedule") for one in idle]
    if clean:
        names = f"{clean} cases" if clean != 1 else "1 case"
        evidence.insert(0, AuditEvidence("proven", f"the same result under {COUNT} schedules in {names}"))
    return examination.of_share(job.name, told, clean, evidence)


def _differences(one: Verdict) -> list[str]:
    """What differs under another schedule by more than the rule of its buffer allows."""
    return [
        f"{compared.buffer}: {compared.message}"
        for buffer in one.buffers
        for compared in buffer.comparisons
        if compared.against == _AGAINST and not compared.same
    ]


PART = AuditPart(
    "schedules",
    points=10,
    time_share=0.25,
    proves=(
        f"These cases give the same results, within their rules, under {COUNT} orders of blocks, warps and lanes. "
        "They are not all orders."
    ),
    examine=examine,
    is_kept=True,
)

"""Coverage in an audit: source lines and branches that no case executes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from gpuregress.foundation.records import Coverage
from gpuregress.foundation.records.audits import AuditEvidence, JobExamination
from gpuregress.lab.auditing import examination
from gpuregress.lab.auditing.examination import (
    EXPECTS_FAULT,
    AuditContext,
    AuditedJob,
    AuditPart,
    Examined,
    JobVerdicts,
)
from gpuregress.report import coverage_report
from gpuregress.store.project import Project

_COUNTED = ("lines", "branches")


def examine(context: AuditContext, jobs: Sequence[AuditedJob]) -> Examined:
    """Run the cases and count what they execute; the points are the share of lines and sides of branches."""
    summary = examination.run(context, examination.in_rounds(context, jobs), coverage=True)
    counted = coverage_report.of_jobs(summary)

    def judged(job: AuditedJob, verdicts: JobVerdicts) -> JobExamination:
        if job.expects_fault:  # what is behind the fault is never executed
            return examination.does_not_apply(job.name, EXPECTS_FAULT)
        if job.name in counted:
            return _judged(context.project, job.name, verdicts, counted[job.name])
        return JobExamination(job.name, None, why=verdicts.why_left or "no case of it could be counted")

    return examination.of_cases(jobs, summary, judged)


def _judged(project: Project, job: str, verdicts: JobVerdicts, counted: Coverage) -> JobExamination:
    totals = coverage_report.totals(counted.files)
    seen, of = (sum(getattr(totals[name], field) for name in _COUNTED) for field in ("seen", "of"))
    if not of:
        return examination.does_not_apply(job, "its programs do not tell their source lines")
    ran = len(verdicts.examined)
    text = ", ".join(f"{total} {name}" for name, total in totals.items() if total.of)
    evidence = (AuditEvidence("proven", f"executed: {text}"), *_gaps(project, counted))
    return JobExamination(job, seen / of, ran / (ran + len(verdicts.left)), text, verdicts.why_left, evidence)


def _gaps(project: Project, counted: Coverage) -> Iterator[AuditEvidence]:
    for gap in coverage_report.gaps(counted):
        name = os.path.relpath(gap.path, project.root)
        source = coverage_report.source_lines(gap.path)
        text = source[gap.line - 1].strip() if 0 < gap.line <= len(source) else ""
        yield AuditEvidence("unnoticed", f"{name}:{gap.line}: {gap.text}{f': {text}' if text else ''}")


PART = AuditPart(
    "coverage",
    points=15,
    time_share=0.3,
    proves=(
        "The cases execute these lines and both sides of these branches. "
        "It does not prove that a wrong result of them would be noticed: that is what the mutants show."
    ),
    examine=examine,
    is_kept=True,
)

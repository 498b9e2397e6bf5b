"""Parts of an audit that run the jobs' own cases: as they are, checked, under schedules, counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from gpuregress.foundation.records import Coverage, RunSummary, Verdict
from gpuregress.foundation.records.audits import JobExamination
from gpuregress.gpu import schedules
from gpuregress.gpu.records import replace
from gpuregress.judge import evidence
from gpuregress.judge.evidence import VerdictEvidence
from gpuregress.lab.auditing import examination
from gpuregress.lab.auditing.examination import (
    AuditContext,
    AuditedJob,
    AuditPart,
    Examined,
    JobVerdicts,
)
from gpuregress.report import coverage_report
from gpuregress.store.project import Project

COUNT = 8
"""Schedules that each case runs under."""
_COUNTED = ("lines", "branches")
"""Totals of coverage that give points."""


def examine_cases(context: AuditContext, jobs: Sequence[AuditedJob]) -> Examined:
    """Run the cases; the points are the share of those that pass."""
    summary = examination.run(context, examination.in_rounds(context, jobs))
    examined = _by_evidence(jobs, summary, evidence.of_cases)
    return replace(examined, clean=examination.by_job(summary, jobs))


def examine_checks(context: AuditContext, jobs: Sequence[AuditedJob]) -> Examined:
    """Run the cases with all dynamic checks; the points are the share of those without a finding."""
    summary = examination.run(context, examination.in_rounds(context, jobs), checks=("all",))
    return _by_evidence(jobs, summary, evidence.of_checks)


def examine_schedules(context: AuditContext, jobs: Sequence[AuditedJob]) -> Examined:
    """Run the cases under several schedules; the points are the share of those with one result under all."""
    summary = examination.run(context, examination.in_rounds(context, jobs), schedules=schedules.first(COUNT))
    return _by_evidence(jobs, summary, partial(evidence.of_schedules, schedules=COUNT))


def _by_evidence(
    jobs: Sequence[AuditedJob], summary: RunSummary, find: Callable[[Sequence[Verdict]], VerdictEvidence]
) -> Examined:
    """Examine jobs by what the verdicts on their cases prove; the points are the share of cases that are good."""

    def judge(job: AuditedJob, verdicts: JobVerdicts) -> JobExamination:
        found = find(verdicts.examined)
        verdicts = verdicts.limited_to(found.examined)
        if not verdicts.examined:
            return JobExamination(job.name, None, why=verdicts.why_left)
        return examination.of_share(job.name, verdicts, found.good, found.evidence)

    return examination.of_cases(jobs, summary, judge)


def examine_coverage(context: AuditContext, jobs: Sequence[AuditedJob]) -> Examined:
    """Run the cases and count what they execute; the points are the share of lines and sides of branches."""
    summary = examination.run(context, examination.in_rounds(context, jobs), coverage=True)
    counted = coverage_report.of_jobs(summary)

    def judge(job: AuditedJob, verdicts: JobVerdicts) -> JobExamination:
        if job.name in counted:
            return _judge_coverage(context.project, job.name, verdicts, counted[job.name])
        return JobExamination(job.name, None, why=verdicts.why_left or "no case of it could be counted")

    return examination.of_cases(jobs, summary, judge)


def _judge_coverage(project: Project, job: str, verdicts: JobVerdicts, coverage: Coverage) -> JobExamination:
    totals = coverage_report.totals(coverage.files)
    executed = sum(totals[name].seen for name in _COUNTED)
    possible = sum(totals[name].of for name in _COUNTED)
    if not possible:
        return examination.does_not_apply(job, "its programs have no source lines")
    ran = len(verdicts.examined)
    return JobExamination(
        job=job,
        share=executed / possible,
        examined=ran / (ran + len(verdicts.left)),
        done=coverage_report.totals_text(coverage),
        why=verdicts.why_left,
        evidence=tuple(coverage_report.evidence(coverage, project.root)),
    )


CASES = AuditPart(
    "cases",
    points=25,
    time_share=0.4,
    proves=(
        "The results of these cases on the CPU device are those that were accepted, or those of the reference. "
        "Other inputs, and mistakes that were accepted, are not examined."
    ),
    examine=examine_cases,
)

CHECKS = AuditPart(
    "checks",
    points=15,
    time_share=0.3,
    proves=(
        "In these cases no two threads access the same bytes without an order between them, nothing unwritten is read, "
        "no barrier is missed, and no memory leaks. Other inputs may do so."
    ),
    examine=examine_checks,
    is_kept=True,
)

SCHEDULES = AuditPart(
    "schedules",
    points=10,
    time_share=0.25,
    proves=(
        f"These cases give the same results, within their rules, under {COUNT} orders of blocks, warps and lanes. "
        "They are not all orders."
    ),
    examine=examine_schedules,
    needs_results=True,
    is_kept=True,
)

COVERAGE = AuditPart(
    "coverage",
    points=15,
    time_share=0.3,
    proves=(
        "The cases execute these lines and both sides of these branches. "
        "It does not prove that a wrong result of them would be noticed: that is what the mutants show."
    ),
    examine=examine_coverage,
    needs_results=True,
    is_kept=True,
)

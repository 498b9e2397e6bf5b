"""Parts of an audit that run the jobs' own cases: as they are, checked, under schedules, counted."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from gpuregress.foundation.escapes import one_line
from gpuregress.foundation.records import Coverage, Verdict, side_text
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
from gpuregress.report import coverage_report
from gpuregress.store.project import Project


def examine_cases(context: AuditContext, jobs: Sequence[AuditedJob]) -> Examined:
    """Run the cases; the points are the share of those that pass."""
    summary = examination.run(context, examination.in_rounds(context, jobs))
    done = examination.of_cases(jobs, summary, _judge_cases)
    return replace(done, clean=examination.by_job(summary, jobs))


def _judge_cases(job: AuditedJob, verdicts: JobVerdicts) -> JobExamination:
    good = [verdict for verdict in verdicts.examined if verdict.status == "pass"]
    return examination.of_share(job.name, verdicts, len(good), [*_passed(good), *map(_told, _others(verdicts))])


def _others(verdicts: JobVerdicts) -> list[Verdict]:
    return [verdict for verdict in verdicts.examined if verdict.status != "pass"]


def _passed(good: Sequence[Verdict]) -> Iterator[AuditEvidence]:
    sides = dict.fromkeys(side_text(name) for verdict in good for name in verdict.against)
    if good:
        plural = "cases pass" if len(good) != 1 else "case passes"
        compared = f", as {' and '.join(sides)}" if sides else ""
        yield AuditEvidence("proven", f"{len(good)} {plural}{compared}")


def _told(verdict: Verdict) -> AuditEvidence:
    if verdict.status == "new":
        return AuditEvidence("unnoticed", f"{verdict.case}: nothing is compared: {one_line(verdict.reason)}")
    if verdict.status == "skip":
        return AuditEvidence("unnoticed", f"{verdict.case}: {one_line(verdict.reason)}")
    return AuditEvidence("wrong", f"{verdict.case}: {one_line(verdict.headline)}")


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


def examine_checks(context: AuditContext, jobs: Sequence[AuditedJob]) -> Examined:
    """Run the cases with all dynamic checks; the points are the share of those without a finding."""
    summary = examination.run(context, examination.in_rounds(context, jobs), checks=("all",))
    return examination.of_cases(jobs, summary, _judge_checks)


def _judge_checks(job: AuditedJob, verdicts: JobVerdicts) -> JobExamination:
    """A case that fails without a finding may have ended before one: it is not examined."""
    found = [verdict for verdict in verdicts.examined if _has_findings(verdict)]
    others = [verdict for verdict in verdicts.examined if not _has_findings(verdict)]
    clean = [verdict for verdict in others if verdict.status in ("pass", "new", "differ")]
    told = verdicts.limited_to([*clean, *found])
    if not told.examined:
        return JobExamination(job.name, None, why=told.why_left)
    return examination.of_share(job.name, told, len(clean), [*_check_evidence(clean, found)])


def _has_findings(verdict: Verdict) -> bool:
    return verdict.outcome is not None and bool(verdict.outcome.observations.instruments.findings)


def _check_evidence(clean: Sequence[Verdict], found: Sequence[Verdict]) -> Iterator[AuditEvidence]:
    if clean:
        plural = f"{len(clean)} cases" if len(clean) != 1 else "1 case"
        yield AuditEvidence("proven", f"no finding of the dynamic checks in {plural}")
    for verdict in found:
        assert verdict.outcome is not None
        for finding in verdict.outcome.observations.instruments.findings:
            yield AuditEvidence("luck", f"{verdict.case}: {finding.kind}: {one_line(finding.message)}", finding.details)
    reports = [verdict.outcome.observations.instruments for verdict in (*clean, *found) if verdict.outcome is not None]
    for text in dict.fromkeys(text for report in reports for text in report.exchanges):
        yield AuditEvidence("luck", one_line(text))
    for text in dict.fromkeys(text for report in reports for text in report.unwatched):
        yield AuditEvidence("unnoticed", one_line(text))


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


COUNT = 8
_AGAINST = "schedule"


def examine_schedules(context: AuditContext, jobs: Sequence[AuditedJob]) -> Examined:
    """Run the cases under several schedules; the points are the share of those with one result under all."""
    cases = examination.in_rounds(context, [job for job in jobs if not job.expects_fault])
    summary = examination.run(context, cases, schedules=schedules.first(COUNT))
    done = examination.of_cases(jobs, summary, _judge_schedules)
    of_job = {examined.job: examined for examined in done.jobs}
    told = (
        examination.does_not_apply(job.name, EXPECTS_FAULT) if job.expects_fault else of_job[job.name] for job in jobs
    )
    return replace(done, jobs=tuple(told))


def _judge_schedules(job: AuditedJob, verdicts: JobVerdicts) -> JobExamination:
    """A case that has no results of other schedules, as one that faults under the first, is not examined."""
    outcomes = [(verdict, verdict.outcome) for verdict in verdicts.examined]
    ran = [verdict for verdict, outcome in outcomes if outcome and outcome.observations.along("schedule")]
    told = verdicts.limited_to(ran)
    if not ran:
        return JobExamination(job.name, None, why=told.why_left)
    lucky = [(verdict.case, text) for verdict in ran for text in _differences(verdict)]
    idle = [verdict.case for verdict in ran if write_coverage.wrote_nothing(verdict)]
    clean = len({verdict.case for verdict in ran} - {case for case, _ in lucky} - set(idle))
    evidence = [AuditEvidence("luck", f"{case}: {one_line(text)}") for case, text in lucky]
    evidence += [AuditEvidence("unnoticed", f"{case}: nothing was written, under any schedule") for case in idle]
    if clean:
        names = f"{clean} cases" if clean != 1 else "1 case"
        evidence.insert(0, AuditEvidence("proven", f"the same result under {COUNT} schedules in {names}"))
    return examination.of_share(job.name, told, clean, evidence)


def _differences(verdict: Verdict) -> list[str]:
    """What differs under another schedule by more than the rule of its buffer allows."""
    return [
        f"{compared.buffer}: {compared.message}"
        for buffer in verdict.buffers
        for compared in buffer.comparisons
        if compared.against == _AGAINST and not compared.same
    ]


SCHEDULES = AuditPart(
    "schedules",
    points=10,
    time_share=0.25,
    proves=(
        f"These cases give the same results, within their rules, under {COUNT} orders of blocks, warps and lanes. "
        "They are not all orders."
    ),
    examine=examine_schedules,
    is_kept=True,
)


_COUNTED = ("lines", "branches")


def examine_coverage(context: AuditContext, jobs: Sequence[AuditedJob]) -> Examined:
    """Run the cases and count what they execute; the points are the share of lines and sides of branches."""
    summary = examination.run(context, examination.in_rounds(context, jobs), coverage=True)
    counted = coverage_report.of_jobs(summary)

    def judged(job: AuditedJob, verdicts: JobVerdicts) -> JobExamination:
        if job.expects_fault:  # what is behind the fault is never executed
            return examination.does_not_apply(job.name, EXPECTS_FAULT)
        if job.name in counted:
            return _judge_coverage(context.project, job.name, verdicts, counted[job.name])
        return JobExamination(job.name, None, why=verdicts.why_left or "no case of it could be counted")

    return examination.of_cases(jobs, summary, judged)


def _judge_coverage(project: Project, job: str, verdicts: JobVerdicts, counted: Coverage) -> JobExamination:
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


COVERAGE = AuditPart(
    "coverage",
    points=15,
    time_share=0.3,
    proves=(
        "The cases execute these lines and both sides of these branches. "
        "It does not prove that a wrong result of them would be noticed: that is what the mutants show."
    ),
    examine=examine_coverage,
    is_kept=True,
)

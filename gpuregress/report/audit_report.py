"""The report of an audit: as text, and as a self-contained page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gpuregress.foundation.escapes import one_line, visible
from gpuregress.foundation.records.audits import (
    EVIDENCE,
    AuditEvidence,
    AuditReport,
    EvidenceKind,
    JobExamination,
    JobGrade,
    PartResult,
)
from gpuregress.report.html import templates

_MOST = 5
"""Pieces of evidence of one kind, part and job that the text shows; the page and the JSON have all."""


def lines(report: AuditReport) -> Iterator[str]:
    """What was found by kind, then what was not examined, then a table of grades."""
    for kind, title in EVIDENCE.items():
        found = [
            (part, job, evidence)
            for part in report.parts
            for job in part.jobs
            if (evidence := [one for one in job.evidence if one.kind == kind])
        ]
        if found:
            yield title
            for part, job, evidence in found:
                yield from _evidence(part, job, evidence)
            yield ""
    yield from _not_examined(report)
    yield from _table(report)
    for note in report.notes:
        yield f"note: {one_line(note)}"
    yield headline(report)


def headline(report: AuditReport) -> str:
    """The grade in one line."""
    count = f"{len(report.grades)} job{'s' if len(report.grades) != 1 else ''}"
    grade = f"grade {report.grade}" if report.grade else "no grade (not all of them could be examined)"
    stopped = "interrupted: " if report.interrupted else ""
    return f"{stopped}{count}: {grade} in {report.seconds:.1f} s of {report.budget_s:.0f} s"


def _evidence(part: PartResult, job: JobExamination, evidence: Sequence[AuditEvidence]) -> Iterator[str]:
    for one in evidence[:_MOST]:
        yield f"  {job.job}: {part.name}: {visible(one.text)}"
        yield from (f"      {visible(line)}" for line in one.details)
    if len(evidence) > _MOST:
        yield f"  {job.job}: {part.name}: {len(evidence) - _MOST} more, in --html and --json"


def not_examined(report: AuditReport) -> Mapping[tuple[str, str, str], list[str]]:
    """(part, how much was done, why) → jobs, of what was not examined, or not all of it."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for part in report.parts:
        for job in part.jobs:
            if job.applies and (job.share is None or job.why):
                found.setdefault((part.name, job.done, one_line(job.why)), []).append(job.job)
    return found


def _not_examined(report: AuditReport) -> Iterator[str]:
    left = not_examined(report)
    if left:
        yield "Not examined"
        for (part, done, why), jobs in left.items():
            text = ": ".join(one for one in (part, done, why) if one)
            yield f"  {', '.join(jobs)}: {text}"
        yield ""


def cell(part: PartResult, job: str) -> str:
    """The points of a job in a part: `18 of 20`, `-` where it was not examined, nothing where it does not apply."""
    one = next((one for one in part.jobs if one.job == job), None)
    if one is None or (one.share is None and one.applies):
        return "-"
    if one.share is None:
        return ""
    return f"{part.points * one.examined * one.share:.0f} of {part.points * one.examined:.0f}"


def grade(one: JobGrade) -> str:
    """The grade of a job; of a sample with the grades that all of it may have: `B (C to A)`."""
    if not one.grade:
        return "-"
    return one.grade if one.lowest == one.highest else f"{one.grade} ({one.lowest} to {one.highest})"


def counted(report: AuditReport) -> tuple[PartResult, ...]:
    """The parts that have points."""
    return tuple(part for part in report.parts if part.points)


def _table(report: AuditReport) -> Iterator[str]:
    parts = counted(report)
    rows = [("grade", "job", *(part.name for part in parts), "points", "")]
    rows += [
        (
            grade(one),
            one.job,
            *(cell(part, one.job) for part in parts),
            f"{one.points:.0f} of {one.examined:.0f}",
            one_line(one.why),
        )
        for one in report.grades
    ]
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    for row in rows:
        yield "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
    yield ""


def page(report: AuditReport) -> str:
    """The whole page."""
    parts = counted(report)
    grades = []
    for job_grade in report.grades:
        cells = [cell(part, job_grade.job) for part in parts]
        points = f"{job_grade.points:.0f} of {job_grade.examined:.0f}"
        grades.append({"text": grade(job_grade), "job": job_grade.job, "cells": [*cells, points, job_grade.why]})
    left = []
    for (part, done, why), jobs in not_examined(report).items():
        reason = ": ".join(word for word in (part, done, why) if word)
        left.append(f"{', '.join(jobs)}: {reason}")
    first_line = headline(report)
    return templates.render(
        "audit.html",
        title=f"gpuregress audit: {first_line}",
        headline=first_line,
        columns=("grade", "job", *(part.name for part in parts), "points", ""),
        grades=grades,
        evidence=[
            {"kind": kind, "title": title, "jobs": _evidence_by_job(report, kind)} for kind, title in EVIDENCE.items()
        ],
        not_examined=left,
        parts=report.parts,
        notes=report.notes,
    )


def _evidence_by_job(report: AuditReport, kind: EvidenceKind) -> dict[str, list[dict[str, Any]]]:
    """Job → its evidence of this kind, part by part."""
    by_job: dict[str, list[dict[str, Any]]] = {}
    for part in report.parts:
        for job in part.jobs:
            for evidence in job.evidence:
                if evidence.kind == kind:
                    by_job.setdefault(job.job, []).append({"part": part.name, "evidence": evidence})
    return by_job

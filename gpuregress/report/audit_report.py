"""The report of an audit: as text, and as a self-contained page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpuregress.foundation.escapes import one_line, visible
from gpuregress.foundation.records.audits import EVIDENCE, AuditReport, EvidenceKind, JobGrade, PartResult
from gpuregress.foundation.wording import joined, plural
from gpuregress.report.html import templates
from gpuregress.report.layout import table

_MOST = 5
"""Pieces of evidence of one kind, part and job that the text shows; the page and the JSON have all."""


def lines(report: AuditReport) -> Iterator[str]:
    """What was found by kind, then what was not examined, then a table of grades."""
    for kind, title in EVIDENCE.items():
        evidence = list(_evidence(report, kind))
        if evidence:
            yield from (title, *evidence, "")
    not_examined = _not_examined(report)
    if not_examined:
        yield "Not examined"
        for line in not_examined:
            yield f"  {line}"
        yield ""
    yield from table(_columns(report), [_row(report, grade) for grade in report.grades])
    yield ""
    for note in report.notes:
        yield f"note: {one_line(note)}"
    yield headline(report)


def headline(report: AuditReport) -> str:
    """The grade in one line."""
    grade = "no grade (not all of them could be examined)"
    if report.grade:
        grade = f"grade {report.grade}"
    text = f"{plural(len(report.grades), 'job')}: {grade} in {report.seconds:.1f} s of {report.budget_s:.0f} s"
    if report.interrupted:
        return f"interrupted: {text}"
    return text


def _evidence(report: AuditReport, kind: EvidenceKind) -> Iterator[str]:
    """The evidence of a kind, part by part and job by job."""
    for part in report.parts:
        for job in part.jobs:
            evidence = [piece for piece in job.evidence if piece.kind == kind]
            for piece in evidence[:_MOST]:
                yield f"  {job.job}: {part.name}: {visible(piece.text)}"
                for line in piece.details:
                    yield f"      {visible(line)}"
            if len(evidence) > _MOST:
                yield f"  {job.job}: {part.name}: {len(evidence) - _MOST} more, in --html and --json"


def _not_examined(report: AuditReport) -> list[str]:
    """`saxpy, reduce: fuzz: 3 of 8 cases: no time` for what was not examined, or not all of it."""
    jobs: dict[str, list[str]] = {}
    for part in report.parts:
        for job in part.jobs:
            if job.applies and (job.share is None or job.why):
                jobs.setdefault(joined(": ", part.name, job.done, one_line(job.why)), []).append(job.job)
    return [f"{', '.join(names)}: {what}" for what, names in jobs.items()]


def _columns(report: AuditReport) -> list[str]:
    return ["grade", "job", *(part.name for part in _counted(report)), "points", ""]


def _row(report: AuditReport, grade: JobGrade) -> list[str]:
    """The cells of a job: its grade, its points in each part and in all, and why the grade is what it is."""
    text = grade.grade or "-"
    if grade.grade and grade.lowest != grade.highest:  # of a sample, the grades that all of it may have
        text += f" ({grade.lowest} to {grade.highest})"
    points = [_points(part, grade.job) for part in _counted(report)]
    return [text, grade.job, *points, f"{grade.points:.0f} of {grade.examined:.0f}", grade.why]


def _points(part: PartResult, job_name: str) -> str:
    """The points of a job in a part: `18 of 20`, `-` where it was not examined, nothing where it does not apply."""
    for job in part.jobs:
        if job.job == job_name and job.share is not None:
            return f"{part.points * job.examined * job.share:.0f} of {part.points * job.examined:.0f}"
        if job.job == job_name and not job.applies:
            return ""
    return "-"


def _counted(report: AuditReport) -> list[PartResult]:
    """The parts that have points."""
    return [part for part in report.parts if part.points]


def page(report: AuditReport) -> str:
    """The whole page."""
    grades = []
    for job_grade in report.grades:
        text, job, *cells = _row(report, job_grade)
        grades.append({"text": text, "job": job, "cells": cells})
    first_line = headline(report)
    return templates.render(
        "audit.html",
        title=f"gpuregress audit: {first_line}",
        headline=first_line,
        columns=_columns(report),
        grades=grades,
        evidence=[
            {"kind": kind, "title": title, "jobs": _evidence_by_job(report, kind)} for kind, title in EVIDENCE.items()
        ],
        not_examined=_not_examined(report),
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

"""The report of an audit as a self-contained page."""

from __future__ import annotations

from typing import Any

from gpuregress.foundation.records.audits import EVIDENCE, AuditReport, EvidenceKind
from gpuregress.report.audits import text
from gpuregress.report.html import templates


def page(report: AuditReport) -> str:
    """The whole page."""
    parts = text.counted(report)
    grades = []
    for grade in report.grades:
        cells = [text.cell(part, grade.job) for part in parts]
        points = f"{grade.points:.0f} of {grade.examined:.0f}"
        grades.append({"text": text.grade(grade), "job": grade.job, "cells": [*cells, points, grade.why]})
    not_examined = []
    for (part, done, why), jobs in text.not_examined(report).items():
        reason = ": ".join(word for word in (part, done, why) if word)
        not_examined.append(f"{', '.join(jobs)}: {reason}")
    headline = text.headline(report)
    return templates.render(
        "audit.html",
        title=f"gpuregress audit: {headline}",
        headline=headline,
        columns=("grade", "job", *(part.name for part in parts), "points", ""),
        grades=grades,
        evidence=[{"kind": kind, "title": title, "jobs": _evidence(report, kind)} for kind, title in EVIDENCE.items()],
        not_examined=not_examined,
        parts=report.parts,
        notes=report.notes,
    )


def _evidence(report: AuditReport, kind: EvidenceKind) -> dict[str, list[dict[str, Any]]]:
    """Job → its evidence of this kind, part by part."""
    by_job: dict[str, list[dict[str, Any]]] = {}
    for part in report.parts:
        for job in part.jobs:
            for evidence in job.evidence:
                if evidence.kind == kind:
                    by_job.setdefault(job.job, []).append({"part": part.name, "evidence": evidence})
    return by_job

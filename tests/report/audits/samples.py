"""An audit with each kind of evidence."""

from __future__ import annotations

from gpuregress.foundation.records.audits import AuditEvidence, AuditReport, JobExamination, PartResult
from gpuregress.lab.auditing import examination

SURVIVOR = AuditEvidence("unnoticed", "no case noticed: boundary in k.cu:3: `i < n`", ("@@ -3 +3 @@", "-a", "+<b>"))
CASES = PartResult(
    "cases",
    60,
    "the results are the accepted ones",
    (
        JobExamination("sum", 1.0, done="2 of 2 cases", evidence=(AuditEvidence("proven", "2 cases pass"),)),
        JobExamination("max", None, why="needs a GPU"),
    ),
)
MUTANTS = PartResult(
    "mutants",
    40,
    "these mistakes are noticed",
    (
        JobExamination("sum", 0.5, 1.0, "40 of 212 mutants tried", "the budget did not allow more", (SURVIVOR,) * 7),
        JobExamination("max", None, why="needs a GPU"),
    ),
)


def report() -> AuditReport:
    parts = (CASES, MUTANTS)
    graded = tuple(examination.grade_of(job, parts) for job in ("sum", "max"))
    return AuditReport(1, examination.lowest(graded), graded, parts, 600.0, 12.5, notes=("a note",))

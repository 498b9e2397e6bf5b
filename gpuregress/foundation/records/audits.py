"""Records of an audit: what each part found for each job, and the grades."""

from __future__ import annotations

from typing import Literal

from gpuregress.gpu.records import Record, Sparse

EvidenceKind = Literal["wrong", "luck", "unnoticed", "proven"]
EVIDENCE: dict[EvidenceKind, str] = {
    "wrong": "What is wrong",
    "luck": "What is right by luck",
    "unnoticed": "What no test would notice",
    "proven": "What is proven",
}
"""Kinds of evidence → the title of the page's section, in its order."""


class AuditEvidence(Sparse):
    """A piece of evidence of an audit.

    Attributes:
        kind: one of `EVIDENCE`.
        text: in one line.
        details: further lines, as a diff.
    """

    kind: EvidenceKind
    text: str
    details: tuple[str, ...] = ()


class JobExamination(Sparse):
    """What a part of an audit found for one job.

    Attributes:
        job: its name.
        share: of the part's points, 0 to 1; None: not examined.
        examined: the share of the part's points that could be reached, 0 to 1; less where the budget ended it.
        done: how much was examined: `4 of 4 cases`, `40 of 212 mutants tried`.
        why: why it was not examined, or not all of it.
        evidence: in the order in which it was found.
        interval: where only a sample was examined, the shares between which that of all lies, with 95 % confidence.
        applies: whether the part can say anything about the job; else its points do not count.
    """

    job: str
    share: float | None
    examined: float = 1.0
    done: str = ""
    why: str = ""
    evidence: tuple[AuditEvidence, ...] = ()
    interval: tuple[float, float] | None = None
    applies: bool = True


class PartResult(Sparse):
    """The result of one part of an audit.

    Attributes:
        name: `cases`, `checks`, `coverage`, `mutants`, …
        points: that a job can reach in it.
        proves: what it proves where it finds nothing, and what it does not prove.
        jobs: the jobs, in the order of the audit.
        seconds: that it took.
        interrupted: whether ^C ended it.
    """

    name: str
    points: int
    proves: str
    jobs: tuple[JobExamination, ...]
    seconds: float = 0.0
    interrupted: bool = False


class JobGrade(Record):
    """The grade of a job.

    Attributes:
        job: its name.
        grade: `A` to `D`, `F`; "" where no part could examine it.
        points: that it has reached.
        examined: that it could reach in what was examined.
        possible: of all parts that apply to the job.
        why: what limits the grade, "" where only the points do.
        lowest: the grade at the lower ends of the intervals of what was sampled; the grade without a sample.
        highest: the grade at their upper ends.
    """

    job: str
    grade: str
    points: float
    examined: float
    possible: int
    why: str = ""
    lowest: str = ""
    highest: str = ""


class AuditReport(Record):
    """The results of an audit.

    Attributes:
        version: of this record.
        grade: the lowest of its jobs; "" where one of them has none.
        grades: of each job.
        parts: in the order in which they ran.
        budget_s: the time that it was given.
        seconds: the time that it took.
        interrupted: whether ^C ended it.
        notes: for the user.
    """

    version: int
    grade: str
    grades: tuple[JobGrade, ...]
    parts: tuple[PartResult, ...]
    budget_s: float
    seconds: float
    interrupted: bool = False
    notes: tuple[str, ...] = ()

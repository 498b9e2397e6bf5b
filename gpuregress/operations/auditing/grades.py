"""Grades of an audit: points of the parts, limited by how much could be examined."""

from __future__ import annotations

from collections.abc import Sequence

from gpuregress.records.instrumentation.audits import JobGrade, PartResult

STEPS = (("A", 0.9), ("B", 0.8), ("C", 0.7), ("D", 0.6), ("F", 0.0))
"""Grade → the least share of the points, the best first."""
GRADES = tuple(letter for letter, _ in STEPS)


def letter(share: float) -> str:
    """Return the grade of a share of points."""
    return next(name for name, least in STEPS if share >= least - 1e-9)


def of_job(job: str, parts: Sequence[PartResult]) -> JobGrade:
    """Grade a job.

    The points of what was examined give the grade. It is no better than the share of all points that could be
    examined, and F where a case fails.
    """
    own = [(part, one) for part in parts for one in part.jobs if one.job == job]
    points = sum(part.points * one.examined * one.share for part, one in own if one.share is not None)
    examined = sum(part.points * one.examined for part, one in own if one.share is not None)
    possible = sum(part.points for part in parts)
    if not examined:
        return JobGrade(job, "", 0.0, 0.0, possible, "; ".join(dict.fromkeys(one.why for _, one in own if one.why)))
    if any(found.kind == "wrong" for _, one in own for found in one.evidence):
        return JobGrade(job, GRADES[-1], points, examined, possible, "a case fails")
    reached, limit = letter(points / examined), letter(examined / possible)
    why = f"only {examined:.0f} of {possible} points could be examined" if limit > reached else ""
    return JobGrade(job, max(reached, limit), points, examined, possible, why)


def lowest(grades: Sequence[JobGrade]) -> str:
    """Return the grade of several jobs: the lowest; "" where one of them has none."""
    return "" if any(not one.grade for one in grades) else max((one.grade for one in grades), default="")


def below(grades: Sequence[JobGrade], least: str) -> list[JobGrade]:
    """Return the jobs whose grade is lower than `least`, and those that have none."""
    return [one for one in grades if not one.grade or one.grade > least]

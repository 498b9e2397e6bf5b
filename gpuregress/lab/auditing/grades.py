"""Grades of an audit: points of the parts, limited by how much could be examined."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from gpuregress.foundation.records.audits import JobExamination, JobGrade, PartResult

STEPS = (("A", 0.9), ("B", 0.8), ("C", 0.7), ("D", 0.6), ("F", 0.0))
"""Grade → the least share of the points, the best first."""
GRADES = tuple(letter for letter, _ in STEPS)
_Z = 1.96
"""The quantile of the normal distribution for an interval of 95 % confidence."""


def letter(share: float) -> str:
    """Return the grade of a share of points."""
    return next(name for name, least in STEPS if share >= least - 1e-9)


def interval(good: int, count: int) -> tuple[float, float]:
    """Return the interval in which the share of all lies, with 95 % confidence, where `good` of a sample are.

    Wilson, "Probable inference, the law of succession, and statistical inference", 1927.
    """
    share, square = good / count, _Z * _Z
    middle = (share + square / (2 * count)) / (1 + square / count)
    half = _Z / (1 + square / count) * math.sqrt(share * (1 - share) / count + square / (4 * count * count))
    return max(0.0, middle - half), min(1.0, middle + half)


def of_job(job: str, parts: Sequence[PartResult]) -> JobGrade:
    """Grade a job.

    The points of what was examined give the grade. It is no better than the share of the points of all parts that
    apply to the job which could be examined; there is none where that share is an F. Where a case fails, it is F.
    """
    own = [(part, one) for part in parts for one in part.jobs if one.job == job]
    ran = [(part, one) for part, one in own if one.share is not None and part.points]
    examined = sum(part.points * one.examined for part, one in ran)
    possible = sum(part.points for part, one in own if one.applies)
    if not examined:
        return JobGrade(job, "", 0.0, 0.0, possible, "; ".join(dict.fromkeys(one.why for _, one in own if one.why)))
    points = _points(ran, lambda one: one.share or 0.0)
    if any(found.kind == "wrong" for _, one in own for found in one.evidence):
        return JobGrade(job, GRADES[-1], points, examined, possible, "a case fails", GRADES[-1], GRADES[-1])
    limit = letter(examined / possible)
    too_little = f"only {examined:.0f} of {possible} points could be examined"
    if limit == GRADES[-1]:
        return JobGrade(job, "", points, examined, possible, too_little)
    reached, low, high = (
        letter(one / examined)
        for one in (points, _points(ran, lambda one: _end(one, 0)), _points(ran, lambda one: _end(one, 1)))
    )
    why = too_little if limit > reached else ""
    grades = (max(one, limit) for one in (reached, low, high))
    grade, lowest_, highest = grades
    return JobGrade(job, grade, points, examined, possible, why, lowest_, highest)


def _points(ran: Sequence[tuple[PartResult, JobExamination]], share: Callable[[JobExamination], float]) -> float:
    return sum(part.points * one.examined * share(one) for part, one in ran)


def _end(one: JobExamination, at: int) -> float:
    return one.interval[at] if one.interval is not None else one.share or 0.0


def lowest(grades: Sequence[JobGrade]) -> str:
    """Return the grade of several jobs: the lowest; "" where one of them has none."""
    return "" if any(not one.grade for one in grades) else max((one.grade for one in grades), default="")


def below(grades: Sequence[JobGrade], least: str) -> list[JobGrade]:
    """Return the jobs whose grade is lower than `least`, and those that have none."""
    return [one for one in grades if not one.grade or one.grade > least]

"""Grades: points, limits, the lowest."""

from __future__ import annotations

import pytest

from gpuregress.gpu.records import replace
from gpuregress.lab.auditing import grades
from tests.lab.auditing.records import found, part


@pytest.mark.parametrize(
    ("share", "letter"),
    [(1.0, "A"), (0.9, "A"), (0.899, "B"), (0.8, "B"), (0.79, "C"), (0.6, "D"), (0.59, "F"), (0, "F")],
)
def test_letters(share: float, letter: str) -> None:
    assert grades.letter(share) == letter


def test_points_of_all_parts() -> None:
    one = grades.of_job("a", [part(60, found("a", 1.0)), part(40, found("a", 0.5), found("b", 0.0))])
    assert (one.grade, one.points, one.examined, one.possible, one.why) == ("B", 80, 100, 100, "")


def test_what_is_not_examined_limits_the_grade_and_is_never_good() -> None:
    one = grades.of_job("a", [part(65, found("a", 1.0)), part(35, found("a", None, why="no time"))])
    assert (one.grade, one.points, one.examined) == ("D", 65, 65)
    assert one.why == "only 65 of 100 points could be examined"
    half = grades.of_job("a", [part(100, found("a", 1.0, examined=0.5))])
    assert (half.grade, half.points, half.examined) == ("", 50, 50), "not examined is not bad"
    assert half.why == "only 50 of 100 points could be examined"


def test_a_job_that_nothing_examined_has_no_grade() -> None:
    one = grades.of_job("a", [part(65, found("a", None, why="needs a GPU")), part(35, found("a", None))])
    assert (one.grade, one.why) == ("", "needs a GPU")
    assert [low.job for low in grades.below([one], "D")] == ["a"]
    assert grades.lowest([one, grades.of_job("b", [part(1, found("b", 1.0))])]) == ""


def test_a_case_that_fails_is_an_f() -> None:
    one = grades.of_job("a", [part(100, found("a", 0.99, ("wrong", "a/n=1 differs")))])
    assert (one.grade, one.why) == ("F", "a case fails")


def test_the_lowest_job_is_what_ci_holds() -> None:
    good, bad = (grades.of_job(job, [part(1, found(job, share))]) for job, share in (("a", 1.0), ("b", 0.75)))
    assert grades.lowest([good, bad]) == "C"
    assert [low.job for low in grades.below([good, bad], "B")] == ["b"]
    assert grades.below([good, bad], "C") == []
    assert grades.lowest([]) == ""


def test_what_does_not_apply_does_not_count() -> None:
    other = replace(found("a", None, why="it expects a fault"), applies=False)
    one = grades.of_job("a", [part(60, found("a", 1.0)), part(40, other)])
    assert (one.grade, one.points, one.possible, one.why) == ("A", 60, 60, "")


def test_a_sample_has_a_grade_and_the_grades_between_which_that_of_all_lies() -> None:
    low, high = grades.interval(17, 20)
    assert (round(low, 3), round(high, 3)) == (0.640, 0.948), "Wilson's interval"
    assert grades.interval(10, 10)[1] == 1.0
    assert grades.interval(0, 10)[0] == 0.0
    sampled = replace(found("a", 0.85), interval=(low, high))
    one = grades.of_job("a", [part(50, found("a", 1.0)), part(50, sampled)])
    assert (one.grade, one.lowest, one.highest) == ("A", "B", "A")
    whole = grades.of_job("a", [part(50, found("a", 0.85))])
    assert (whole.grade, whole.lowest, whole.highest) == ("B", "B", "B")


def test_parts_without_points_change_no_grade() -> None:
    one = grades.of_job("a", [part(10, found("a", 1.0)), part(0, found("a", None, why="no time"))])
    assert (one.grade, one.possible) == ("A", 10)
    assert grades.of_job("a", [part(0, found("a", 1.0))]).grade == ""

"""What the parts of an audit share: the budget, the cases of a job."""

from __future__ import annotations

import time

import pytest

from gpuregress.foundation.records import KnownFailing
from gpuregress.foundation.records.audits import JobExamination
from gpuregress.gpu.records import replace
from gpuregress.lab.auditing import examination
from gpuregress.lab.auditing.examination import AuditedJob, JobVerdicts
from tests import fakes
from tests.lab.auditing.records import JOBS, SOON, found, nothing_written, part, summary, verdict


def test_the_fastest_case_of_each_job_comes_first() -> None:
    jobs = tuple(
        AuditedJob(job, tuple(replace(fakes.case("k", name=f"{job}/{n}"), job=job) for n in (1, 2)))
        for job in ("a", "b")
    )
    clean = {"a": JobVerdicts((verdict("a/1", seconds=2.0), verdict("a/2", seconds=1.0)))}
    context = replace(SOON, clean=clean)
    assert [case.name for case in examination.in_rounds(context, jobs)] == ["a/2", "b/1", "a/1", "b/2"]
    assert replace(SOON, until=time.monotonic() - 1).left_s == 0


def test_skips_late_and_unsupported_cases_were_not_examined() -> None:
    known = verdict("a/5", "skip", known=KnownFailing("2027-01-01", "a bug"))
    run = summary(
        verdict("a/1"),
        verdict("a/2", "skip", "needs a GPU"),
        verdict("a/3", "skip", "not started"),
        verdict("a/4", "error", "no such instruction", observations={"error": "UnsupportedError"}),
        known,
        verdict("a/6", "skip", infeasible=True),
        unfinished=("a/3",),
    )
    own = examination.by_job(run, JOBS)["a"]
    assert [one.case for one in own.examined] == ["a/1", "a/5"]
    assert own.why_left == "a/2: needs a GPU; a/3: not started; a/4: no such instruction"
    one = examination.of_share("a", own, 1, ())
    assert (one.share, one.examined, one.done) == (0.5, 0.4, "2 of 5 cases")


def test_cases_that_an_interruption_left_are_not_examined() -> None:
    job = AuditedJob("a", (fakes.case("k", name="a/1"), fakes.case("k", name="a/2")))
    own = examination.by_job(summary(verdict("a/1"), unfinished=("a/2",), state="interrupted"), (job,))["a"]
    assert (len(own.examined), own.why_left) == (1, "a/2: interrupted")


def test_a_job_that_writes_nothing_is_of_no_use_to_other_parts() -> None:
    job = AuditedJob("a", (fakes.case("k", name="a/1"),))
    context = replace(SOON, clean={"a": JobVerdicts((nothing_written("a/1", "new"),))})
    assert context.usable(job) == ()
    assert context.why_unusable(job) == "a/1 writes nothing as it is"


def test_a_job_without_a_case_that_ran_is_not_examined() -> None:
    def judge(job: AuditedJob, verdicts: JobVerdicts) -> JobExamination:
        return JobExamination(job.name, len(verdicts.examined))

    done = examination.of_cases(JOBS, summary(verdict("a/1"), verdict("b/1", "skip", "needs a GPU")), judge)
    assert [(one.share, one.why) for one in done.jobs] == [(1, ""), (None, "b/1: needs a GPU")]
    done = examination.of_cases(JOBS, summary(verdict("a/1"), state="interrupted"), judge)
    assert done.interrupted
    assert done.jobs[1].why == "interrupted"


@pytest.mark.parametrize(
    ("share", "letter"),
    [(1.0, "A"), (0.9, "A"), (0.899, "B"), (0.8, "B"), (0.79, "C"), (0.6, "D"), (0.59, "F"), (0, "F")],
)
def test_letters(share: float, letter: str) -> None:
    assert examination.letter(share) == letter


def test_points_of_all_parts() -> None:
    one = examination.grade_of("a", [part(60, found("a", 1.0)), part(40, found("a", 0.5), found("b", 0.0))])
    assert (one.grade, one.points, one.examined, one.possible, one.why) == ("B", 80, 100, 100, "")


def test_what_is_not_examined_limits_the_grade_and_is_never_good() -> None:
    one = examination.grade_of("a", [part(65, found("a", 1.0)), part(35, found("a", None, why="no time"))])
    assert (one.grade, one.points, one.examined) == ("D", 65, 65)
    assert one.why == "only 65 of 100 points could be examined"
    half = examination.grade_of("a", [part(100, found("a", 1.0, examined=0.5))])
    assert (half.grade, half.points, half.examined) == ("", 50, 50), "not examined is not bad"
    assert half.why == "only 50 of 100 points could be examined"


def test_a_job_that_nothing_examined_has_no_grade() -> None:
    one = examination.grade_of("a", [part(65, found("a", None, why="needs a GPU")), part(35, found("a", None))])
    assert (one.grade, one.why) == ("", "needs a GPU")
    assert [low.job for low in examination.below([one], "D")] == ["a"]
    assert examination.lowest([one, examination.grade_of("b", [part(1, found("b", 1.0))])]) == ""


def test_a_case_that_fails_is_an_f() -> None:
    one = examination.grade_of("a", [part(100, found("a", 0.99, ("wrong", "a/n=1 differs")))])
    assert (one.grade, one.why) == ("F", "a case fails")


def test_the_lowest_job_is_what_ci_holds() -> None:
    good, bad = (examination.grade_of(job, [part(1, found(job, share))]) for job, share in (("a", 1.0), ("b", 0.75)))
    assert examination.lowest([good, bad]) == "C"
    assert [low.job for low in examination.below([good, bad], "B")] == ["b"]
    assert examination.below([good, bad], "C") == []
    assert examination.lowest([]) == ""


def test_what_does_not_apply_does_not_count() -> None:
    other = replace(found("a", None, why="it expects a fault"), applies=False)
    one = examination.grade_of("a", [part(60, found("a", 1.0)), part(40, other)])
    assert (one.grade, one.points, one.possible, one.why) == ("A", 60, 60, "")


def test_a_sample_has_a_grade_and_the_grades_between_which_that_of_all_lies() -> None:
    low, high = examination.interval(17, 20)
    assert (round(low, 3), round(high, 3)) == (0.640, 0.948), "Wilson's interval"
    assert examination.interval(10, 10)[1] == 1.0
    assert examination.interval(0, 10)[0] == 0.0
    sampled = replace(found("a", 0.85), interval=(low, high))
    one = examination.grade_of("a", [part(50, found("a", 1.0)), part(50, sampled)])
    assert (one.grade, one.lowest, one.highest) == ("A", "B", "A")
    whole = examination.grade_of("a", [part(50, found("a", 0.85))])
    assert (whole.grade, whole.lowest, whole.highest) == ("B", "B", "B")


def test_parts_without_points_change_no_grade() -> None:
    one = examination.grade_of("a", [part(10, found("a", 1.0)), part(0, found("a", None, why="no time"))])
    assert (one.grade, one.possible) == ("A", 10)
    assert examination.grade_of("a", [part(0, found("a", 1.0))]).grade == ""

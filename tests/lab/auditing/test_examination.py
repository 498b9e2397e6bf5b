"""What the parts of an audit share: the budget, the cases of a job."""

from __future__ import annotations

import time

from gpuregress.foundation.records import KnownFailing
from gpuregress.foundation.records.audits import JobExamination
from gpuregress.gpu.records import replace
from gpuregress.lab.auditing import examination
from gpuregress.lab.auditing.examination import AuditedJob, JobVerdicts
from tests import fakes
from tests.lab.auditing.records import JOBS, SOON, nothing_written, summary, verdict


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
        verdict("a/3", "skip", "no turn"),
        verdict("a/4", "error", "no such instruction", observations={"error": "UnsupportedError"}),
        known,
        verdict("a/6", "skip", infeasible=True),
        unfinished=("a/3",),
    )
    own = examination.by_job(run, JOBS)["a"]
    assert [one.case for one in own.examined] == ["a/1", "a/5"]
    assert own.why_left == "a/2: needs a GPU; a/3: no turn; a/4: no such instruction"
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

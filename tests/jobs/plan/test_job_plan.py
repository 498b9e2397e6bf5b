from __future__ import annotations

from pathlib import Path

from gpuregress.gpu.records import replace
from gpuregress.jobs import revision
from gpuregress.jobs.plan import CaseOverrides, case_planning
from gpuregress.jobs.plan.job_plan import LabelRequest
from gpuregress.jobs.revision import Labels
from tests.jobs.plan.projects import JOB, project


def test_revisions_are_determined_anew(tmp_path: Path) -> None:
    example = project(tmp_path, reduce=JOB + "revision: 1.10\n")
    planned = case_planning.of_job(tmp_path / "configs/reduce.yaml", example, CaseOverrides())
    cases, notes = planned.labelled(example, Labels())
    assert {case.revision for case in cases} == {"1.10"}
    assert notes == ()
    revision.record(example.runs, {("reduce", "1.10", "0" * 64)})
    cases, notes = planned.labelled(example, Labels())
    assert {case.revision for case in cases} == {f"1.10+{cases[0].source_digest[:6]}"}
    assert len(notes) == 1


def test_each_case_has_the_revision_of_its_own_sources(tmp_path: Path) -> None:
    example = project(tmp_path, reduce=JOB)
    planned = case_planning.of_job(tmp_path / "configs/reduce.yaml", example, CaseOverrides())
    (request,) = planned.requests
    cases = tuple(replace(case, revision=str(at % 2)) for at, case in enumerate(planned.cases))
    both = replace(planned, cases=cases, requests=(request, LabelRequest("b", request.sources)))
    found, _ = both.labelled(example, Labels())
    assert [case.revision for case in found] == [request.sources[0][1].digest[:8], "b"] * 2

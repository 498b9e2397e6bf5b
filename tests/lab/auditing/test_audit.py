"""An audit: its parts in turn, their errors, ^C, the grades."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gpuregress.foundation.errors import DeviceError, StorageError, UsageError
from gpuregress.foundation.records.audits import AuditReport
from gpuregress.gpu.records import replace
from gpuregress.lab.auditing import audit, case_parts, examination
from gpuregress.lab.auditing.audit import AuditRequest
from gpuregress.lab.auditing.examination import AuditContext, AuditedJob, AuditPart, Examined, JobVerdicts
from gpuregress.lab.mutating import results
from gpuregress.lab.mutating.subject import Subject
from gpuregress.store import project
from gpuregress.toolchain import cache
from tests.lab.auditing.records import FAULTING, JOBS, SOON, found, verdict
from tests.workshop import RUN, Workshop


def part(name: str, examine: Callable[[Sequence[AuditedJob]], Examined] | None = None) -> AuditPart:
    def good(_context: AuditContext, jobs: Sequence[AuditedJob]) -> Examined:
        return examine(jobs) if examine else Examined(tuple(found(job.name, 1.0) for job in jobs))

    return AuditPart(name, 50, 0.5, "something", good)


def audited(shop: Workshop, *parts: AuditPart, budget_s: float = 60.0) -> AuditReport:
    return audit.audit(project.find(shop.root), AuditRequest((), budget_s), parts=parts)


def test_a_part_that_cannot_run_is_not_examined(shop: Workshop) -> None:
    def broken(_jobs: Sequence[AuditedJob]) -> Examined:
        raise DeviceError("no such device")

    report = audited(shop, part("first", broken), part("second"))
    assert [one.jobs[0].why for one in report.parts] == ["no such device", ""]
    assert (report.grade, report.grades[0].points) == ("", 50)


def test_where_results_are_needed_a_job_that_expects_a_fault_is_left_out() -> None:
    asked: list[str] = []
    for known in audit.PARTS:

        def examine(_context: AuditContext, jobs: Sequence[AuditedJob], name: str = known.name) -> Examined:
            asked.extend(f"{name} {job.name}" for job in jobs)
            return Examined(tuple(found(job.name, 1.0) for job in jobs))

        one, other = audit._examined(
            replace(known, examine=examine, is_kept=False), SOON, (JOBS[0], FAULTING), is_stopped=False
        ).jobs
        assert (one.share, one.applies) == (1.0, True)
        if known.name in ("cases", "checks", "mutants"):
            assert other.applies
        else:
            assert (other.share, other.applies, other.why) == (None, False, "it expects a fault")
    assert [entry for entry in asked if entry.endswith("b")] == ["cases b", "checks b", "mutants b"]


def test_after_an_interruption_the_report_has_what_is_done(shop: Workshop) -> None:
    def stopped(jobs: Sequence[AuditedJob]) -> Examined:
        os.kill(os.getpid(), signal.SIGINT)
        return Examined(tuple(found(job.name, 1.0) for job in jobs))

    report = audited(shop, part("first", stopped), part("second"))
    assert report.interrupted
    assert [one.jobs[0].why for one in report.parts] == ["", "interrupted"]
    report = audited(shop, part("first", lambda jobs: examination.not_examined(jobs, "x", interrupted=True)), part("b"))
    assert report.interrupted
    assert report.parts[1].jobs[0].why == "interrupted"


def test_without_time_nothing_is_examined_and_there_is_no_grade(shop: Workshop) -> None:
    report = audited(shop, part("first"), budget_s=0.0)
    assert (report.grade, report.grades[0].why) == ("", "the budget was spent before its turn")


def test_a_wrong_job_is_an_f_and_the_others_are_examined(shop: Workshop) -> None:
    shop.write("configs/wrong.yaml", "sauce: x\n")
    report = audited(shop, part("first"))
    assert [(one.job, one.grade) for one in report.grades] == [("wrong", "F"), ("scale", "A")]
    assert (report.grade, report.grades[0].why) == ("F", "the job is wrong")
    (wrong,) = (one for one in report.parts[0].jobs if one.job == "wrong")
    assert [one.kind for one in wrong.evidence] == ["wrong"] * len(wrong.evidence)
    assert any(one.text == "configs/wrong.yaml:1: sauce: unknown key; did you mean 'source'?" for one in wrong.evidence)


def test_jobs_of_which_all_are_wrong_are_no_audit(shop: Workshop) -> None:
    path = shop.root / "configs/scale.yaml"
    path.write_text(path.read_text().replace("kernel: scale", "kernel: scales"))
    audited_now = shop.call("audit", "scale", "--budget", "20s")
    assert audited_now.exit_code == 2
    assert "has no kernel 'scales'" in audited_now.stderr


def test_a_selector_that_means_nothing(shop: Workshop) -> None:
    with pytest.raises(UsageError):
        audit.audit(project.find(shop.root), AuditRequest(("other",)), parts=())


def test_a_complete_examination_is_kept_until_the_job_changes(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(shop.root / "configs/scale.yaml")
    known, digests, asked = SimpleNamespace(cases=(SimpleNamespace(path=path),)), ["first"], list[str]()
    monkeypatch.setattr(audit, "_subjects", lambda *_arguments: {"scale": known})
    monkeypatch.setattr(results, "subject_digest", lambda one: digests[-1] if one is known else "")
    monkeypatch.setattr(audit, "Subject", SimpleNamespace)

    def examine(jobs: Sequence[AuditedJob]) -> Examined:
        asked.extend(job.name for job in jobs)
        return Examined(tuple(found(job.name, 0.5, ("unnoticed", "x")) for job in jobs))

    first = part(
        "first", lambda jobs: Examined(tuple(found(job.name, 1.0) for job in jobs), clean={"scale": JobVerdicts()})
    )
    second = replace(part("second", examine), is_kept=True)
    reports = [audited(shop, first, second) for _ in range(2)]
    assert asked == ["scale"]
    assert reports[0].parts[1].jobs == reports[1].parts[1].jobs
    audit.audit(project.find(shop.root), AuditRequest(fresh=True), parts=(first, second))
    digests.append("changed")
    audited(shop, first, second)
    assert asked == ["scale"] * 3


def test_the_subjects_are_the_jobs_whose_cases_pass(shop: Workshop) -> None:
    seen: list[AuditContext] = []

    def look(context: AuditContext, jobs: Sequence[AuditedJob]) -> Examined:
        seen.append(context)
        return Examined(tuple(found(job.name, 1.0) for job in jobs))

    assert shop.call(*RUN).exit_code == 1
    audited(shop, case_parts.CASES, AuditPart("look", 50, 1.0, "", look))
    assert "nothing would notice a mutant" in str(seen[0].subjects["scale"]), "it has no baseline yet"
    assert shop.call("accept").exit_code == 0
    audited(shop, case_parts.CASES, AuditPart("look", 50, 1.0, "", look))
    subject = seen[1].subjects["scale"]
    assert isinstance(subject, Subject)
    assert [case.name for case in subject.cases] == [one.case for one in seen[1].clean["scale"].examined]


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What was stored, by key; the subjects of both jobs are known."""
    records: dict[str, Any] = {}
    monkeypatch.setattr(audit, "Subject", SimpleNamespace)
    monkeypatch.setattr(results, "subject_digest", lambda _one: "digest")
    monkeypatch.setattr(cache, "store", lambda key, record, _files: records.__setitem__(key, record))
    monkeypatch.setattr(cache, "load", records.get)
    return records


@pytest.fixture
def context(tmp_path: Path) -> AuditContext:
    subjects: Any = {}
    for name in ("a", "b"):
        path = tmp_path / f"{name}.yaml"
        path.write_text("job: x")
        subjects[name] = SimpleNamespace(cases=(SimpleNamespace(path=str(path)),))
    return replace(SOON, subjects=subjects)


def test_complete_examinations_alone_are_kept(stored: dict[str, Any], context: AuditContext, tmp_path: Path) -> None:
    audit.keep_examinations(case_parts.CHECKS, context, (found("a", 0.5), found("b", 1.0, examined=0.5)))
    audit.keep_examinations(
        case_parts.CHECKS, context, (found("b", None, why="no time"), found("c", 1.0), found("b", 1.0, why="cut"))
    )
    assert len(stored) == 1
    assert audit.find_kept(case_parts.CHECKS, context, JOBS) == {"a": found("a", 0.5)}
    assert audit.find_kept(replace(case_parts.CHECKS, name="other"), context, JOBS) == {}
    assert audit.find_kept(case_parts.CHECKS, replace(context, fresh=True), JOBS) == {}
    (tmp_path / "a.yaml").write_text("fuzz: {keep: [x]}")
    assert audit.find_kept(case_parts.CHECKS, context, JOBS) == {}, "the job has changed, and no case of it"
    (tmp_path / "a.yaml").write_text("job: x")
    late = replace(context, clean={"a": JobVerdicts((verdict("a/1"),), (verdict("a/2", "skip"),))})
    assert audit.find_kept(case_parts.CHECKS, late, JOBS) == {}, "its digest knows nothing of the case without a turn"


def test_damaged_records_and_a_full_disk(
    stored: dict[str, Any], context: AuditContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    audit.keep_examinations(case_parts.CHECKS, context, (found("a", 0.5),))
    stored[next(iter(stored))] = {"examination": {"share": "x"}}
    assert audit.find_kept(case_parts.CHECKS, context, JOBS) == {}

    def full(*_arguments: object) -> None:
        raise StorageError("no space")

    monkeypatch.setattr(cache, "store", full)
    audit.keep_examinations(case_parts.CHECKS, context, (found("a", 0.5),))

"""The tables of what is known of each kernel, and the page that is made of them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from gpuregress.foundation.records import to_json
from gpuregress.foundation.records.audits import AuditEvidence, AuditReport, JobExamination, PartResult
from gpuregress.gpu.records import replace
from gpuregress.jobs import plan
from gpuregress.store import project
from tests.cli.runs.test_mutate import EQUAL, REPORT, SURVIVOR
from tests.kernels import evidence


def test_the_page_is_made_of_the_tables() -> None:
    """It is made anew by `python -m tests.kernels.evidence`."""
    assert evidence.PAGE.read_text(encoding="utf-8") == evidence.page()


@pytest.mark.slow
def test_every_job_is_in_the_tables_and_nothing_else() -> None:
    jobs = {case.job for case in plan.make(project.find(evidence.ROOT), []).cases}
    assert {row["job"] for row in evidence.EXAMINED.rows()} == jobs
    assert {row["job"] for row in evidence.MUTANTS.rows()} <= jobs
    assert {row["job"] for row in evidence.counters()} <= jobs
    mutants = {row["job"]: row for row in evidence.MUTANTS.rows()}
    listed = Counter[str]()
    for row in evidence.SURVIVORS.rows():
        listed[row["job"]] += int(row["number"])
    assert listed == {job: int(mutants[job]["survived"]) for job in listed}, "the tables are of two reports"


def test_each_reason_is_of_a_kind() -> None:
    kinds = {kind for name in evidence.KINDS for kind in name.split(", ")}
    assert {row["why"].partition(":")[0] for row in evidence.SURVIVORS.rows()} <= {*kinds, ""}


def test_rows_of_an_audit() -> None:
    def part(name: str, *, evidence: tuple[AuditEvidence, ...] = (), done: str = "") -> PartResult:
        return PartResult(name, 10, "", (JobExamination("sum", 1.0, done=done, evidence=evidence),))

    luck = (AuditEvidence("luck", "sum/n=1: race: data race on x"), AuditEvidence("luck", "lanes exchange values"))
    parts = (part("cases", done="2 of 2 cases"), part("checks", evidence=luck), part("coverage", done="9 of 9 lines"))
    fuzz = PartResult("fuzz", 10, "", (JobExamination("sum", None, applies=False),))
    report = to_json(AuditReport(1, "A", (), (*parts, part("schedules"), fuzz), 600.0, 1.0))
    assert list(evidence.of_audit(report, {"sum": "kernels/sum.cu"})) == [
        {
            "job": "sum",
            "source": "kernels/sum.cu",
            "cases": "2 of 2",
            "checks": "race 1, note 1",
            "schedules": "one result",
            "coverage": "9 of 9 lines",
            "inputs": "-",
        }
    ]


def test_rows_of_mutants_replace_those_of_their_job(tmp_path: Path) -> None:
    row = evidence.of_mutants(to_json(REPORT))
    assert (row["tried"], row["killed"], row["survived"]) == ("3", "1", "1")
    assert row["races"] == "0"
    table = replace(evidence.MUTANTS, name=str(tmp_path / "mutants"))
    table.update([row, {**row, "job": "other"}])
    table.update([{**row, "killed": "7"}])
    assert [(one["job"], one["killed"]) for one in table.rows()] == [("other", "1"), (row["job"], "7")]


def test_survivors_keep_what_was_written_of_them() -> None:
    report = to_json(replace(REPORT, survived=(SURVIVOR, SURVIVOR, EQUAL)))
    (row,) = evidence.of_survivors(report, ())
    assert (row["job"], row["line"], row["number"], row["why"]) == ("scale", "7", "2", "")
    other, gone = {**row, "job": "other"}, {**row, "line": "8"}
    assert evidence.of_survivors(report, [other, {**row, "why": "equivalent: x"}, gone]) == [
        other,
        {**row, "why": "equivalent: x"},
    ]


def test_survivors_of_ptx_are_listed_one_by_one() -> None:
    alive = (replace(SURVIVOR, file=name, line=number) for number, name in enumerate(("k.ptx", "k.ptx#2")))
    rows = evidence.of_survivors(to_json(replace(REPORT, survived=tuple(alive))), ())
    assert [(row["file"], row["line"], row["number"]) for row in rows] == [("k.ptx", "0", "1"), ("k.ptx#2", "1", "1")]


def test_counters_of_a_card_are_one_number_where_they_are_equal() -> None:
    rows = {(row["kernel"], row["job"]): row for row in evidence.counters()}
    assert rows["strided", "langdon_stride"]["requests"] == "**44** / 56"
    assert rows["gp_fitness", "gp"]["sectors"] == "22,966 + 346,071 local"

"""Command `gpuregress audit`: its text, its page, its JSON, its exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gpuregress.foundation.records.audits import AuditReport
from gpuregress.gpu.records import replace
from gpuregress.lab.auditing import audit
from gpuregress.lab.auditing.audit import AuditRequest
from tests.report.audits import samples
from tests.workshop import RUN, Workshop


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[AuditRequest]:
    return answer(monkeypatch, samples.report())


def answer(monkeypatch: pytest.MonkeyPatch, report: AuditReport) -> list[AuditRequest]:
    requests: list[AuditRequest] = []

    def audited(_project: Any, request: AuditRequest, **_more: Any) -> AuditReport:
        requests.append(request)
        return report

    monkeypatch.setattr(audit, "audit", audited)
    return requests


def test_reports_and_their_places(shop: Workshop, asked: list[AuditRequest], tmp_path: Path) -> None:
    page, target = tmp_path / "a.html", tmp_path / "a.json"
    result = shop.call("audit", "sum", "max", "--budget", "2min", "--html", str(page), "--json", str(target))
    assert (result.exit_code, asked) == (0, [AuditRequest(("sum", "max"), 120.0)])
    shop.call("audit", "--mutants", "20", "--seed", "7", "--fresh")
    assert asked[-1] == AuditRequest((), 600.0, 20, 7, fresh=True)
    assert "2 jobs: no grade (not all of them could be examined)" in result.stdout
    assert "<h2" in page.read_text()
    document = json.loads(target.read_text())
    assert [one["name"] for one in document["parts"]] == ["cases", "mutants"]
    assert json.loads(shop.call("audit", "--json", "-").stdout) == document
    assert "cannot both go to stdout" in shop.fails(2, "audit", "--json", "-", "--html", "-")


@pytest.mark.usefixtures("asked")
def test_a_job_without_a_grade_is_below_every_grade(shop: Workshop) -> None:
    assert "below the grade D: max (no grade)" in shop.fails(1, "audit", "--min-grade", "D")


def test_a_grade_for_ci(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    report = samples.report()
    answer(monkeypatch, replace(report, grade="B", grades=report.grades[:1]))
    assert shop.call("audit", "--min-grade", "B").exit_code == 0
    assert "below the grade A: sum (B)" in shop.fails(1, "audit", "--min-grade", "A")


def test_an_interruption(shop: Workshop, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    answer(monkeypatch, replace(samples.report(), interrupted=True))
    page = tmp_path / "a.html"
    assert shop.call("audit", "--html", str(page)).exit_code == 130
    assert "interrupted" in page.read_text()


def test_a_small_job_from_its_cases_to_its_mutants(shop: Workshop) -> None:
    assert shop.call(*RUN).exit_code == 1
    assert shop.call("accept").exit_code == 0
    runs = sorted(path.name for path in (shop.root / "runs").iterdir())
    result = shop.call("audit", "--budget", "60", "--json", "-")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    shares = {part["name"]: part["jobs"][0]["share"] for part in document["parts"]}
    assert shares == {
        "cases": 1.0,
        "checks": 1.0,
        "schedules": 1.0,
        "coverage": 1.0,
        "mutants": 1.0,
        "fuzz": 1.0,
        "accuracy": 1.0,
    }
    assert document["grade"] == "A"
    assert sorted(path.name for path in (shop.root / "runs").iterdir()) == runs, "an audit leaves no run"

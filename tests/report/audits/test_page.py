"""The page of an audit."""

from __future__ import annotations

from gpuregress.foundation.records.audits import AuditEvidence
from gpuregress.gpu.records import replace
from gpuregress.report import audit_report
from tests.report.audits import samples
from tests.report.html import samples as pages
from tests.report.html.parsed import tree


def test_sections_grades_and_what_was_not_examined() -> None:
    text = audit_report.page(samples.report())
    assert tree(text)
    for part in ("What no test would notice", "What is proven", "Not examined", "What this proves", "+&lt;b&gt;"):
        assert part in text
    assert "What is right by luck" not in text
    assert "40 of 212 mutants tried: the budget did not allow more" in text
    assert 'http-equiv="Content-Security-Policy"' in text
    assert "src=" not in text
    assert text.count("no case noticed") == 7, "the page has all"


def test_hostile_text_stays_text() -> None:
    evidence = AuditEvidence("luck", pages.HOSTILE, (pages.HOSTILE,))
    job = replace(samples.CASES.jobs[0], job=pages.HOSTILE, why=pages.HOSTILE, evidence=(evidence,))
    report = replace(samples.report(), parts=(replace(samples.CASES, jobs=(job,)),))
    assert pages.HOSTILE not in audit_report.page(report)

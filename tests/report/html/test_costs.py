"""Costs in the page."""

from __future__ import annotations

from gpuregress.foundation.records import to_json
from gpuregress.report.html import costs as section
from tests.report.test_cost_report import costs


def test_a_case_has_its_totals_and_lines() -> None:
    text = "\n".join(section.section([{"case": "k/<n>", "costs": to_json(costs())}]))
    assert "k/&lt;n&gt;" in text
    assert "<td>8.5</td>" in text
    assert "1 divergent" in text


def test_a_run_without_counts_has_no_section() -> None:
    assert list(section.section([{}])) == []


def test_many_cases_are_cut() -> None:
    entries = [{"case": f"k/{number}", "costs": to_json(costs())} for number in range(22)]
    assert "2 more are in results.json" in "\n".join(section.section(entries))

from __future__ import annotations

from typing import Any

from gpuregress.report.html import variants
from tests.report.html.parsed import tree

BUFFER = {"name": "out", "changed": 3, "of": 8, "same": False, "max_ulp": 2.0, "max_abs": 0.1, "max_rel": 0.1}
CHANGE = {"file": "k.cu", "line": 7, "before": ["mul", "add"], "after": ["fma"]}


def case(**changes: Any) -> dict[str, Any]:
    one = {"variant": "fmad=on", "first": "fmad=off", "same_as": "", "message": "", "buffers": [], "instructions": []}
    return {"case": "a/<1>", "variants": [{**one, **changes}]}


def test_changed_buffers_and_source_lines() -> None:
    root = tree("".join(variants.section([case(buffers=[BUFFER], instructions=[CHANGE])])))
    rows = [[cell.text for cell in row.children if not isinstance(cell, str)] for row in root.all("tr")[1:]]
    assert rows == [["fmad=on", "out", "3 of 8", "2", "not equal under its rule"], ["", "k.cu:7: mul, add → fma"]]
    assert "a/<1>" in root.first("summary").text


def test_a_build_that_changes_nothing_and_one_that_did_not_run() -> None:
    assert "no bit changes" in tree("".join(variants.section([case()]))).text
    assert "trap" in tree("".join(variants.section([case(message="trap")]))).text
    assert not list(variants.section([{"case": "a"}]))


def test_of_many_cases_thirty_are_shown() -> None:
    root = tree("".join(variants.section([case()] * 40)))
    assert len(root.all("table")) == 30
    assert "10 more are in results.json" in root.text

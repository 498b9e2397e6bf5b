"""Sections of the page of a run."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from gpuregress.foundation.records import AcceptedBy, Coverage, FileCoverage, Status, to_json
from gpuregress.gpu.records import replace
from gpuregress.report.html import sections
from gpuregress.report.html.cards import RunFacts
from gpuregress.report.html.sections import grouped
from tests.report.html import samples
from tests.report.html.parsed import Tag, tree
from tests.report.html.test_trend import one, past
from tests.report.samples import summary, verdict
from tests.report.test_cost_report import costs

SINCE = {"run": "r", "started": "2026-11-20T02:00:00Z", "commit": "8eb0c1f2b3", "nights": 2}
NIGHT: dict[str, Any] = {
    "against": "20261121T020000Z-aaaa",
    "new": [{"case": "a/<1>", "status": "differ", "diagnosis": "b: 689 of 1000 differ"}],
    "still": [{"case": "b/1", "status": "fault", "diagnosis": "trap", "since": SINCE, "before": "zeros"}],
    "fixed": [{"case": "c/1", "status": "differ"}, {"case": "c/2", "status": "differ"}],
    "slower": [{"case": "d/1", "text": "1.4 times as long", "is_new": True}],
    "lacking": [{"device": "cuda", "cases": 3, "why": "no driver"}],
    "no_turn": ["e/1"],
}


def shown_changes(found: dict[str, Any] | None) -> Tag:
    return tree(sections.changes(found, {"a/<1>": "c1"}))


def test_each_kind_of_change_with_its_number_the_news_unfolded() -> None:
    parts = shown_changes(NIGHT).all("details")
    assert [(one.first("summary").text, "open" in one.attributes) for one in parts] == [
        ("1 new failure", True),
        ("1 still failing", False),
        ("2 fixed", True),
        ("1 slower", True),
        ("devices that this host lacks", True),
        ("1 not started before the deadline", False),
    ]


def test_a_failure_has_its_card_its_diagnosis_and_its_first_night() -> None:
    root = shown_changes(NIGHT)
    assert root.first("a").attributes["href"] == "#c1"
    lines = [" ".join(one.text.split()) for one in root.all("li")]
    assert lines[:2] == ["differ a/<1> b: 689 of 1000 differ", "fault b/1 trap since 20 Nov, at 8eb0c1f before: zeros"]
    assert "cuda: 3 cases skipped, no driver" in lines
    assert "c/1 was differ" in lines


def test_a_run_that_is_no_night_has_no_section_and_a_quiet_night_says_so() -> None:
    assert not shown_changes(None).children
    assert "Nothing." in shown_changes({}).text
    assert "the history is damaged" in shown_changes({"unknown": "the history is damaged"}).text


def test_of_many_a_few_are_shown_and_counted() -> None:
    many = {"new": [{"case": f"a/{n}", "status": "differ", "cause": f"cause {n}"} for n in range(100)]}
    assert "and 70 more, in the table" in shown_changes(many).text


def test_failures_of_one_cause_are_one_entry_with_its_cases_folded() -> None:
    alike = [{"case": f"a/{n}", "status": "differ", "cause": "offset", "diagnosis": f"off {n}"} for n in range(3)]
    root = shown_changes({"new": [*alike, {"case": "b", "status": "fault", "cause": "trap", "diagnosis": "trap"}]})
    fault, differ = (" ".join(one.text.split()) for one in root.all("li"))
    assert (fault, differ) == ("fault b trap", "differ a/0 and 2 more: off 0all 3a/0, a/1, a/2")


def test_a_beginning_has_the_day_of_its_run_and_marks_a_changed_work_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        since = {"run": "r", "started": "2026-11-19T23:30:00Z", "commit": "8eb0c1f2b3", "dirty": True}
        page = shown_changes({"new": [{"case": "a", "status": "differ", "since": since}]})
        assert "since 19 Nov, at 8eb0c1f+" in page.text
    finally:
        monkeypatch.undo()
        time.tzset()


def timed(case: str, status: str, ratio: float, reached: Status = "pass") -> dict[str, Any]:
    comparison = {"status": status, "measure": "time", "message": f"<{ratio} times>", "ratio": ratio}
    return {**samples.entry(verdict(reached, case=case)), "timing_comparison": comparison}


def shown_times(cases: list[dict[str, Any]], **document: Any) -> Tag:
    facts = RunFacts({"run": "3", **document}, lambda _case, _device: past("pass", "pass", "pass"))
    return tree(sections.times(cases, facts))


def test_the_slowest_case_comes_first_with_its_chart() -> None:
    root = shown_times(
        [timed("a", "faster", 0.5), timed("b", "same", 1.0), timed("c", "slower", 1.2), timed("d", "slower", 3)]
    )
    assert not shown_times([timed("a", "faster", 0.5, "differ")]).children  # a wrong result is not praised
    too_slow = timed("a", "slower", 2.0, "differ")
    too_slow["timing_comparison"]["fails"] = True
    assert "differ time: slower, " in shown_times([too_slow]).text
    assert "4 cases compared with the accepted times or instruction counts: 2 slower, 1 faster, 1 same" in root.text
    lines = [one.first("summary").text for one in root.all("details") if one.first("summary").all("code")]
    assert [line.split()[0] for line in lines] == ["d", "c", "a"]
    assert "<3 times>" in lines[0]
    assert len(root.all("circle")) == 9


def test_the_rate_of_false_alarms() -> None:
    text = shown_times([], false_alarms={"compared": 40, "cases": ["a", "b"]}).text
    assert "2 of 40 would be false alarms, 5 % (a, b)" in text


def test_nothing_where_nothing_was_compared() -> None:
    assert not shown_times([samples.entry(verdict("pass"))]).children


def test_of_many_thirty_are_shown() -> None:
    root = shown_times([timed(f"c{n}", "slower", 2.0) for n in range(50)])
    assert "20 more are in results.json" in root.text


BUFFER = {"name": "out", "changed": 3, "of": 8, "same": False, "max_ulp": 2.0, "max_abs": 0.1, "max_rel": 0.1}
CHANGE = {"file": "k.cu", "line": 7, "before": ["mul", "add"], "after": ["fma"]}


def varied(**changes: Any) -> dict[str, Any]:
    one = {"variant": "fmad=on", "first": "fmad=off", "same_as": "", "message": "", "buffers": [], "instructions": []}
    return {"case": "a/<1>", "variants": [{**one, **changes}]}


def test_changed_buffers_and_source_lines() -> None:
    root = tree(sections.variants([varied(buffers=[BUFFER], instructions=[CHANGE])]))
    rows = [[cell.text for cell in row.children if not isinstance(cell, str)] for row in root.all("tr")[1:]]
    assert rows == [["fmad=on", "out", "3 of 8", "2", "not equal under its rule"], ["", "k.cu:7: mul, add → fma"]]
    assert "a/<1>" in root.first("summary").text


def test_a_build_that_changes_nothing_and_one_that_did_not_run() -> None:
    assert "no bit changes" in tree(sections.variants([varied()])).text
    assert "trap" in tree(sections.variants([varied(message="trap")])).text
    assert not sections.variants([{"case": "a"}])


def test_of_many_cases_thirty_are_shown() -> None:
    root = tree(sections.variants([varied()] * 40))
    assert len(root.all("table")) == 30
    assert "10 more are in results.json" in root.text


def test_lines_have_counts_or_no_code(tmp_path: Path) -> None:
    path = tmp_path / "k.cu"
    path.write_text("int a<1>;\n\nx();\ny();\n")
    seen = Coverage((FileCoverage(str(path), ((3, 1234), (4, 0))),))
    text = sections.coverage([{"coverage": to_json(seen)}, {}])
    assert "int a&lt;1&gt;;" in text
    assert "<td>no code</td>" in text
    assert "<td>1,234</td>" in text
    assert "never executed" in text


def test_a_run_without_counts_has_no_section() -> None:
    assert not sections.coverage([{}])


def test_a_case_has_its_totals_and_lines() -> None:
    text = sections.costs([{"case": "k/<n>", "costs": to_json(costs())}])
    assert "k/&lt;n&gt;" in text
    assert "<td>8.5</td>" in text
    assert "1 divergent" in text


def test_a_run_without_counted_costs_has_no_section() -> None:
    assert not sections.costs([{}])


def test_the_costs_of_many_cases_are_cut() -> None:
    entries = [{"case": f"k/{number}", "costs": to_json(costs())} for number in range(22)]
    assert "2 more are in results.json" in (sections.costs(entries))


GRID: dict[str, Any] = {
    "x": "tile<x>",
    "y": "pad",
    "x_values": [4, 8],
    "y_values": [False, True],
    "rows": [[{"pass": 2}, {"pass": 1, "differ": 1, "skip": 3}], [{}, {"fault": 2}]],
}


def test_each_cell_has_its_verdicts_in_words_and_the_colour_of_the_most_severe() -> None:
    root = ET.fromstring(sections.grid(GRID))
    cells = [list(row.iter("td")) for row in root.iter("tr")][2:]
    assert [[cell.text for cell in row] for row in cells] == [["2 pass", "1 differ, 1 pass, 3 skip"], ["—", "2 fault"]]
    assert [[cell.get("class") for cell in row] for row in cells] == [["pass", "differ"], [None, "fault"]]


def test_rows_and_columns_have_headers_for_screen_readers() -> None:
    root = ET.fromstring(sections.grid(GRID))
    heads = [(head.text, head.get("scope")) for head in root.iter("th")]
    assert heads == [
        ("tile<x>", "colgroup"),
        ("pad", "col"),
        ("4", "col"),
        ("8", "col"),
        ("false", "row"),
        ("true", "row"),
    ]


FAILED = ("differ", "fault", "timeout", "error")


def shown_table(anchors: dict[str, str] | None = None) -> Tag:
    cases = [samples.entry(one) for one in (verdict("pass", case="other/1", job="other"), *summary().verdicts)]
    groups = grouped([case for case in cases if case["verdict"] in FAILED], ())
    facts = RunFacts({"run": "3"}, lambda _case, _device: past("pass", "pass", "pass"))
    return tree(sections.case_table(cases, groups, anchors or {}, facts))


def test_the_row_of_a_case_that_passes_unfolds_its_history_and_who_accepted_it() -> None:
    by_ada = AcceptedBy("1.2", "3f2a", "2026-11-20T02:00:00Z", "Ada", "the new order of sums")
    passing = samples.entry(replace(verdict("pass", case="a/1"), accepted=by_ada, revision="1.2"))
    facts = RunFacts({"run": "3"}, lambda _case, _device: [one(n, "pass", 0.5, "1.2") for n in (3, 2, 1)])
    (row,) = tree(sections.case_table([passing], [], {}, facts)).all("tr")[1:]
    text = " ".join(row.text.split())
    assert "acceptedrevision 1.2, accepted 2026-11-20 by Ada: the new order of sums" in text
    assert "last 3 runs: 3 pass" in text
    assert row.all("circle")


def test_every_case_has_one_row_the_failures_first() -> None:
    rows = shown_table().all("tr")[1:]
    cells = [[cell.text.strip() for cell in row.children if isinstance(cell, Tag)] for row in rows]
    assert [row[0] for row in cells] == ["differ", "fault", "timeout", "error", "pass", "pass", "new", "skip"]
    assert cells[0] == ["differ", "reduce/differ", "0.250", "", "sum: 3 of 8 differ"]
    assert all(len(row) == 5 for row in cells)


def test_a_case_with_a_card_links_to_it_and_others_that_fail_can_be_jumped_to() -> None:
    rows = shown_table({"reduce/differ": "c1"}).all("tr")[1:]
    assert rows[0].first("a").attributes["href"] == "#c1"
    assert ["data-fails" in row.attributes for row in rows] == [False, True, True, True, False, False, False, False]


def test_rows_and_columns_have_heads_and_the_table_a_caption() -> None:
    table = shown_table().first("table")
    assert table.first("caption").text
    assert len(table.all("th", scope="col")) == 5
    assert len(table.all("th", scope="row")) == 8


def test_the_controls_offer_what_is_there_and_are_hidden_without_scripts() -> None:
    form = shown_table().first("form")
    assert "hidden" in form.attributes
    status, job = form.all("select")
    assert [one.text for one in status.all("option")] == [
        "all", "failed", "pass", "differ", "new", "fault", "timeout", "error", "skip",
    ]  # fmt: skip
    assert [one.text for one in job.all("option")] == ["all", "other", "reduce", "broken"]
    assert len(form.all("label")) == 3

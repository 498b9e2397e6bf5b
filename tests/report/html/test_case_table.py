from __future__ import annotations

from gpuregress.report.html import case_table
from gpuregress.report.html.groups import grouped
from tests.report.html import samples
from tests.report.html.parsed import Tag, tree
from tests.report.samples import summary, verdict

FAILED = ("differ", "fault", "timeout", "error")


def shown(anchors: dict[str, str] | None = None) -> Tag:
    cases = [samples.entry(one) for one in (verdict("pass", case="other/1", job="other"), *summary().verdicts)]
    groups = grouped([case for case in cases if case["verdict"] in FAILED], ())
    return tree("".join(case_table.table(cases, groups, anchors or {})))


def test_every_case_has_one_row_the_failures_first() -> None:
    rows = shown().all("tr")[1:]
    cells = [[cell.text for cell in row.children if isinstance(cell, Tag)] for row in rows]
    assert [row[0] for row in cells] == ["differ", "fault", "timeout", "error", "pass", "pass", "new", "skip"]
    assert cells[0] == ["differ", "reduce/differ", "0.250", "", "sum: 3 of 8 differ"]
    assert all(len(row) == 5 for row in cells)


def test_a_case_with_a_card_links_to_it_and_others_that_fail_can_be_jumped_to() -> None:
    rows = shown({"reduce/differ": "c1"}).all("tr")[1:]
    assert rows[0].first("a").attributes["href"] == "#c1"
    assert ["data-fails" in row.attributes for row in rows] == [False, True, True, True, False, False, False, False]


def test_rows_and_columns_have_heads_and_the_table_a_caption() -> None:
    table = shown().first("table")
    assert table.first("caption").text
    assert len(table.all("th", scope="col")) == 5
    assert len(table.all("th", scope="row")) == 8


def test_the_controls_offer_what_is_there_and_are_hidden_without_scripts() -> None:
    form = shown().first("form")
    assert "hidden" in form.attributes
    status, job = form.all("select")
    assert [one.text for one in status.all("option")] == [
        "all", "failed", "pass", "differ", "new", "fault", "timeout", "error", "skip",
    ]  # fmt: skip
    assert [one.text for one in job.all("option")] == ["all", "other", "reduce", "broken"]
    assert len(form.all("label")) == 3

from __future__ import annotations

import dataclasses
import json
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gpuregress.escapes import one_line
from gpuregress.records import BufferVerdict, Missing, RunSummary
from gpuregress.report import html, json_report, junit, terminal
from tests.report.samples import DIFFERENT, summary, verdict

ROOT = Path("/p")


def closing(run: RunSummary, *, verbose: bool = False) -> str:
    return "\n".join(terminal.closing(run, root=ROOT, verbose=verbose))


def test_the_json_document_is_the_contracts() -> None:
    document = json.loads(json_report.render(summary()))
    assert (document["version"], document["run"], document["device"]) == (1, "20261120T020000Z-3f2a", "cpu")
    assert [case["verdict"] for case in document["cases"]] == [
        "pass",
        "differ",
        "new",
        "fault",
        "timeout",
        "error",
        "skip",
    ]
    (buffer,) = document["cases"][1]["buffers"]
    assert (buffer["differing"], buffer["of"], buffer["worst"]["index"]) == (3, 8, 5)
    assert document["cases"][3]["fault"]["kind"] == "trap"


def test_json_has_no_nan_that_other_readers_refuse() -> None:
    def refuse(name: str) -> Any:
        raise AssertionError(name)

    document = json.loads(json_report.render(summary()), parse_constant=refuse)
    numbers = document["cases"][1]["buffers"][0]["comparisons"][0]["numbers"]
    assert (numbers["max_abs"], numbers["rms"]) == ("inf", "nan")


def test_junit_counts_and_messages() -> None:
    root = ET.fromstring(junit.render(summary()))
    suites = {suite.get("name"): suite for suite in root.iter("testsuite")}
    assert set(suites) == {"reduce", "broken", "other"}
    reduce = suites["reduce"]
    assert (reduce.get("tests"), reduce.get("failures"), reduce.get("errors")) == ("5", "4", "0")
    assert suites["broken"].get("errors") == "1"
    assert suites["other"].get("skipped") == "1"
    differ = next(case for case in reduce.iter("testcase") if case.get("name") == "reduce/differ")
    failure = differ.find("failure")
    assert failure is not None
    assert failure.get("message") == "sum: 3 of 8 differ"
    assert "the tail from element 5 on" in (failure.text or "")
    assert differ.get("time") == "0.25"


@given(st.text(), st.text())
def test_junit_is_xml_whatever_the_texts_hold(name: str, reason: str) -> None:
    run = dataclasses.replace(summary(), verdicts=(verdict("fault", case=name, job=name, reason=reason),))
    ET.fromstring(junit.render(run))


@given(st.text(), st.text())
def test_html_escapes_whatever_the_texts_hold(name: str, reason: str) -> None:
    run = dataclasses.replace(summary(), verdicts=(verdict("fault", case=f"<script>{name}", reason=f"<b>{reason}"),))
    tags: set[str] = set()

    class Collector(HTMLParser):
        def handle_starttag(self, tag: str, attrs: object) -> None:
            tags.add(tag)

    Collector().feed(html.render(run))
    assert not tags & {"script", "b"}


def test_html_holds_every_case_and_nothing_from_elsewhere() -> None:
    page = html.render(summary())
    assert all(f"reduce/{status}" in page for status in ("pass", "differ", "new", "fault", "timeout"))
    assert "the tail from element 5 on" in page
    assert not re.search(r"(src|href)=|https?://", page)


def test_the_closing_report_tells_case_buffer_count_worst_finding_and_paths() -> None:
    text = closing(summary())
    assert re.search(
        r"^reduce/differ +sum +3 of 8 +\[5\]: 1\.5, was 1\.25 \(abs 0\.25, rel 0\.2, ulp 2097152\) +tail$",
        text,
        re.MULTILINE,
    )
    for part in (
        "changed since the baseline: seed 1 → 2",
        "looks like: the tail from element 5 on",
        "at block (1,0,0), thread (5,0,0)",
        "dump      runs/r/dumps/reduce/sum.1.5",
        "baseline  baselines/reduce/sum.1.4",
        "note: the baseline gone has no case any more",
        "7 cases in 1.50 s on cpu: 1 pass, 1 differ, 1 new, 1 fault, 1 timeout, 1 error, 1 skip",
        "to accept what differs: gpuregress accept --run 20261120T020000Z-3f2a reduce/differ",
        "to accept what is new: gpuregress accept --run 20261120T020000Z-3f2a reduce/new",
        "hello <&>",
    ):
        assert part in text


def test_a_reference_that_says_what_the_baseline_said_is_not_told_twice() -> None:
    def told(**changes: Any) -> list[str]:
        reference = dataclasses.replace(DIFFERENT, against="reference", **changes)
        both = BufferVerdict("sum", "differ", comparisons=(DIFFERENT, reference))
        return [line.strip() for line in terminal.details(verdict("differ", buffers=(both,)))]

    assert "sum (reference): the same as against the baseline" in told()
    assert sum("looks like" in line for line in told()) == 1
    assert "sum (reference): 2 of 8 differ" in told(differing=2)
    assert sum("looks like" in line for line in told(differing=2)) == 2


def test_many_new_cases_are_accepted_with_one_short_command() -> None:
    run = dataclasses.replace(summary(), verdicts=tuple(verdict("new", case=f"reduce/{n}") for n in range(20)))
    text = closing(run)
    assert "gpuregress accept --run 20261120T020000Z-3f2a --new-only" in text
    assert len(text.splitlines()) < 6


def test_many_differences_are_cut_and_the_cut_is_said() -> None:
    differ = summary().verdicts[1]
    run = dataclasses.replace(
        summary(), verdicts=tuple(dataclasses.replace(differ, case=f"reduce/{n}") for n in range(25))
    )
    assert "… and 15 more (15 of reduce), all in full in runs/20261120T020000Z-3f2a/report.txt" in closing(run)
    assert "… and" not in closing(run, verbose=True)
    assert terminal.full(run, root=ROOT).count("looks like: the tail") == 25


def test_where_many_differ_every_job_is_shown_before_more_of_one() -> None:
    differ = summary().verdicts[1]
    many = [dataclasses.replace(differ, case=f"reduce/{n}") for n in range(300)]
    last = dataclasses.replace(differ, job="scan", case="scan/n=7")
    text = closing(dataclasses.replace(summary(), verdicts=(*many, last)))
    assert "\ndiffer scan/n=7\n" in text
    assert "… and 261 more of reduce\n" in text
    assert len(text.splitlines()) < 200


def test_html_shows_what_is_wrong_first_with_its_elements() -> None:
    page = html.render(summary())
    assert "<h1>4 of 7 cases failed</h1>" in page
    wrong, every = page.index("What is wrong"), page.index("Every case")
    assert wrong < page.index("the tail from element 5 on") < every
    assert re.search(r"<td>worst</td><td>\[5\]</td><td>1.25</td><td>1.5</td>", page)
    assert "hello &lt;&amp;&gt;" in page


def test_one_screen_is_one_screen() -> None:
    run = dataclasses.replace(summary(), verdicts=tuple(verdict("fault", case=f"reduce/{n}") for n in range(500)))
    lines = list(terminal.one_screen(run, root=ROOT))
    assert len(lines) <= 40
    assert "500 fault" in lines[0]
    assert any("more" in line for line in lines)


@given(st.lists(st.tuples(st.text(max_size=8), st.text(max_size=8)), max_size=6))
def test_a_tables_columns_are_aligned(rows: list[tuple[str, str]]) -> None:
    lines = list(terminal.table(("first", "second"), rows))
    rows = [(one_line(left), one_line(right)) for left, right in rows]
    assert len(lines) == len(rows) + 1
    for (left, right), line in zip(rows, lines[1:], strict=True):
        width = max(len("first"), *(len(row[0]) for row in rows))
        assert line == f"{left:<{width}}  {right:<{max(6, *(len(row[1]) for row in rows))}}".rstrip()


_HOSTILE = "\x1b[31m\x9b\u202e\"'><script>alert(1)</script>"


def test_no_report_holds_a_control_character_or_a_tag_of_others() -> None:
    one = verdict("fault", case=_HOSTILE, reason=_HOSTILE, notes=(_HOSTILE,), changes=(_HOSTILE,), revision=_HOSTILE)
    run = dataclasses.replace(
        summary(), verdicts=(one,), notes=(_HOSTILE,), device=_HOSTILE, missing=(Missing(_HOSTILE, (_HOSTILE,)),)
    )
    reports = [html.render(run), junit.render(run), json_report.render(run), terminal.full(run, root=ROOT)]
    for text in reports:
        assert not set(text) & set("\x1b\x9b\u202e")
    assert "<script" not in reports[0]
    assert "<script" not in reports[1]

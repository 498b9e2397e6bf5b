"""Two runs side by side: what changed verdict, time and cost."""

from __future__ import annotations

from typing import Any

from gpuregress.foundation.records import (
    BufferVerdict,
    Comparison,
    LaunchTime,
    Missing,
    Observations,
    Outcome,
    Status,
    Verdict,
)
from gpuregress.gpu.records import replace
from gpuregress.report import html, json_report
from tests.report.html.parsed import Tag, tree
from tests.report.samples import summary, verdict


def case(name: str, status: Status, elapsed_ms: float = 1.0, instructions: int = 100, **changes: Any) -> Verdict:
    counted = replace(Observations().instruments, instructions={"k": instructions})
    outcome = Outcome(
        case=name,
        state="done",
        launches=(LaunchTime(1, "k", elapsed_ms),),
        observations=replace(Observations(), instruments=counted),
    )
    return replace(verdict(status, case=name), outcome=outcome, **changes)


def wrong(number: int) -> Comparison:
    return Comparison("o", "baseline", "", same=False, identical=False, of=8, differing=number)


def compared(first: tuple[Verdict, ...], second: tuple[Verdict, ...], missing: tuple[Missing, ...] = ()) -> Tag:
    runs = [replace(summary(), verdicts=first), replace(summary(), verdicts=second, missing=missing)]
    return tree(html.comparison_page(*(json_report.finite(json_report.document(run)) for run in runs)))


def rows(root: Tag, label: str) -> list[list[str]]:
    (table,) = [part for part in root.all("div") if part.attributes.get("aria-label") == label]
    return [[cell.text for cell in row.children if isinstance(cell, Tag)] for row in table.all("tr")[1:]]


def test_what_is_worse_comes_first_and_cases_of_one_run_are_named() -> None:
    root = compared(
        (case("a", "pass"), case("b", "differ"), case("c", "pass"), case("old", "pass"),
         case("e", "fault", reason="trap")),
        (case("a", "differ", reason="out: 3 of 8"), case("b", "pass"), case("c", "pass"), case("new", "pass"),
         case("e", "timeout", reason="killed")),
    )  # fmt: skip
    assert root.first("h1").text == (
        "6 cases: 1 fail now and did not before, 1 only in A, 1 fail in another way, 1 no longer fail, 1 only in B"
    )
    assert rows(root, "verdicts that changed") == [
        ["a", "pass", "differ", "fails now", "out: 3 of 8"],
        ["old", "pass", "—", "only in A", ""],
        ["e", "fault", "timeout", "fails in another way", "trap → killed"],
        ["b", "differ", "pass", "no longer fails", ""],
        ["new", "—", "pass", "only in B", ""],
    ]


def test_costs_and_times_are_those_of_right_results() -> None:
    root = compared(
        (case("a", "pass"), case("b", "pass"), case("wrong", "pass"), case("same", "pass")),
        (
            case("a", "pass", 2.0, 101),
            case("b", "pass", 0.5, 90),
            case("wrong", "differ", 0.1, 5),
            case("same", "pass"),
        ),
    )
    assert rows(root, "Instructions") == [["a", "100", "101", "1.01"], ["b", "100", "90", "0.9"]]
    assert rows(root, "Times") == [["a", "1 ms", "2 ms", "2"], ["b", "1 ms", "0.5 ms", "0.5"]]


def test_each_change_is_called_what_it_is() -> None:
    one, all_wrong = (BufferVerdict("o", "differ", comparisons=(wrong(number),)) for number in (1, 8))
    root = compared(
        (
            case("a", "pass"),
            case("b", "pass"),
            case("c", "differ", reason="o: 1 of 8", buffers=(one,)),
            case("d", "differ", cause="differ: factor", reason="1"),
            case("e", "new"),
            case("f", "fault", reason="trap"),
            case("same", "differ", reason="o: 1 of 8", buffers=(one,)),
            case("gone", "pass"),
        ),
        (
            case("a", "new"),
            case("b", "skip"),
            case("c", "differ", reason="o: 8 of 8", buffers=(all_wrong,)),
            case("d", "differ", cause="differ: tail", reason="2"),
            case("e", "pass"),
            case("f", "skip"),
            case("same", "differ", reason="o: 1 of 8", buffers=(one,)),
        ),
        missing=(Missing("gone", ("gone vanished",)),),
    )
    assert root.first("h1").text == (
        "8 cases: 1 fail now and did not before, 1 have no baseline now, 2 are skipped now, 1 fail in another way, "
        "1 fail in more or fewer elements, 1 pass now and were not judged before"
    )
    assert rows(root, "verdicts that changed") == [
        ["gone", "pass", "missing", "fails now", "gone vanished"],
        ["a", "pass", "new", "no baseline now", ""],
        ["b", "pass", "skip", "skipped now", ""],
        ["f", "fault", "skip", "skipped now", "trap"],
        ["d", "differ", "differ", "fails in another way", "1 → 2"],
        ["c", "differ", "differ", "fails in more or fewer elements", "o: 1 of 8 → o: 8 of 8"],
        ["e", "new", "pass", "passes now", ""],
    ]


def test_a_case_without_a_result_is_not_taken_for_one_that_was_not_planned() -> None:
    whole = replace(summary(), verdicts=(case("a", "pass"), case("b", "pass"), case("c", "pass")), exit_code=0)
    cut = replace(whole, verdicts=whole.verdicts[:1], unfinished=("b", "c"), state="cut short", exit_code=4)
    documents = [json_report.finite(json_report.document(run)) for run in (whole, cut)]
    root = tree(html.comparison_page(*documents))
    assert root.first("h1").text == "3 cases: 2 without a result in B"
    assert rows(root, "verdicts that changed") == [
        ["b", "pass", "no result", "no result in B", ""],
        ["c", "pass", "no result", "no result in B", ""],
    ]
    assert ["end", "finished, exit code 0", "cut short, exit code 4"] in rows(root, "facts of the two runs")
    assert tree(html.comparison_page(*documents[::-1])).first("h1").text == "3 cases: 2 without a result in A"


def test_a_failure_of_a_new_case_is_among_the_failures() -> None:
    root = compared((case("a", "pass"),), (case("a", "pass"), case("b", "fault", reason="trap"), case("c", "pass")))
    assert root.first("h1").text == "3 cases: 1 fail now and did not before, 1 only in B"
    assert rows(root, "verdicts that changed")[0] == ["b", "—", "fault", "fails now", "trap"]


def test_no_name_of_a_run_and_no_time_is_broken() -> None:
    root = compared((case("a", "pass"),), (case("a", "pass"),))
    unbroken = {part.text for part in root.all("span") if part.attributes.get("class") == "run"}
    assert unbroken == {"20261120T020000Z-3f2a", "2026-11-20T02:00:00Z"}
    root = tree(html.render(replace(summary(), notes=("see 20261119T020000Z-0001",))))
    unbroken = {part.text for part in root.all("span") if part.attributes.get("class") == "run"}
    assert unbroken == {"20261120T020000Z-3f2a", "2026-11-20T02:00:00Z", "20261119T020000Z-0001"}


def test_equal_runs_have_no_rows() -> None:
    root = compared((case("a", "pass"),), (case("a", "pass"),))
    assert root.first("h1").text == "1 case: no verdict changed"
    assert root.text.count("No change.") == 2

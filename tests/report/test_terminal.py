from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gpuregress.foundation.escapes import one_line
from gpuregress.foundation.records import (
    BufferVerdict,
    CostComparison,
    Element,
    Observations,
    Outcome,
    RunSummary,
    Verdict,
)
from gpuregress.gpu.records import replace
from gpuregress.judge import parameter_spaces
from gpuregress.report import case_lines, layout, terminal
from tests.report.samples import DIFFERENT, summary, verdict

ROOT = Path("/p")


def closing(run: RunSummary, *, verbose: bool = False) -> str:
    return "\n".join(terminal.closing(run, root=ROOT, verbose=verbose))


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
        reference = replace(DIFFERENT, against="reference", **changes)
        both = BufferVerdict("sum", "differ", comparisons=(DIFFERENT, reference))
        return [line.strip() for line in terminal.details(verdict("differ", buffers=(both,)))]

    assert "sum (reference): the same as against the baseline" in told()
    assert sum("looks like" in line for line in told()) == 1
    assert "sum (reference): 2 of 8 differ" in told(differing=2)
    assert sum("looks like" in line for line in told(differing=2)) == 2


def test_a_failed_comparison_that_knows_no_elements_counts_none() -> None:
    failed = replace(DIFFERENT, against="check", differing=0, worst=None, message="sums to 4.0, not 3")
    buffers = tuple(
        BufferVerdict(name, "differ", comparisons=(one,))
        for name, one in (("sum", failed), ("other", replace(failed, message="")))
    )
    run = replace(summary(), verdicts=(verdict("differ", buffers=buffers),))
    text = closing(run)
    assert re.search(r"^reduce/differ +sum +sums to 4\.0, not 3 +tail$", text, re.MULTILINE)
    assert "other (check): differs" in text
    assert "0 of 8" not in text


def test_no_command_accepts_the_results_of_another_schedule() -> None:
    ran = Outcome("reduce/new", "done", observations=Observations(schedule="reverse"))
    run = replace(summary(), verdicts=(verdict("new", outcome=ran),))
    assert not list(terminal.how_to_accept(run))


def test_greater_costs_can_be_accepted() -> None:
    costs = (CostComparison("sectors", "a.cu:5: 4 → 32 sectors for each request", fails=True),)
    run = replace(summary(), verdicts=(verdict("differ", costs=costs),))
    (line,) = terminal.how_to_accept(run)
    assert line.startswith("to accept what differs: gpuregress accept --run ")
    kept = replace(costs[0], fails=False)
    assert not list(terminal.how_to_accept(replace(run, verdicts=(verdict("differ", costs=(kept,)),))))


def test_many_new_cases_are_accepted_with_one_short_command() -> None:
    run = replace(summary(), verdicts=tuple(verdict("new", case=f"reduce/{n}") for n in range(20)))
    text = closing(run)
    assert "gpuregress accept --run 20261120T020000Z-3f2a --new-only" in text
    assert len(text.splitlines()) < 6


def test_many_differences_are_cut_and_the_cut_is_said() -> None:
    differ = summary().verdicts[1]
    run = replace(summary(), verdicts=tuple(replace(differ, case=f"reduce/{n}") for n in range(25)))
    assert "… and 15 more (15 of reduce), all in full in runs/20261120T020000Z-3f2a/report.txt" in closing(run)
    assert "… and" not in closing(run, verbose=True)
    assert terminal.full(run, root=ROOT).count("looks like: the tail") == 25


def test_where_many_differ_every_job_is_shown_before_more_of_one() -> None:
    differ = summary().verdicts[1]
    many = [replace(differ, case=f"reduce/{n}") for n in range(300)]
    last = replace(differ, job="scan", case="scan/n=7")
    text = closing(replace(summary(), verdicts=(*many, last)))
    assert "\ndiffer scan/n=7\n" in text
    assert "… and 261 more of reduce\n" in text
    assert len(text.splitlines()) < 200


@given(st.lists(st.tuples(st.text(max_size=8), st.text(max_size=8)), max_size=6))
def test_a_tables_columns_are_aligned(rows: list[tuple[str, str]]) -> None:
    lines = list(layout.table(("first", "second"), rows))
    rows = [(one_line(left), one_line(right)) for left, right in rows]
    assert len(lines) == len(rows) + 1
    for (left, right), line in zip(rows, lines[1:], strict=True):
        width = max(len("first"), *(len(row[0]) for row in rows))
        assert line == f"{left:<{width}}  {right:<{max(6, *(len(row[1]) for row in rows))}}".rstrip()


@given(
    st.lists(st.lists(st.text("ab -", min_size=1, max_size=60), min_size=3, max_size=3), min_size=1, max_size=4),
    st.integers(1, 120),
)
def test_a_table_is_fitted_to_the_terminal_and_breaks_no_word(rows: list[list[str]], width: int) -> None:
    """Every word of the columns that are left is there as a whole; a line is too long for one long word alone."""
    lines = list(layout.table(("one", "two", "three"), rows, width, ("two",)))
    words = " ".join(lines).split()
    for row in rows:
        for cell in (row[0], row[2]):
            assert set(cell.split()) <= set(words)
    for line in lines:
        assert len(line) <= width or len(line.split()) == 1
    if "two" in words:
        assert set(" ".join(row[1] for row in rows).split()) <= set(words)


def test_the_table_of_a_run_fits_80_columns() -> None:
    differ = replace(summary().verdicts[1], case="reduce/n=65536,tile=128,type=double")
    run = replace(summary(), verdicts=(differ,))
    head, *rows = [line for line in terminal.closing(run, root=ROOT, width=80) if line][:2]
    assert head.split() == ["case", "buffer", "differing", "looks", "like"]
    assert max(map(len, (head, *rows))) <= 80
    assert differ.case in rows[0]


def space(failing: dict[str, Any], *, count: int = 4) -> RunSummary:
    """A run of a job `conv` whose cases with the largest tile fail, and of one case of `reduce` that differs."""

    def case(tile: int, block: int) -> Verdict:
        changes = failing if tile == 8 else {"status": "pass"}
        made = verdict("differ", job="conv", case=f"conv/tile={tile},block={block}")
        return replace(made, parameters={"tile": tile, "block": block}, **changes)

    verdicts = [case(tile, block) for tile in (2, 4, 8) for block in range(count)]
    other = verdict("differ", buffers=(BufferVerdict("sum", "differ", comparisons=(DIFFERENT,)),))
    every = (*verdicts, other)
    return replace(summary(), verdicts=every, spaces=parameter_spaces.summarize(every))


DIFFERS = {"buffers": (BufferVerdict("sum", "differ", comparisons=(DIFFERENT,)),)}


def test_of_many_failures_the_simplest_is_shown_in_full_after_the_values_that_they_share() -> None:
    text = closing(space(DIFFERS))
    assert "\nconv: every failing case has tile = 8\n  4 cases; the one with the smallest" in text
    assert "\ndiffer conv/tile=8,block=0\n" in text
    assert "\ndiffer conv/tile=8,block=1\n" not in text
    assert "\ndiffer reduce/differ\n" in text
    assert "… and 3 more (3 of conv), all in full in runs/20261120T020000Z-3f2a/report.txt" in text
    assert sum(line.startswith("conv/tile=8") for line in text.splitlines()) == 4  # a line each, in the table


def test_values_that_only_one_way_of_failing_shares_are_told_of_that_one() -> None:
    run = space(DIFFERS)
    fault = verdict("fault", job="conv", case="conv/tile=2,block=3")
    trapped = replace(fault, parameters={"tile": 2, "block": 3}, exit_code=3)
    cases = [trapped if one.case == trapped.case else one for one in run.verdicts]
    text = closing(replace(run, verdicts=tuple(cases), spaces=parameter_spaces.summarize(cases)))
    assert "\nconv, differ: every failing case has tile = 8\n" in text


def test_all_is_shown_in_full_to_who_asks_and_where_there_are_few() -> None:
    assert closing(space(DIFFERS), verbose=True).count("\ndiffer conv/") == 4
    assert closing(space(DIFFERS, count=3)).count("\ndiffer conv/") == 3
    assert "every failing case" not in closing(space(DIFFERS, count=3))


def test_an_element_of_a_twin_is_no_older_value() -> None:
    element = Element(5, "", "1.25", "1.5")
    assert case_lines.element_text(element, "twin") == "[5]: 1.5, in the twin 1.25"
    assert case_lines.element_text(element) == "[5]: 1.5, was 1.25"


def test_what_a_check_found_has_no_other_value() -> None:
    element = Element(5, "", "", "1.5")
    assert [case_lines.element_text(element, side) for side in ("check", "seeds")] == ["[5]: 1.5", "[5]: 1.5"]


def test_infeasible_cases_are_counted_in_one_line_with_their_reasons() -> None:
    reasons = ["block: 64 x 32 has 2048 threads", "block: 64 x 64 has 4096 threads", "k.cu:1: static assertion failed"]
    skipped = [
        Verdict("conv", f"conv/{at}", "skip", f"infeasible: {reason}", infeasible=True)
        for at, reason in enumerate(reasons)
    ]
    run = RunSummary("r", "/runs/r", "cpu", "", 1.0, (*skipped, Verdict("conv", "conv/ok", "pass")))
    kinds = "2: block: 64 x 32 has 2048 threads; 1: k.cu:1: static assertion failed"
    line = f"infeasible: 3 of 4 cases were skipped ({kinds})"
    assert list(terminal.infeasible(run)) == [line]
    assert list(terminal.infeasible(replace(run, verdicts=run.verdicts[3:]))) == []

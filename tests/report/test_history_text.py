"""Tables and CSV of the history."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.foundation.records import STATUSES, PastResult, PastRun, ShortResult
from gpuregress.gpu.records import replace
from gpuregress.report import history_text

RESULT = PastResult("R1", "nightly", "2026-11-20T02:00:00Z", "cpu", "j/n=2", "differ", "y: 1 of 2 differ", "3f2a", 0.5)
RUN = PastRun("R1", "run", "2026-11-20T02:00:00Z", "cpu", 1.234, 1, interrupted=False, counts={"differ": 1, "pass": 2})


def test_runs_have_a_commit_and_a_host_where_they_tell_them_apart() -> None:
    assert list(history_text.run_table([RUN], None)) == [
        "run  kind  device  seconds  exit  cases",
        "R1   run   cpu     1.23     1     2 pass, 1 differ",
    ]
    other = replace(RUN, host="ci", commit="8eb0c1f" + "0" * 33, dirty=True)
    lines = list(history_text.run_table([RUN, other], None))
    assert lines[0].split() == ["run", "kind", "device", "seconds", "exit", "host", "commit", "cases"]
    assert "ci    8eb0c1f+  2 pass" in lines[2]


def test_trends_fit_the_terminal() -> None:
    short = ShortResult("j/n=2", "cpu", "differ", "3f2a", 0.5)
    trends = [("j/n=2", "cpu", "", dict.fromkeys(range(60), short)), ("j/n=10", "cpu", "", {3: short})]
    (head, first, second) = history_text.trend_table(trends, 60, None)
    assert head.split() == ["case", "verdicts", "seconds", "median", "revision"]
    assert first == f"j/n=2   [{'d' * 60}]  0.500    0.500   3f2a"
    assert second == f"j/n=10  [{' ' * 56}d   ]  0.500    0.500   3f2a"
    for width in (100, 80, 60, 40):
        lines = list(history_text.trend_table(trends, 60, width))
        assert max(map(len, lines)) <= width
        assert lines[1].startswith("j/n=2   [")
    assert "…ddd" in lines[1]


def test_devices_are_named_where_there_are_several() -> None:
    short = ShortResult("a", "cpu", "pass", "3f2a", 0.5)
    lines = list(history_text.trend_table([("a", "cpu", "", {0: short}), ("a", "cuda", "", {0: short})], 1, None))
    assert lines[2].split()[:3] == ["a", "cuda", "[.]"]


def test_hosts_are_named_where_runs_were_imported() -> None:
    short = ShortResult("a", "cpu", "pass", "3f2a", 0.5)
    lines = list(history_text.trend_table([("a", "cpu", "", {0: short}), ("a", "cpu", "ci", {1: short})], 2, None))
    assert lines[2].split()[:3] == ["a", "ci", "[."]
    failing = [(RESULT, RUN, 1), (replace(RESULT, host="ci"), RUN, 2)]
    assert list(history_text.failing_table(failing, None))[2].split()[:3] == ["j/n=2", "ci", "differ"]


def test_results_of_a_case() -> None:
    near = replace(RESULT, run="R2", tolerance_share=0.93, commit="8eb0c1f99", verdict="pass", reason="")
    assert list(history_text.result_table([RESULT, near], None)) == [
        "run  verdict  seconds  tolerance  commit   revision  reason",
        "R1   differ   0.500                        3f2a      y: 1 of 2 differ",
        "R2   pass     0.500    93 %       8eb0c1f  3f2a",
    ]
    assert list(history_text.result_table([RESULT], 40))[1:] == ["R1   differ   0.500    y: 1 of 2 differ"]


def test_a_narrow_terminal_breaks_no_name_of_a_run() -> None:
    run = replace(RUN, run="20261120T020000Z-3f2a", commit="8eb0c1f99", counts=dict.fromkeys(STATUSES, 1000))
    lines = list(history_text.run_table([run, replace(run, host="build7")], 80))
    assert max(map(len, lines)) <= 80
    assert "\n".join(lines).count(run.run) == 2
    for status in STATUSES:
        assert " ".join(" ".join(lines).split()).count(f"1000 {status}") == 2


def test_failing_cases() -> None:
    since = replace(RUN, commit="8eb0c1f99")
    assert list(history_text.failing_table([(RESULT, since, 3)], None)) == [
        "case   verdict  since       commit   runs  reason",
        "j/n=2  differ   2026-11-20  8eb0c1f  3     y: 1 of 2 differ",
    ]


def test_a_line_of_csv_has_all_columns() -> None:
    full = replace(
        RESULT, reason='a "b", c\nd', samples=(0.1, 0.25), dirty=True, tolerance_share=0.5, max_rel=float("inf")
    )
    line = history_text.csv_line(history_text.csv_values(full))
    assert "\n" not in line
    (read,) = csv.DictReader(io.StringIO(f"{history_text.csv_line(history_text.CSV_COLUMNS)}\n{line}\n"))
    assert (read["case"], read["dirty"], read["samples"]) == ("j/n=2", "true", "0.1;0.25")
    assert (read["tolerance_share"], read["max_rel"], read["registers"]) == ("0.5", "inf", "")
    assert read["reason"] == r'a "b", c\x0ad'


def test_every_fact_has_a_column() -> None:
    assert {*history_text.CSV_COLUMNS, "imported"} == set(PastResult.__struct_fields__)


@given(st.lists(st.text(alphabet=st.characters(exclude_characters="\r\n\x00")), min_size=2))
def test_any_text_survives_csv(values: list[str]) -> None:
    assert next(csv.reader([history_text.csv_line(values)])) == values


def test_json_has_all_that_is_known() -> None:
    row = history_text.result_row(replace(RESULT, samples=(0.1000000014,)))
    assert (row["case"], row["samples"], row["commit"]) == ("j/n=2", [0.1], "")
    assert history_text.run_row(RUN)["cases"] == "2 pass, 1 differ"
    assert history_text.run_row(RUN)["seconds"] == pytest.approx(1.23)

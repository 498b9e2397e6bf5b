"""The trend of a case: in words, as marks, as a chart of times."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree as ET

import pytest

from gpuregress.foundation.records import NightPoint, PastResult, PastRun
from gpuregress.gpu.records import replace
from gpuregress.report.html import nights_page, trend
from tests.report.html.parsed import tree


def one(day: int, verdict: str, seconds: float = 0.5, revision: str = "1.1", **others: Any) -> PastResult:
    started = f"2026-11-{day:02}T02:00:00Z"
    return PastResult(str(day), "nightly", started, "cpu", "line/n=1", verdict, "", revision, seconds, **others)


def past(*verdicts: str, **values: Any) -> list[PastResult]:
    """The newest first."""
    return [one(day, verdict, **values) for day, verdict in enumerate(verdicts, 1)][::-1]


def test_a_trend_in_words_says_since_when() -> None:
    runs = [one(20, "differ", commit="8eb0c1fabc"), *past("pass", "pass", "differ", "pass")]
    assert (
        trend.in_words(runs)
        == "last 5 runs: 2 pass, then 1 differ, then 1 pass, then 1 differ (since 2026-11-20, 8eb0c1f)"
    )
    assert trend.in_words(past("pass", "pass")) == "last 2 runs: 2 pass"
    changed = [one(20, "differ", commit="8eb0c1fabc", dirty=True), *past("pass")]
    assert trend.in_words(changed).endswith("(since 2026-11-20, 8eb0c1f+)")


def test_marks_differ_in_shape_and_this_run_is_marked() -> None:
    root = ET.fromstring(trend.strip(past("pass", "differ", "skip"), "3"))
    assert [mark.get("class") for mark in root.iter("rect")] == ["ok", "bad", "other"]
    assert len({(mark.get("y"), mark.get("height")) for mark in root.iter("rect")}) == 3
    assert [path.get("class") for path in root.iter("path")] == ["here"]
    assert root.findtext("svg/title") == trend.in_words(past("pass", "differ", "skip"))


def test_a_first_run_has_no_trend_and_two_no_chart() -> None:
    assert not trend.strip(past("pass"), "1")
    assert not trend.charts(past("pass", "pass"), "case")


def test_a_chart_goes_from_zero_and_names_the_revisions() -> None:
    runs = [one(4, "differ", 2.0, "1.2"), *past("pass", "pass", "pass", seconds=0.5)]
    root = ET.fromstring(trend.charts(runs, "line/n=1"))
    points = [(float(str(mark.get("cx"))), float(str(mark.get("cy")))) for mark in root.iter("circle")]
    assert [x for x, _ in points] == sorted(x for x, _ in points)
    assert [y for _, y in points] == [69.0, 69.0, 69.0, 6.0]  # 0.5 of 2 s is a quarter of the height
    texts = [text.text for text in root.iter("text")]
    assert {"2 s", "0 s", "1.1", "1.2", "2026-11-01", "2026-11-04"} <= set(texts)
    assert len([path for path in root.iter("path") if path.get("class") == "bad"]) == 1


def test_times_of_launches_are_drawn_where_all_runs_have_them() -> None:
    runs = past("pass", "pass", "pass", seconds=1.0, launch_seconds=2e-6)
    assert "time of the launches" in "".join(ET.fromstring(trend.charts(runs, "c")).itertext())
    some = [one(9, "pass"), *runs]
    assert "time of the case" in "".join(ET.fromstring(trend.charts(some, "c")).itertext())


def test_counted_instructions_have_a_chart_of_their_own() -> None:
    runs = [replace(run, instructions=2000 + number) for number, run in enumerate(past("pass", "pass", "pass"))]
    root = ET.fromstring(f"<div>{trend.charts(runs, 'line/n=1')}</div>")
    assert [summary.text for summary in root.iter("summary")] == ["Times over runs", "Instructions over runs"]
    assert "2 k" in [text.text for text in root.iter("text")]


@pytest.mark.parametrize(
    ("counts", "exit_code", "others", "headline"),
    [
        ({"pass": 3}, 0, {}, "1 night on cpu"),
        ({"differ": 1, "new": 2}, 1, {}, "has 3 failures, 2 of them without a baseline"),
        ({"pass": 1}, 1, {"missing": 2}, "has 2 failures"),
        ({"differ": 2}, 1, {"quarantined": 1}, "has 1 failure"),
        ({"pass": 3}, 1, {}, "has no failing case and ended with exit code 1"),
    ],
)
def test_the_headline_and_the_bars_count_what_fails_a_night(
    counts: dict[str, int], exit_code: int, others: dict[str, Any], headline: str
) -> None:
    night = PastRun("1", "nightly", "2026-11-01T02:00:00Z", "cpu", 1.0, exit_code, interrupted=False, counts=counts)
    root = tree(nights_page("p", {"cpu": (NightPoint(night, **others),)}))
    assert root.first("h1").text.endswith(headline)
    (bars,) = [figure for figure in root.all("figure") if figure.first("figcaption").text == "failures"]
    number = headline.partition("has ")[2][:1]
    assert bars.first("g").first("title").text.startswith(f"2026-11-01: {number if number.isdigit() else 0},")

from __future__ import annotations

from typing import Any

from gpuregress.foundation.records import Status
from gpuregress.report.html import timings
from gpuregress.report.html.cards import RunFacts
from tests.report.html import samples
from tests.report.html.drawing.test_trend import past
from tests.report.html.parsed import Tag, tree
from tests.report.samples import verdict


def timed(case: str, status: str, ratio: float, reached: Status = "pass") -> dict[str, Any]:
    comparison = {"status": status, "measure": "time", "message": f"<{ratio} times>", "ratio": ratio}
    return {**samples.entry(verdict(reached, case=case)), "timing_comparison": comparison}


def shown(cases: list[dict[str, Any]], **document: Any) -> Tag:
    facts = RunFacts({"run": "3", **document}, lambda _case, _device: past("pass", "pass", "pass"))
    return tree("".join(timings.section(cases, facts)))


def test_the_slowest_case_comes_first_with_its_chart() -> None:
    root = shown(
        [timed("a", "faster", 0.5), timed("b", "same", 1.0), timed("c", "slower", 1.2), timed("d", "slower", 3)]
    )
    assert "differ time: faster, " in shown([timed("a", "faster", 0.5, "differ")]).text
    assert "4 cases compared with the accepted times or instruction counts: 2 slower, 1 faster, 1 same" in root.text
    lines = [one.first("summary").text for one in root.all("details") if one.first("summary").all("code")]
    assert [line.split()[0] for line in lines] == ["d", "c", "a"]
    assert "<3 times>" in lines[0]
    assert len(root.all("circle")) == 9


def test_the_rate_of_false_alarms() -> None:
    text = shown([], false_alarms={"compared": 40, "cases": ["a", "b"]}).text
    assert "2 of 40 would be false alarms, 5 % (a, b)" in text


def test_nothing_where_nothing_was_compared() -> None:
    assert not shown([samples.entry(verdict("pass"))]).children


def test_of_many_thirty_are_shown() -> None:
    root = shown([timed(f"c{n}", "slower", 2.0) for n in range(50)])
    assert "20 more are in results.json" in root.text

from __future__ import annotations

from gpuregress.report.html.drawing import histogram
from tests.report.html.parsed import tree


def test_each_range_has_a_bar_as_long_as_its_count() -> None:
    root = tree("".join(histogram.table([("1", 10), ("3-4", 5), ("2097153-4194304", 1)], 100)))
    rows = [[cell.text for cell in row.children if not isinstance(cell, str)] for row in root.all("tr")][1:]
    assert rows == [["1", "10", "", "10 %"], ["3-4", "5", "", "5 %"], ["2^21-2^22", "1", "", "1 %"]]
    assert [bar.attributes["width"] for bar in root.all("rect")] == ["120.0", "60.0", "12.0"]
    assert [head.attributes["scope"] for head in root.all("th")] == ["col"] * 4 + ["row"] * 3


def test_nothing_without_errors_in_ulp() -> None:
    assert not list(histogram.table((), 10))

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree as ET

from gpuregress.report.html import parameter_grid

GRID: dict[str, Any] = {
    "x": "tile<x>",
    "y": "pad",
    "x_values": [4, 8],
    "y_values": [False, True],
    "rows": [[{"pass": 2}, {"pass": 1, "differ": 1, "skip": 3}], [{}, {"fault": 2}]],
}


def test_each_cell_has_its_verdicts_in_words_and_the_colour_of_the_most_severe() -> None:
    root = ET.fromstring("".join(parameter_grid.table(GRID)))
    cells = [list(row.iter("td")) for row in root.iter("tr")][2:]
    assert [[cell.text for cell in row] for row in cells] == [["2 pass", "1 differ, 1 pass, 3 skip"], ["—", "2 fault"]]
    assert [[cell.get("class") for cell in row] for row in cells] == [["pass", "differ"], [None, "fault"]]


def test_rows_and_columns_have_headers_for_screen_readers() -> None:
    root = ET.fromstring("".join(parameter_grid.table(GRID)))
    heads = [(head.text, head.get("scope")) for head in root.iter("th")]
    assert heads == [
        ("tile<x>", "colgroup"),
        ("pad", "col"),
        ("4", "col"),
        ("8", "col"),
        ("false", "row"),
        ("true", "row"),
    ]

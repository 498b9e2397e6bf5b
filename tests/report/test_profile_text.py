"""Profile as text."""

from __future__ import annotations

from pathlib import Path

from gpuregress.report import cost_report
from tests.report.test_cost_report import costs


def test_each_line_has_its_columns(tmp_path: Path) -> None:
    path = tmp_path / "k.cu"
    path.write_text("a\n  x = y[i];\n")
    lines = list(cost_report.profile("k/n=1", costs(str(path)), tmp_path))
    assert lines[0] == "k/n=1"
    assert lines[-3:] == [
        "k.cu",
        "line  instructions  lanes  requests  sectors each  bank conflicts  divergent  source",
        "   2            10   16.0         4           8.5               3     1 of 5    x = y[i];",
    ]

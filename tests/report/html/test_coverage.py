"""Coverage in the page: sources with counts."""

from __future__ import annotations

from pathlib import Path

from gpuregress.foundation.records import Coverage, FileCoverage, to_json
from gpuregress.report.html import coverage


def test_lines_have_counts_or_no_code(tmp_path: Path) -> None:
    path = tmp_path / "k.cu"
    path.write_text("int a<1>;\n\nx();\ny();\n")
    seen = Coverage((FileCoverage(str(path), ((3, 1234), (4, 0))),))
    text = "\n".join(coverage.section([{"coverage": to_json(seen)}, {}]))
    assert "int a&lt;1&gt;;" in text
    assert "<td>no code</td>" in text
    assert "<td>1,234</td>" in text
    assert "never executed" in text


def test_a_run_without_counts_has_no_section() -> None:
    assert list(coverage.section([{}])) == []

"""The text of an audit."""

from __future__ import annotations

from gpuregress.gpu.records import replace
from gpuregress.report import audit_report
from tests.report.audits import samples


def test_evidence_then_what_was_not_examined_then_the_grades() -> None:
    lines = list(audit_report.lines(samples.report()))
    assert lines[0] == "What no test would notice"
    assert lines[1:5] == [
        "  sum: mutants: no case noticed: boundary in k.cu:3: `i < n`",
        "      @@ -3 +3 @@",
        "      -a",
        "      +<b>",
    ]
    assert "  sum: mutants: 2 more, in --html and --json" in lines
    assert lines[lines.index("What is proven") + 1] == "  sum: cases: 2 cases pass"
    left = lines.index("Not examined")
    assert lines[left + 1 : left + 4] == [
        "  max: cases: needs a GPU",
        "  sum: mutants: 40 of 212 mutants tried: the budget did not allow more",
        "  max: mutants: needs a GPU",
    ]
    assert lines[-6:] == [
        "grade  job  cases     mutants   points",
        "B      sum  60 of 60  20 of 40  80 of 100",
        "-      max  -         -         0 of 0     needs a GPU",
        "",
        "note: a note",
        "2 jobs: no grade (not all of them could be examined) in 12.5 s of 600 s",
    ]


def test_an_interrupted_audit_says_so() -> None:
    report = replace(samples.report(), grade="B", interrupted=True)
    assert audit_report.headline(report) == "interrupted: 2 jobs: grade B in 12.5 s of 600 s"

from __future__ import annotations

from gpuregress.foundation.records import BufferVerdict, Comparison, Element, Verdict
from gpuregress.report import diff_screen


def lines(comparison: Comparison) -> list[str]:
    buffer = BufferVerdict("x", "differ", "/p/x.2", "/p/x.1", (comparison,))
    verdict = Verdict("j", "j/n=1", "differ", "", "2", "1", buffers=(buffer,))
    return ["".join(text for text, _ in line) for line in diff_screen.screen(verdict)]


def test_an_equal_buffer_takes_one_line() -> None:
    equal = Comparison("x", "baseline", "exact", same=True, identical=True, of=8)
    assert lines(equal) == ["x: every bit of 8 elements the same"]


def test_values_that_only_moved_are_told_from_other_values() -> None:
    moved = Comparison(
        "x", "baseline", "exact", same=False, identical=False, of=8, differing=2, changed=2, multiset_same=True
    )
    shown = lines(moved)
    assert "  in order   the bits of 2 of 8 differ" in shown
    assert "  any order  the same values, in other places" in shown


def test_the_first_elements_stand_side_by_side_under_their_revisions() -> None:
    first = tuple(Element(number, "", "1", "2", 1.0, 1.0, None) for number in range(10))
    shown = lines(Comparison("x", "baseline", "exact", same=False, identical=False, of=20, differing=12, first=first))
    head = next(number for number, line in enumerate(shown) if line.split()[:3] == ["element", "1", "2"])
    assert shown[head + 1].split() == ["[0]", "1", "2", "1", "1"]
    assert shown[head + 9] == "  … and 4 more"
    assert shown[-2:] == ["  before     /p/x.1", "  after      /p/x.2"]

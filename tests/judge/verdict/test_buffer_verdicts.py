"""The status that the buffers of a case give it."""

from __future__ import annotations

import pytest

from gpuregress.foundation.records import Buffer, Comparison
from gpuregress.judge.verdict import decide
from tests.judge.verdict.samples import against, done, make_baseline, make_case, text


def test_differ_names_the_first_and_counts_the_rest() -> None:
    actual = {"sum": [against(), against("check", same=False, message="not finite")], "hist": [against(same=False)]}
    verdict = decide(make_case(dump=("sum", "hist")), done(), make_baseline("sum", "hist"), actual)
    assert text(verdict) == ("differ", "sum: check: not finite; and 1 more", 1)


@pytest.mark.parametrize(
    ("comparisons", "status"),
    [
        ([], "new"),
        ([against("check")], "new"),
        ([against("repeat")], "new"),
        ([against("check", same=False)], "differ"),
        ([against("repeat", same=False)], "differ"),
        ([against("reference")], "pass"),
        ([against("verify")], "pass"),
        ([against("reference"), against("check", same=False)], "differ"),
    ],
)
def test_without_a_baseline(comparisons: list[Comparison], status: str) -> None:
    verdict = decide(make_case(), done(), None, {"sum": comparisons})
    assert verdict.status == status
    assert verdict.exit_code == (0 if status == "pass" else 1)


def test_a_buffer_that_the_baseline_lacks_is_new() -> None:
    verdict = decide(make_case(dump=("sum", "hist")), done(), make_baseline(), {"sum": [against()]})
    assert text(verdict) == ("new", "hist: no baseline yet; sum: as its baseline", 1)


def test_what_is_new_hides_no_reference_that_passed() -> None:
    buffers = {"sum": [against("reference")], "hist": [against("check")], "low": [against("verify")]}
    verdict = decide(make_case(dump=("sum", "hist", "low")), done(), None, buffers)
    assert text(verdict) == ("new", "hist: no baseline yet; sum: as its reference; low: as verify", 1)
    assert text(decide(make_case(), done(), None, {})) == ("new", "no baseline yet", 1)


def test_nothing_dumped_never_passes() -> None:
    buffers = {"sum": Buffer("sum", "float32", (8,))}
    assert decide(make_case(dump=(), buffers=buffers), done(), None, {}).status == "new"
    # Without any buffer, what remains is that the launches end.
    assert decide(make_case(dump=()), done(), None, {}).status == "pass"


def test_an_accepted_buffer_that_is_not_dumped_differs() -> None:
    verdict = decide(make_case(), done(), make_baseline("sum", "old"), {"sum": [against()]})
    assert text(verdict) == ("differ", "old: its baseline is there, and the job no longer dumps it", 1)
    assert [(buffer.name, buffer.status, buffer.baseline) for buffer in verdict.buffers] == [
        ("old", "differ", "/b/old.1.4"),
        ("sum", "pass", "/b/sum.1.4"),
    ]

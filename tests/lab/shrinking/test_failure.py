from __future__ import annotations

from gpuregress.foundation.records import BufferVerdict, Comparison, Fault, Outcome, Verdict
from gpuregress.gpu.records import replace
from gpuregress.lab.shrinking import failure
from gpuregress.lab.shrinking.failure import Failure
from tests import fakes

CASE = fakes.case("double", "fault")


def faulted(kind: str, message: str, position: int | None = 1) -> Verdict:
    outcome = Outcome(CASE.name, "fault", Fault(kind, message, position=position))
    return Verdict("fake", CASE.name, "fault", f"{kind}: {message}", outcome=outcome)


def compared(*failing: tuple[str, str]) -> Verdict:
    buffers = tuple(
        BufferVerdict(name, "differ", comparisons=(Comparison(name, against, "", same=False, identical=False, of=1),))
        for name, against in failing
    )
    return Verdict("fake", CASE.name, "differ", "out: 1 of 1 differ", buffers=buffers)


def test_what_is_no_failure() -> None:
    assert failure.of(CASE, None) is None
    for status in ("pass", "new", "error", "skip"):
        assert failure.of(CASE, replace(compared(), status=status)) is None


def test_a_fault_is_of_a_kind_in_a_kernel_at_a_buffer() -> None:
    one = failure.of(CASE, faulted("out-of-bounds", "write to out[8]"))
    assert one == Failure(
        "fault", "out-of-bounds", "fault", frozenset({"out"}), message="out-of-bounds: write to out[8]"
    )
    assert one.is_same(failure.of(CASE, faulted("out-of-bounds", "write to out[3]")))
    assert not one.is_same(failure.of(CASE, faulted("out-of-bounds", "write to x[3]")))
    assert not one.is_same(failure.of(CASE, faulted("out-of-bounds", "write to out[3]", position=0)))
    assert not one.is_same(failure.of(CASE, faulted("misaligned", "write to out[3]")))
    assert not one.is_same(failure.of(CASE, compared(("out", "reference"))))
    assert not one.is_same(None)
    assert one.without_baseline() == one


def test_a_difference_is_of_a_buffer_against_something() -> None:
    one = failure.of(CASE, compared(("out", "reference"), ("x", "check")))
    assert one is not None
    assert one.is_same(failure.of(CASE, compared(("x", "check"), ("out", "reference"))))
    assert not one.is_same(failure.of(CASE, compared(("x", "check"))))
    assert not one.is_same(failure.of(CASE, compared(("out", "baseline"))))


def test_without_the_baseline_the_other_comparisons_are_left() -> None:
    one = failure.of(CASE, compared(("out", "baseline"), ("x", "check")))
    assert one is not None
    left = one.without_baseline()
    assert left is not None
    assert left.sides == (("x", "check"),)
    only = failure.of(CASE, compared(("out", "baseline"), ("out", "first"), ("out", "agree")))
    assert only is not None
    assert only.without_baseline() is None

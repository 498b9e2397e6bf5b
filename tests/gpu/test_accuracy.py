"""Accuracy records: what of a buffer has an error."""

from __future__ import annotations

from gpuregress.foundation.records import BufferAccuracy


def test_elements_that_are_not_finite_are_not_compared() -> None:
    assert BufferAccuracy("out", "float32", "float64", 9, 8, not_finite=1, never_finite=2).compared == 5

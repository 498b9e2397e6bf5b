"""Comparison of two buffers under a rule: arrays in, `records.Comparison` out; reads no file.

Modules that need numpy are loaded on first use: buffers of the same digest are compared without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpuregress.judge.compare.comparison_request import ComparisonRequest
from gpuregress.judge.compare.metadata import identical, is_in_order, mismatch, needs_all, needs_array_when_identical

if TYPE_CHECKING:
    from gpuregress.judge.compare.comparators import compare
    from gpuregress.judge.compare.in_order import InOrder

__all__ = [
    "ComparisonRequest",
    "InOrder",
    "compare",
    "identical",
    "is_in_order",
    "mismatch",
    "needs_all",
    "needs_array_when_identical",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from gpuregress.judge.compare import comparators, in_order  # noqa: PLC0415 - see above

    return getattr(in_order if name == "InOrder" else comparators, name)

"""Whether two buffers are the same under a rule: arrays in, `records.Comparison` out; prints nothing, reads no file.

What needs numpy is loaded when it is first used: where two digests are the same, nothing of it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpuregress.compare.request import Request
from gpuregress.compare.sameness import identical, is_in_order, mismatch, needs_all, needs_array_when_identical
from gpuregress.compare.validate import validate_rule, validate_sample

if TYPE_CHECKING:
    from gpuregress.compare.entry import WAYS, compare
    from gpuregress.compare.indexed import InOrder

__all__ = [
    "WAYS",
    "InOrder",
    "Request",
    "compare",
    "identical",
    "is_in_order",
    "mismatch",
    "needs_all",
    "needs_array_when_identical",
    "validate_rule",
    "validate_sample",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from gpuregress.compare import entry, indexed  # noqa: PLC0415 - see above

    return getattr(indexed if name == "InOrder" else entry, name)

"""Whether two buffers are the same under a rule: arrays in, `records.Comparison` out; prints nothing, reads no file."""

from gpuregress.compare.entry import (
    WAYS,
    breaks,
    compare,
    compare_sparse,
    identical,
    mismatch,
    needs_all,
    needs_array_when_identical,
)
from gpuregress.compare.request import Request
from gpuregress.compare.validate import validate_rule, validate_sample

__all__ = [
    "WAYS",
    "Request",
    "breaks",
    "compare",
    "compare_sparse",
    "identical",
    "mismatch",
    "needs_all",
    "needs_array_when_identical",
    "validate_rule",
    "validate_sample",
]

# $Revision: 1.1 $
"""Softmax of the rows of a matrix, one program for each row."""

import triton
import triton.language as tl


@triton.jit
def softmax(out, x, columns, stride, BLOCK: tl.constexpr):
    """Keep a whole row in registers: BLOCK is at least its length."""
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    mask = at < columns
    values = tl.load(x + row * stride + at, mask=mask, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * stride + at, powers / tl.sum(powers, axis=0), mask=mask)

# $Revision: 1.1 $
"""Sum of two vectors."""

import triton
import triton.language as tl


@triton.jit
def vector_add(out, a, b, n, BLOCK: tl.constexpr):
    """Add BLOCK elements in each program."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(out + at, tl.load(a + at, mask=mask) + tl.load(b + at, mask=mask), mask=mask)

# $Revision: 1.1 $
"""Layer normalisation of the rows of a matrix: zero mean, unit variance, then scale and shift."""

import triton
import triton.language as tl


@triton.jit
def layer_norm(out, mean_out, rstd_out, x, weight, bias, columns, eps, BLOCK: tl.constexpr):
    """Read a row in pieces of BLOCK elements, three times: mean, variance, result."""
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x + row * columns + at, mask=at < columns, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / columns
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        values = tl.load(x + row * columns + at, mask=at < columns, other=0.0).to(tl.float32)
        centred = tl.where(at < columns, values - mean, 0.0)
        squares += centred * centred
    rstd = 1 / tl.sqrt(tl.sum(squares, axis=0) / columns + eps)
    tl.store(mean_out + row, mean)
    tl.store(rstd_out + row, rstd)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        mask = at < columns
        values = tl.load(x + row * columns + at, mask=mask, other=0.0).to(tl.float32)
        scaled = (values - mean) * rstd * tl.load(weight + at, mask=mask) + tl.load(bias + at, mask=mask)
        tl.store(out + row * columns + at, scaled, mask=mask)

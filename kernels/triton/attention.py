# $Revision: 1.1 $
"""Attention of one head, softmax(Q K^T / sqrt(d)) V, without the whole matrix of scores (flash attention)."""

import triton
import triton.language as tl


@triton.jit
def attention(
    out, q, k, v, length, scale, HEAD: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr
):
    """Compute BLOCK_M rows of one head in each program; the scores are rescaled as the maximum grows."""
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    base = tl.program_id(1) * length * HEAD
    dims = tl.arange(0, HEAD)
    in_rows = rows[:, None] < length
    queries = tl.load(q + base + rows[:, None] * HEAD + dims[None, :], mask=in_rows, other=0.0)
    maximum = tl.full([BLOCK_M], -float("inf"), dtype=tl.float32)
    weight = tl.zeros([BLOCK_M], dtype=tl.float32)
    total = tl.zeros([BLOCK_M, HEAD], dtype=tl.float32)
    factor = scale * 1.4426950408889634  # exp(x) = exp2(x log2(e))
    end = tl.minimum((tl.program_id(0) + 1) * BLOCK_M, length) if CAUSAL else length
    for start in range(0, end, BLOCK_N):
        columns = start + tl.arange(0, BLOCK_N)
        in_columns = columns[:, None] < length
        keys = tl.load(k + base + columns[:, None] * HEAD + dims[None, :], mask=in_columns, other=0.0)
        scores = tl.dot(queries, tl.trans(keys)) * factor
        valid = columns[None, :] < length
        if CAUSAL:
            valid = valid & (columns[None, :] <= rows[:, None])
        scores = tl.where(valid, scores, -float("inf"))
        grown = tl.maximum(maximum, tl.max(scores, axis=1))
        powers = tl.exp2(scores - grown[:, None])
        shrink = tl.exp2(maximum - grown)
        weight = weight * shrink + tl.sum(powers, axis=1)
        values = tl.load(v + base + columns[:, None] * HEAD + dims[None, :], mask=in_columns, other=0.0)
        total = tl.dot(powers.to(values.dtype), values, total * shrink[:, None])
        maximum = grown
    result = total / weight[:, None]
    tl.store(out + base + rows[:, None] * HEAD + dims[None, :], result.to(out.dtype.element_ty), mask=in_rows)

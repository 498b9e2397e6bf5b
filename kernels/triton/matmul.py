# $Revision: 1.1 $
"""Matrix product with tensor cores; the programs of a group share rows of A in the L2 cache."""

import triton
import triton.language as tl


@triton.jit
def matmul(
    c,
    a,
    b,
    M,
    N,
    K,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP: tl.constexpr,
):
    """Compute one BLOCK_M x BLOCK_N tile of C = A B in each program; A and B are of any type that tl.dot takes."""
    program = tl.program_id(0)
    tiles_m, tiles_n = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    group, inside = program // (GROUP * tiles_n), program % (GROUP * tiles_n)
    rows_of_group = min(tiles_m - group * GROUP, GROUP)
    tile_m = group * GROUP + inside % rows_of_group
    tile_n = inside // rows_of_group
    m = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    a_at = a + (m % M)[:, None] * K + k[None, :]
    b_at = b + k[:, None] * N + (n % N)[None, :]
    total = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        left = tl.load(a_at, mask=k[None, :] < K - start, other=0.0)
        right = tl.load(b_at, mask=k[:, None] < K - start, other=0.0)
        total = tl.dot(left, right, total)
        a_at += BLOCK_K
        b_at += BLOCK_K * N
    mask = (m < M)[:, None] & (n < N)[None, :]
    tl.store(c + m[:, None] * N + n[None, :], total.to(c.dtype.element_ty), mask=mask)

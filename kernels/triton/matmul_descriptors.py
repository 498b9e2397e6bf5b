# $Revision: 1.1 $
"""Matrix product whose tiles are copied by TMA: the kernel makes the descriptors."""

import triton
import triton.language as tl


@triton.jit
def matmul_descriptors(c, a, b, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """Compute one BLOCK_M x BLOCK_N tile of C = A B in each program; what is outside a matrix is read as zero."""
    a_tiles = tl.make_tensor_descriptor(a, shape=[M, K], strides=[K, 1], block_shape=[BLOCK_M, BLOCK_K])
    b_tiles = tl.make_tensor_descriptor(b, shape=[K, N], strides=[N, 1], block_shape=[BLOCK_K, BLOCK_N])
    c_tiles = tl.make_tensor_descriptor(c, shape=[M, N], strides=[N, 1], block_shape=[BLOCK_M, BLOCK_N])
    row = tl.program_id(0) * BLOCK_M
    column = tl.program_id(1) * BLOCK_N
    total = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        total = tl.dot(a_tiles.load([row, start]), b_tiles.load([start, column]), total)
    c_tiles.store([row, column], total)

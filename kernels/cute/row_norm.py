# $Revision: 1.1 $
"""Rows scaled to unit length, in CuTe DSL: a block for each row, a warp reduction and shared memory."""

import tempfile

import cutlass
from cutlass import cute
from cutlass.cute.runtime import make_fake_compact_tensor

THREADS = 128
WARPS = THREADS // 32


@cute.kernel
def row_norm(out: cute.Tensor, x: cute.Tensor, epsilon: cutlass.Float32):
    """out[row] = x[row] / sqrt(sum(x[row] ** 2) + epsilon)."""
    lane = cute.arch.lane_idx()
    warp = cute.arch.warp_idx()
    thread, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    columns = cute.size(x, mode=[1])

    square_sum = cutlass.Float32(0.0)
    for column in cutlass.range(thread, columns, THREADS):
        value = x[row, column].to(cutlass.Float32)
        square_sum += value * value
    square_sum = cute.arch.warp_reduction_sum(square_sum)

    sums = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(WARPS))
    if lane == 0:
        sums[warp] = square_sum
    cute.arch.sync_threads()
    total = cutlass.Float32(0.0)
    for other in cutlass.range_constexpr(WARPS):
        total += sums[other]
    scale = cute.math.rsqrt(total + epsilon)

    for column in cutlass.range(thread, columns, THREADS):
        out[row, column] = (x[row, column].to(cutlass.Float32) * scale).to(out.element_type)


@cute.jit
def launch(out: cute.Tensor, x: cute.Tensor, epsilon: cutlass.Float32):
    """Launch `row_norm`; a job makes this launch itself."""
    row_norm(out, x, epsilon).launch(grid=[cute.size(x, mode=[0]), 1, 1], block=[THREADS, 1, 1])


def ptx(arch, rows, columns):
    """Return the PTX of `row_norm` for matrices of one shape, so that it takes plain pointers and numbers."""
    row_norm.set_name_prefix("row_norm", remove_cutlass_symbol=True, keep_mangled_name=False)
    matrix = make_fake_compact_tensor(cutlass.Float16, (rows, columns), stride_order=(1, 0), assumed_align=16)
    with tempfile.TemporaryDirectory() as folder:
        options = f"--gpu-arch={arch} --keep-ptx --dump-dir={folder} --generate-line-info"
        return cute.compile(launch, matrix, matrix, cutlass.Float32(0.0), options=options).__ptx__

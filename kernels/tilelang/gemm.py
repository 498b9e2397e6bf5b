# $Revision: 1.1 $
"""Matrix product in TileLang: tensor cores, asynchronous copies, two stages of shared memory."""

import tilelang
import tilelang.language as T  # noqa: N812 - as TileLang's own documents have it
from cuda.pathfinder import find_nvidia_header_directory
from tilelang.contrib import nvrtc
from tilelang.env import env
from tvm.target import Target


def gemm(m, n, k, tile, stages):
    """C = a * b for matrices of one shape."""

    @T.prim_func
    def gemm(a: T.Tensor((m, k), "float16"), b: T.Tensor((k, n), "float16"), c: T.Tensor((m, n), "float32")):
        with T.Kernel(T.ceildiv(n, tile), T.ceildiv(m, tile), threads=128) as (x, y):
            a_tile = T.alloc_shared((tile, 32), "float16")
            b_tile = T.alloc_shared((32, tile), "float16")
            sums = T.alloc_fragment((tile, tile), "float32")
            T.clear(sums)
            for step in T.Pipelined(T.ceildiv(k, 32), num_stages=stages):
                T.copy(a[y * tile, step * 32], a_tile)
                T.copy(b[step * 32, x * tile], b_tile)
                T.gemm(a_tile, b_tile, sums)
            T.copy(sums, c[y * tile, x * tile])

    return gemm


def ptx(m, n, k, tile, stages):
    """Return the PTX of `gemm` for one shape. For sm_80, its tiles are copied by `cp.async` and not by tensor maps."""
    target = Target({"kind": "cuda", "arch": "sm_80"})
    with target:
        source = tilelang.lower(gemm(m, n, k, tile, stages), target=target).kernel_source
    folders = [env.TILELANG_TEMPLATE_PATH, env.CUTLASS_INCLUDE_DIR]
    folders += [find_nvidia_header_directory(name) for name in ("cudart", "cccl")]
    options = ["-lineinfo", "-D__CUDACC_VER_MAJOR__=13", *(f"-I{folder}" for folder in folders)]
    return nvrtc.compile_cuda(source, "ptx", 80, options, verbose=True)

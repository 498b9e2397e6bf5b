"""Bugs to be planted in this repository's own kernels: what is replaced in the source, how it is run, what is found."""

from __future__ import annotations

from dataclasses import dataclass, field

VECTOR = """\
buffers:
  a: {dtype: DTYPE, shape: [1000], fill: FILL}
  b: {dtype: DTYPE, shape: [1000], fill: FILL}
  out: {dtype: DTYPE, shape: [1000]}
launches:
  - {kernel: vector_add<CTYPE>, grid: [8], block: [128], args: [out, a, b, {int32: 1000}]}
"""
FLOATS = VECTOR.replace("CTYPE", "float").replace("DTYPE", "float32").replace("FILL", "{normal: {std: 2.0}}")
WORDS = (
    VECTOR.replace("CTYPE", "unsigned int")
    .replace("DTYPE", "uint32")
    .replace("FILL", "{integers: {low: 0, high: 1000000}}")
)
MATMUL = """\
buffers:
  a: {dtype: float32, shape: [48, K], fill: {normal: {std: 1.0}}}
  b: {dtype: float32, shape: [K, 64], fill: {normal: {std: 1.0}}}
  c: {dtype: float32, shape: [48, 64]}
launches:
  - {kernel: matmul, grid: [4, 3], block: [16, 16], args: [c, a, b, {int32: 48}, {int32: 64}, {int32: K}]}
"""
SAXPY = """\
buffers:
  x: {dtype: float32, shape: [1000], fill: {uniform: {low: 1.0, high: 2.0}}}
  y: {dtype: float32, shape: [1000], fill: {uniform: {low: 1.0, high: 2.0}}}
launches:
  - {kernel: blas::axpy<float>, grid: [4], block: [64], args: [{int32: 1000}, {float32: 1.1}, x, y]}
dump: [y]
"""
HISTOGRAM = """\
buffers:
  data: {dtype: uint8, shape: [20000], fill: {normal: {mean: 30.0, std: 8.0}}}
  counts: {dtype: uint32, shape: [64], fill: zeros}
launches:
  - {kernel: histogram, grid: [GRID], block: [96], shared: 256, args: [counts, data, {int32: 20000}, {int32: 64}]}
dump: [counts]
""".replace("{normal: {mean: 30.0, std: 8.0}}", "{choice: [0, 1, 1, 2, 2, 2, 3, 5, 8, 13, 21, 34, 34, 34, 55, 63]}")
TRANSPOSE = """\
buffers:
  in: {dtype: int32, shape: [96, 96], fill: arange}
  out: {dtype: int32, shape: [96, 96]}
launches:
  - {kernel: "transpose<int, 32, 8>", grid: [3, 3], block: [32, 8], args: [out, in, {int32: 96}, {int32: 96}]}
"""
SCAN = """\
buffers:
  in: {dtype: float32, shape: [256], fill: {uniform: {low: 0.0, high: 1.0}}}
  out: {dtype: float32, shape: [256]}
launches:
  - {kernel: scan_blocks<float>, grid: [1], block: [256], args: [out, null, in, {int32: 256}]}
"""
SUMS = """\
buffers:
  x: {dtype: int32, shape: [3200], fill: {integers: {low: 1, high: 100000}}}
  sums: {dtype: int32, shape: [100]}
launches:
  - {kernel: sums_by_one, grid: [100], block: [1], args: [sums, x]}
"""
HEAT = """\
buffers:
  now: {dtype: float64, shape: [40, 50], fill: {uniform: {low: 0.0, high: 100.0}}}
  next: {dtype: float64, shape: [40, 50]}
launches:
  - kernel: heat_step
    grid: [4, 3]
    block: [16, 16]
    args: [next, now, {struct: [{int32: 50}, {int32: 40}, {float64: 0.2}]}]
"""
NBODY = """\
buffers:
  p: {dtype: float4, shape: [256], fill: {uniform: {low: 0.0, high: 1.0}}}
  v: {dtype: float4, shape: [256], fill: zeros}
  new_p: {dtype: float4, shape: [256]}
  new_v: {dtype: float4, shape: [256]}
launches:
  - kernel: nbody_step
    grid: [4]
    block: [64]
    shared: 1024
    args: [new_p, new_v, p, v, {struct: [{float32: 0.1}, {float32: 0.01}, {int32: 256}]}]
dump: [new_v]
"""
ADD = "out[i] = a[i] + b[i];"


@dataclass(frozen=True)
class Bug:
    """A mistake in a kernel.

    Attributes:
        name: of the job.
        kernel: the file in kernels/, without .cu.
        right: text of the source.
        wrong: what stands there instead.
        job: the rest of the job.
        pattern: what must be found; "" for none at all.
        words: what its message must hold.
        first: it is the most telling of all that is found.
        top: put before the source, right and wrong.
    """

    name: str
    kernel: str
    right: str
    wrong: str
    job: str
    pattern: str
    words: tuple[str, ...] = field(default=())
    first: bool = True
    top: str = ""


BUGS = (
    Bug(
        "unwritten",
        "vector_add",
        "if (i < n)",
        "if (i < n / 128 * 128)",
        FLOATS,
        "never written",
        ("all 104 differing elements", "elements 896 to 999", "the last partial block, 7, with 104 of 128 threads"),
    ),
    Bug(
        "tail",
        "saxpy",
        "i < n; i +=",
        "i < n / 64 * 64; i +=",
        SAXPY,
        "tail",
        ("40 elements from 960 to the end differ",),
    ),
    Bug(
        "blocks",
        "vector_add",
        "b[i];",
        "b[blockIdx.x == 5 ? i ^ 1 : i];",
        FLOATS,
        "blocks",
        ("whole blocks: 5 of 8, all 128 elements",),
    ),
    Bug(
        "lane",
        "vector_add",
        "b[i];",
        "b[threadIdx.x % 32 == 31 ? i - 1 : i];",
        FLOATS,
        "lane",
        ("one lane of each warp: lane 31, 4 warps, in 8 of 8 blocks",),
    ),
    Bug(
        "warp",
        "vector_add",
        "b[i];",
        "b[threadIdx.x / 32 == 2 ? i - 32 : i];",
        FLOATS,
        "warp",
        ("one warp of each block: warp 2",),
    ),
    Bug("stride", "vector_add", ADD, "out[i] = a[i] + (i % 5 == 3 ? b[i - 1] : b[i]);", FLOATS, "stride", ("5th",)),
    Bug(
        "shift",
        "vector_add",
        ADD,
        "{ const int j = i > 0 ? i - 1 : 0; out[i] = a[j] + b[j]; }",
        FLOATS,
        "shift",
        ("shifted up by 1",),
    ),
    Bug("factor", "matmul", "= sum;", "= 0.25f * sum;", MATMUL.replace("K", "16"), "factor", ("1/4 times",)),
    Bug(
        "offset",
        "histogram",
        "local_counts[bin] = 0;",
        "local_counts[bin] = 1;",
        HISTOGRAM.replace("GRID", "8"),
        "offset",
        ("off by +8",),
    ),
    Bug("sign", "vector_add", ADD, "out[i] = -a[i] - b[i];", FLOATS, "sign", ("have the other sign",)),
    Bug(
        "permutation",
        "transpose",
        "out[out_row * rows + out_column]",
        "out[out_column * columns + out_row]",
        TRANSPOSE,
        "permutation",
        ("other places: transposed",),
    ),
    Bug("zeros", "matmul", "start < k; start", "start + TILE < k; start", MATMUL.replace("K", "16"), "zeros"),
    Bug(
        "bit",
        "vector_add",
        ADD,
        "out[i] = a[i] + b[i] ^ (i % 7 == 3 ? 1u << 20 : 0u);",
        WORDS,
        "bit",
        ("have bit 20 ", "no other bit wrong"),
    ),
    Bug(
        "wrap",
        "histogram",
        "atomicAdd(&counts[bin], local_counts[bin]);",
        "atomicAdd(&counts[bin], static_cast<unsigned char>(local_counts[bin]));",
        HISTOGRAM.replace("GRID", "1"),
        "wrap-around",
        ("modulo 2^8", "too narrow"),
    ),
    Bug(
        "rounding",
        "saxpy",
        "return fmaf(a, x, y);",
        "return __fadd_rn(__fmul_rn(a, x), y);",
        SAXPY,
        "rounding",
        ("of at most 1 ulp",),
    ),
    Bug(
        "tile",
        "matmul",
        "sum = fmaf(a_tile[threadIdx.y][i], b_tile[i][threadIdx.x], sum);",
        "sum = fmaf(a_tile[threadIdx.y][blockIdx.x == 2 && blockIdx.y == 1 ? i ^ 1 : i], b_tile[i][threadIdx.x], sum);",
        MATMUL.replace("K", "16"),
        "tile",
        ("one tile: rows 16 to 31, columns 32 to 47",),
        first=False,
    ),
    Bug(
        "nan", "scan", "i < n ? in[i] :", "i < n ? (i == 37 ? sqrtf(-1.0f) : in[i]) :", SCAN, "nan", ("element 37 to",)
    ),
    Bug(
        "bytes",
        "vector_add",
        ADD,
        "out[i] = __byte_perm(a[i] + b[i], 0, 0x0123);",
        WORDS,
        "byte order",
        ("their 4 bytes reversed",),
    ),
    Bug(
        "half",
        "vector_add",
        ADD,
        "out[i] = __half2float(__float2half(a[i] + b[i]));",
        FLOATS,
        "precision",
        ("the precision of half",),
        top="#include <cuda_fp16.h>\n",
    ),
    Bug(
        "term",
        "langdon",
        "for (int i = 0; i < 32; ++i)",
        "for (int i = 0; i < 31; ++i)",
        SUMS,
        "loop count",
        ("the last of each chunk of 32 of x", "too few"),
    ),
    Bug(
        "product",
        "matmul",
        "i < TILE; ++i",
        "i < TILE - 1; ++i",
        MATMUL.replace("K", "16"),
        "loop count",
        ("one term of the inner loop is missing",),
    ),
    Bug(
        "early",
        "scan",
        "    __syncthreads();\n    if (warp > 0)",
        "    if (warp > 0)",
        SCAN,
        "tail",
        ("192 elements from 64 to the end",),
    ),
    Bug("times", "vector_add", ADD, "out[i] = a[i] * b[i];", FLOATS, ""),
    Bug("ratio", "heat", "4.0 * now[here]", "3.9 * now[here]", HEAT, "interior", ("all but the border",)),
    Bug("gravity", "nbody", "inverse * inverse * inverse", "inverse * inverse", NBODY, ""),
    Bug("mixed", "vector_add", ADD, "out[i] = a[i] + b[i * 37 % n];", FLOATS, ""),
)

"""Examples of every key, by model: shown in docs/reference/job-keys.md, loaded by the tests."""

from __future__ import annotations

EXAMPLES: dict[str, str] = {
    "Job": """
job: reduce
source: ../kernels/reduce.cu
revision: auto
compile: {options: [-lineinfo]}
card: sm_80
seed: 42
parameters: {n: [1000, 65536], tile: [128, 256]}
where: [tile <= n]
buffers:
  x: {dtype: float32, shape: [n], fill: {normal: {std: 2.0}}}
  sum: {dtype: float32, shape: [ceil(n / tile)]}
  errors: {dtype: int32, shape: [1]}
launches:
  - {kernel: block_sum<float>, grid: [ceil(n / tile)], block: [tile], args: [sum, x, errors, {int32: n}]}
dump: [sum]
compare: {sum: {rtol: 1.0e-5}}
checks: {sum: [finite]}
status: errors
reference: {sum: reference.py:block_sums}
verify: {sum: reference.py:totals_agree}
repeat: 2
schedules: 5
limits: {timeout: 30s, memory: 4GiB}
known_failing: {until: 2026-12-24, why: the driver of the new card}
retries: 2
devices: [cpu, cuda]
twins: [cpu, cuda]
tags: [quick]
owners: [ada@example.org]
agree: [tile]
infeasible: skip
expect: {fault: out-of-bounds}
inputs: unchanged
timing: {samples: 100}
cost: {sectors: 1.05}
fuzz: {keep: [x]}
resources: {registers: 64}
variants: {fmad: [on, off]}
launch_digests: off
""",
    "Compile": """
compile:
  options: [-lineinfo]
  include: [../kernels/include]
  defines: [tile, {REAL: {text: float}, HALF: n / 2, FAST: true}]
  contract: native
  host_code: keep
  arch: sm_80
""",
    "Buffer": """
buffers:
  x: {dtype: float32, shape: [8, n], fill: ones}
  pairs: {dtype: {id: int32, score: float32}, shape: [n]}
  taps: {dtype: float32, shape: [17], fill: ones, symbol: d_filter}
  image: {dtype: float32, shape: [64, n], fill: ones, texture: {filter: linear}}
  drawn: {dtype: float32, shape: [64, n], surface: true}
  a: {dtype: float16, shape: [128, n], fill: ones, tensormap: {box: [64, 64], swizzle: 128B}}
""",
    "Fill": """
buffers:
  a: {dtype: int32, shape: [n], fill: zeros}
  b: {dtype: int32, shape: [n], fill: {arange: {start: 1}}}
  c: {dtype: float32, shape: [n], fill: {value: 0.5}}
  d: {dtype: float32, shape: [n], fill: {uniform: {low: -1, high: 1}}}
  e: {dtype: float32, shape: [n], fill: {normal: {std: 2}}}
  f: {dtype: int32, shape: [n], fill: {integers: {low: 0, high: n}}}
  g: {dtype: int32, shape: [n], fill: {choice: [1, 2, 4]}}
  h: {dtype: uint32, shape: [n], fill: {park_miller: {}}}
  i: {dtype: float32, shape: [n], fill: {file: data/points.npy}}
  j: {dtype: float32, shape: [n], fill: {python: fills.py:points}}
  k: {dtype: float64, shape: [n], fill: {same: j}}
""",
    "Arange": """
buffers:
  x: {dtype: int32, shape: [n], fill: {arange: {start: 10, step: 2}}}
""",
    "Uniform": """
buffers:
  x: {dtype: float32, shape: [n], fill: {uniform: {low: -1.0, high: 1.0}}}
""",
    "Normal": """
buffers:
  x: {dtype: float32, shape: [n], fill: {normal: {mean: 0.0, std: 2.0}}}
""",
    "Integers": """
buffers:
  x: {dtype: int32, shape: [n], fill: {integers: {low: 0, high: 100}}}
""",
    "ParkMiller": """
buffers:
  x: {dtype: uint32, shape: [n], fill: {park_miller: {seed: 4711}}}
""",
    "Texture": """
buffers:
  image:
    dtype: uint8
    shape: [64, n]
    fill: ones
    texture:
      filter: linear
      address: [wrap, border]
      normalized: true
      read: normalized_float
      kind: plain
      memory: array
""",
    "TensorMap": """
buffers:
  a:
    dtype: float16
    shape: [128, 512]
    fill: ones
    tensormap:
      box: [64, 64]
      shape: [128, 500]
      strides: [1024]
      element_strides: [1, 1]
      swizzle: 128B
      interleave: none
      oob_fill: nan
      l2_promotion: 128B
  x: {dtype: float32, shape: [64, 64], fill: ones, tensormap: {box: [8, 32], type: tfloat32}}
  image:
    dtype: float16
    shape: [4, 16, 16, 64]
    fill: ones
    tensormap: {im2col: {lower: [-1, -1], upper: [-1, -1], channels: 64, pixels: 128}}
""",
    "Im2col": """
buffers:
  image:
    dtype: float16
    shape: [4, 16, 16, 64]
    fill: ones
    tensormap:
      im2col: {lower: [-1, -1], upper: [-1, -1], channels: 64, pixels: 128}
""",
    "Launch": """
launches:
  - kernel: blur<{tile}>
    grid: [ceil(n / tile)]
    block: [tile]
    shared: 4 * tile
    args: [out, x, {int32: n}, {int32: step}]
    repeat: 8
    source: ../kernels/blur.cu
    swap: [[out, x]]
""",
    "Function": """
function:
  name: block_max<float>
  scope: block
  block: [128]
  blocks: ceil(n / 128)
  shared: 4 * 128
  shared_arrays: {scratch: 32}
""",
    "Grid": """
launches:
  - kernel: matmul
    grid: {problem: [n, n], divide: [[16, 2], [16]]}
    block: [16, 16]
""",
    "Argument": """
launches:
  - kernel: f
    grid: [1]
    block: [n]
    args: [x, {int32: n}, {float4: [0, 0, 1, 0.5]}, null, {struct: [x, {int32: n}]}, {pointer: {tensormap: a}},
           {pointer: x, offset: 64}, {struct: {data: x, dims: [{int32: n}, {int32: 1}]}}]
""",
    "Rule": """
compare:
  a: {rtol: 1.0e-5, atol: 1.0e-8, nan: never, signed_zero: equal}
  b: {ulp: 2, outliers: {fraction: 0.001, atol: 0.1}}
  c: {metric: {rms: 1.0e-6}}
  d: {order: any, key: [id]}
  e: {statistics: {ks: 0.001}}
  f: {verify: rules.py:close_enough, rtol: 1.0e-5}
""",
    "Outliers": """
compare:
  x: {rtol: 1.0e-6, outliers: {fraction: 0.01, rtol: 1.0e-3, atol: 1.0e-6}}
""",
    "Metric": """
compare:
  x: {metric: {rms: 1.0e-6, max: 1.0e-4, mean: 1.0e-7, l2: 1.0e-6}}
""",
    "Statistics": """
compare:
  x: {statistics: {mean: {sigmas: 5}, variance: {sigmas: 5}, ks: 0.001}}
""",
    "Sigmas": """
compare:
  x: {statistics: {mean: {sigmas: 5}}}
""",
    "Repeat": """
repeat: {seeds: 20, runs: 2}
""",
    "Status": """
status: {buffer: errors, codes: {0: ok, 3: table full, 0x23: bad index}}
""",
    "Variants": """
variants: {fmad: [on, off], fast_math: [off, on], arch: [sm_80, sm_90], differences: fail}
""",
    "Count": """
checks:
  x: [{nonzero: {exactly: 273}}]
  y: [{nonzero: {at_least: 1, at_most: n - 1}}]
""",
    "Check": """
checks:
  a: [finite, {nonzero: 8}, {range: [-1, 1]}, {rows: {0: 0.0, -1: n}}]
  b: [{sum: 100}, unique, {sorted: descending}]
  c: [{monotone: increasing}, {all_equal: 0}]
  d: [{equals: x}, {permutation: x}, {python: checks.py:is_heap}]
  device: [races, uninitialized, barriers, leaks, all]
""",
    "Sum": """
checks:
  x: [{sum: {value: n, rtol: 1.0e-6, atol: 0.5}}]
""",
    "Reference": """
reference:
  a: reference.py:expected
  b: {python: reference.py:expected, compare: {rtol: 1.0e-6}, improves: true}
  c:
    source: ../kernels/naive.cu
    compile: {options: [-lineinfo]}
    launches:
      - {kernel: naive, grid: [1], block: [1], args: [c, x]}
  d: {file: data/answers.npy, compare: {atol: 1.0e-6}}
  e:
    buffer: e64
    launches:
      - {kernel: naive<double>, grid: [1], block: [1], args: [e64, x64]}
    compare: {ulp: 2}
""",
    "Limits": """
limits: {timeout: 2min, memory: 4GiB, timeouts: 3, heap: 64MiB, instructions: 1.05, time: 1.1}
""",
    "KnownFailing": """
known_failing: {until: 2026-12-24, why: the driver of the new card, status: differ, buffer: out, where: [n > 1000]}
""",
    "Expect": """
expect: {fault: out-of-bounds, kernel: scale, launch: 1}
""",
    "Timing": """
timing: {warmup: 3, samples: 100, limit: 1.1}
""",
    "Cost": """
cost: {sectors: 1.05, instructions: 1.10, thread_instructions: 1.1, requests: 1.05, bank_conflicts: 1, bytes: 1,
  divergent_branches: 1.1, atomic_conflicts: 1.2, barriers: 1, tensor_operations: 1}
""",
    "Fuzz": """
fuzz: {keep: [x]}
""",
    "Resources": """
resources: {registers: 64, spills: 0}
""",
}
"""Model → a piece of a job that shows all its keys."""

OTHER_EXAMPLES: dict[str, tuple[str, ...]] = {
    "Job": (
        """
source: ../kernels/reduce.cu
buffers: {v: {dtype: float32, shape: [8, 128], fill: ones}, result: {dtype: float32, shape: [8]}}
function: block_sum<float>
scope: block
block: [128]
""",
        """
source: ../kernels/triton/softmax.py:softmax
language: triton
signature: {out: "*fp32", x: "*fp32", columns: i32, stride: i32}
constants: {BLOCK: 1024}
num_warps: 8
num_stages: 2
num_ctas: 1
autotune: off
buffers: {x: {dtype: float32, shape: [16, 781], fill: ones}, out: {dtype: float32, shape: [16, 781]}}
launches: [{grid: [16], args: [out, x, {int32: 781}, {int32: 781}]}]
""",
    ),
    "KnownFailing": (
        """
known_failing: {until: 2026-12-24, why: issue 7, fault: deadlock, kernel: scale}
""",
    ),
    "Reference": (
        """
reference:
  out:
    source: naive.py:softmax
    language: triton
    signature: {out: "*fp32", x: "*fp32", columns: i32}
    constants: {BLOCK: 1024}
    num_warps: 1
    num_stages: 1
    num_ctas: 1
    launches: [{grid: [16], args: [out, x, {int32: 781}]}]
""",
    ),
    "Launch": (
        """
language: triton
launches:
  - source: softmax.py:softmax
    signature: {out: "*fp32", x: "*fp32", columns: i32, stride: i32}
    constants: {BLOCK: 1024}
    num_warps: 8
    num_stages: 2
    num_ctas: 1
    grid: [16]
    args: [out, x, {int32: 781}, {int32: 781}]
""",
        """
language: warp
launches:
  - source: normals.py:normals
    dim: [rows, columns]
    args: [out, field, {float32: 0.5}]
""",
    ),
}
"""Model → further pieces, for keys that cannot stand beside the others."""

SETTINGS_EXAMPLE = """
folders: {configs: configs, baselines: baselines, runs: runs, dumps: s3://bucket/prefix}
compile: {commands: build/compile_commands.json}
compare: {float32: {rtol: 1.0e-6, atol: 0}}
limits: {timeout: 30, memory: 4GiB, timeouts: 3, instructions: 1.05, time: 1.1}
retention: {runs: 30, age: 90d, size: 20GiB}
dumps: {compress_above: 64MiB}
ping: https://hc.example.org/ping/${PING_KEY}
notify: {mail: team@example.org, webhook: "${CHAT_URL}"}
cluster: {scheduler: "tcp://node0:8786", wait: 30}
"""

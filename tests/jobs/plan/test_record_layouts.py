"""Records, vectors and struct arguments of jobs against the types of the compiled kernels."""

from __future__ import annotations

from pathlib import Path

from tests.workshop import Workshop

KERNELS = """\
#include <cuda_fp16.h>
enum Mode { SLOW, FAST };
struct Pair { float value; int count; };
struct Half { __half h; Mode mode; bool on; };
struct Base { double weight; };
struct Inner { short a; float v[2]; };
template <typename T> struct Node : Base { T t; Inner inner[2]; private: char tag[3]; };
struct Bits { unsigned a : 3, b : 5; union { int i; float f; }; };
struct alignas(16) Wide { float x, y, z; };
struct View { const Pair* pairs; float* out; int n; };
struct Xy { float x, y; };
struct Long { float v[5000]; };
struct Pairs { Pair first; Pair more[2]; };
namespace fixed { __constant__ Pair one; __device__ Node<int> nodes[2]; }
__global__ void pair(Pair* p) { p->count = fixed::one.count + fixed::nodes[0].t; }
__global__ void half_(Half* p) { p->on = true; }
template <typename T> __global__ void node(Node<T>* p) { p->t = 0; }
__global__ void bits(Bits* p) { p->i = 0; }
__global__ void wide(Wide* p) { p->x = 0; }
__global__ void value(Pair p, View v) { v.out[0] = p.value; }
__global__ void xy(Xy* p) { p->x = 0; }
__global__ void long_(Long* p) { p->v[1] = 1; }
__global__ void pairs(Pairs* p) { p->first.count = p->more[1].count; }
#define MADE(name, T) __global__ void name(T* p) { p->count = 0; }
MADE(made, Pair)
template <typename T> __global__ void any(T* p) { reinterpret_cast<Pair*>(p)->count = 0; }
__global__ void raw(void* p, char* c) { static_cast<Pair*>(p)->count = c[0]; }
"""

PAIR = "{value: float32, count: int32}"
NODE = "{weight: float64, t: int32, a0: int16, v00: float32, v01: float32, a1: int16, v10: float32, v11: float32"
NODE += ", c: int8, d: int8, e: int8}"
POINTERS = "{struct: [p, f, {int32: 4}]}"

GOOD = {
    "pair": [
        PAIR,
        "{value: float32, low: int32}",
        "uint8",
        "{value: float32, b: uint8, c: uint8, d: uint8, e: uint8}",
    ],
    "half_": ["{h: float16, mode: int32, on: bool}", "{h: uint16, pad: int16, mode: uint32, on: uint8}"],
    "node<int>": [NODE],
    "bits": ["{ab: uint32, i: int32}", "{ab: uint32, f: float32}"],
    "wide": ["{x: float32, y: float32, z: float32, pad: float32}", "float4", "float32"],
    "xy": ["{x: float32, y: float32}", "{a: float32, b: float32}", "float32", "float2"],
    "pairs": [PAIR],
    "made": [PAIR],
    "long_": ["float32", "float2"],
    "any<float>": [PAIR, "float32"],
    "any<void>": [PAIR, "int32"],
    "any<unsigned char>": [PAIR],
}


BAD = {
    ("pair", "{value: float32, count: int64}"): "Pair has int count at 4, where the record has padding",
    ("pair", "{count: int32, value: float32}"): "Pair has float value at 0, where the record has count (int32)",
    ("pair", "int32"): "Pair has float value at 0, where the buffer has int32; give the buffer `dtype: " + PAIR,
    ("pair", "{value: float32, count: int32, more: int32}"): "the record has 12 bytes and Pair has 8 bytes",
    ("half_", "{h: float16, on: bool, mode: int32}"): "Half has bool on at 8, where the record has ended",
    ("half_", "{h: bfloat16, mode: int32, on: bool}"): "Half has __half h at 0, where the record has h (bfloat16)",
    ("node<long>", NODE): "Node<long> has long t at 8, where the record has t (int32)",
    ("node<int>", NODE.replace("v10: float32", "v10: int32")): "float inner[1].v[0] at 28, where the record has v10",
    ("bits", "{ab: uint16, i: int32, c: int32}"): "the record has 12 bytes and Bits has 8 bytes",
    ("wide", "float3"): "float3 has 12 bytes and Wide has 16 bytes",
    ("xy", "{y: float32, x: float32}"): "Xy has float x at 0, and the record has it at 4",
    ("long_", "{n: int32, v: float32}"): "Long has float v[0] at 0, where the record has n (int32)",
    ("pairs", "{value: float32, count: float32}"): "has int first.count at 4, where the record has count (float32)",
    (
        "pairs",
        "{v: float32, c: int32, w: float32, d: int32}",
    ): "Pairs has float more[1].value at 16, where the record has ended",
    ("made", "int32"): "parameter 'p' points to Pair of 8 bytes (float value at 0, int count at 4)",
}
BAD_ARGUMENTS = {
    "{struct: [{int32: 1}, {float32: 1}]}, " + POINTERS: "Pair has float value at 0, where the argument has member 1",
    "{struct: [{float32: 1}, {int32: 1}]}, {struct: [p, f, {float32: 4}]}": "View has int n at 16",
    "{struct: [{float32: 1}, {int32: 1}]}, {struct: [f, p, {int32: 4}]}": "pairs of parameter 'v' points to Pair of 8",
    '{"{a: float32, b: float32}": [1, 2]}, ' + POINTERS: "where the argument has float32",
}


def check(
    folder: Path, given: list[tuple[str, str]], arguments: list[str], symbols: list[tuple[str, str]]
) -> list[str]:
    """The output of `check`, line by line, for a job with a launch for each buffer or text of arguments."""
    shop = Workshop(folder)
    shop.write("kernels/k.cu", KERNELS)
    lines = ["source: ../kernels/k.cu", "buffers:"]
    lines += [f"  b{at}: {{dtype: {dtype}, shape: [4]}}" for at, (_, dtype) in enumerate(given)]
    lines += [f"  s{at}: {{dtype: {dtype}, shape: [1], symbol: {name}}}" for at, (name, dtype) in enumerate(symbols)]
    lines += [f"  p: {{dtype: {PAIR}, shape: [4], fill: zeros}}", "  f: {dtype: float32, shape: [4]}", "launches:"]
    kernels = [(kernel, f"b{at}") for at, (kernel, _) in enumerate(given)]
    kernels += [("value", text) for text in arguments]
    kernels += [
        ("pair", "{pointer: f}"),
        ("raw", "p, f"),
        ("value", "{struct: [{float32: 1}, {int32: 1}]}, " + POINTERS),
    ]
    lines += [f"  - {{kernel: '{kernel}', grid: [1], block: [1], args: [{args}]}}" for kernel, args in kernels]
    shop.write("configs/k.yaml", "\n".join((*lines, "dump: all", "")))
    result = shop.call("check")
    assert result.exit_code == (0 if "no errors" in result.stdout else 2)
    return [line for line in result.output.splitlines() if line]


def test_the_layouts_of_the_compiler_are_those_of_the_job(tmp_path: Path) -> None:
    pairs = [(kernel, dtype) for kernel, dtypes in GOOD.items() for dtype in dtypes]
    variables = [("fixed::one", PAIR)]
    assert check(tmp_path, pairs, [], variables) == ["1 job, 1 case: no errors"]


def test_other_layouts_are_refused_with_the_compilers_own(tmp_path: Path) -> None:
    variables = [("fixed::one", "{count: int32, value: float32}"), ("fixed::nodes", "float64")]
    lines = check(tmp_path, [*BAD], [*BAD_ARGUMENTS], variables)
    first = 2 + len(BAD) + len(variables) + 3
    expected = [*BAD.values(), *BAD_ARGUMENTS.values()]
    for at, words in enumerate(expected, 1):
        key = f"configs/k.yaml:{first + at}: launches[{at - 1}].args["
        (line,) = [line for line in lines if key in line]
        assert words in line
    assert len(lines) == len(expected) + len(variables)
    for at, words in enumerate(("Pair has float value at 0", "Node<int> has int t at 8, where the buffer has")):
        (line,) = [line for line in lines if f"k.yaml:{3 + len(BAD) + at}: buffers.s{at}.dtype" in line]
        assert words in line
        assert "uint32` to fill its bits" in line

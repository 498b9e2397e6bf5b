"""mma of all shapes against a card's results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from gpuregress.foundation import dtypes
from tests.virtual_gpu.isa.matrix.kernels import mma_kernel
from tests.virtual_gpu.running import Running

Array = npt.NDArray[Any]
LANES = np.arange(32)

# Shape, types of D, A, B, and the places of A's elements as the manual gives them: (lane, element) → (row, column).
SHAPES = [
    ("m16n8k8", "f32", "f16", "f16"),
    ("m16n8k16", "f32", "f16", "f16"),
    ("m16n8k16", "f16", "f16", "f16"),
    ("m16n8k8", "f32", "bf16", "bf16"),
    ("m16n8k16", "f32", "bf16", "bf16"),
    ("m16n8k4", "f32", "tf32", "tf32"),
    ("m16n8k8", "f32", "tf32", "tf32"),
    ("m8n8k4", "f64", "f64", "f64"),
    ("m16n8k8", "f64", "f64", "f64"),
    ("m16n8k16", "f64", "f64", "f64"),
    ("m8n8k16", "s32", "s8", "u8"),
    ("m16n8k16", "s32", "u8", "s8"),
    ("m16n8k32", "s32", "s8", "s8"),
    ("m16n8k32", "s32", "s4", "u4"),
    ("m16n8k64", "s32", "u4", "s4"),
]
BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "f64": 64, "s8": 8, "u8": 8, "s4": 4, "u4": 4, "s32": 32}


def _sizes(shape: str) -> tuple[int, int, int]:
    m, rest = shape[1:].split("n")
    n, k = rest.split("k")
    return int(m), int(n), int(k)


def _place_a(shape: str, kind: str, element: int) -> tuple[Array, Array]:
    """Row and column of an element of A in each lane: the manual's formulas, written out for each width."""
    m, _, k = _sizes(shape)
    group, inner = LANES >> 2, LANES & 3
    width = BITS[kind]
    below = {
        (16, 8): element >= 2, (16, 16): element in (2, 3, 6, 7), (32, 4): element == 1, (32, 8): element in (1, 3),
        (64, 4): False, (64, 8): element in (1, 3), (64, 16): element % 2 == 1, (8, 16): element >= 4,
        (8, 32): element // 4 in (1, 3), (4, 32): element >= 8, (4, 64): element // 8 in (1, 3),
    }[(width, k)] and m == 16  # fmt: skip
    far = {
        (16, 16): element >= 4, (32, 8): element >= 2, (64, 8): element >= 2, (64, 16): False, (8, 32): element >= 8,
        (4, 64): element >= 16,
    }.get((width, k), False)  # fmt: skip
    per = max(1, 32 // width)
    column = inner * per + element % per + (4 * per if far else 0)
    if (width, k) == (64, 16):
        column = inner + 4 * (element >> 1)
    return group + (8 if below else 0), column


def _place_b(shape: str, kind: str, element: int) -> tuple[Array, Array]:
    del shape
    per = max(1, 32 // BITS[kind])
    return (LANES & 3) * per + element % per + 4 * per * (element // per), LANES >> 2


def _numbers(kind: str, shape: tuple[int, int], generator: np.random.Generator) -> Array:
    low, high = {"s": (-8, 8), "u": (0, 16)}.get(kind[0], (-8, 9))
    return generator.integers(low, high, shape)


def _bits(kind: str, values: Array) -> Array:
    if kind == "f16":
        return values.astype(np.float16).view(np.uint16).astype(np.uint64)
    if kind == "bf16":
        return dtypes.from_float32(values.astype(np.float32)).astype(np.uint64)
    if kind in ("tf32", "f32"):
        return values.astype(np.float32).view(np.uint32).astype(np.uint64)
    if kind == "f64":
        return values.astype(np.float64).view(np.uint64)
    return values.astype(np.int64).view(np.uint64) & np.uint64((1 << BITS[kind]) - 1)


def _registers(kind: str, matrix: Array, places: list[tuple[Array, Array]]) -> Array:
    """What each lane's registers hold: (lanes, registers) of uint32 or uint64."""
    width = BITS[kind]
    per, bits = max(1, 32 // width), _bits(kind, matrix)
    columns = [bits[row, column] for row, column in places]
    packed = []
    for start in range(0, len(columns), per):
        word = np.zeros(32, np.uint64)
        for position, column in enumerate(columns[start : start + per]):
            word |= column << np.uint64(width * position)
        packed.append(word)
    return np.stack(packed, 1).astype(np.uint64 if kind == "f64" else np.uint32)


@pytest.mark.parametrize(("shape", "result", "left", "right"), SHAPES)
def test_mma_multiplies_small_whole_numbers_exactly(
    shape: str, result: str, left: str, right: str, tmp_path: Path
) -> None:
    m, n, k = _sizes(shape)
    generator = np.random.default_rng(7)
    a, b = _numbers(left, (m, k), generator), _numbers(right, (k, n), generator)
    c = generator.integers(-50, 50, (m, n))
    places_a = [_place_a(shape, left, element) for element in range(m * k // 32)]
    places_b = [_place_b(shape, right, element) for element in range(k * n // 32)]
    places_c = [((LANES >> 2) + 8 * (e // 2), 2 * (LANES & 3) + e % 2) for e in range(m * n // 32)]
    given = [_registers(left, a, places_a), _registers(right, b, places_b), _registers(result, c, places_c)]
    types = [left, right] if left == "f64" else ["b32", "b32"]
    register = {"f16": "b32", "f32": "f32", "f64": "f64", "s32": "s32"}[result]
    name = f"mma.sync.aligned.{shape}.row.col.{result}.{left}.{right}.{result}"
    counts = tuple(array.shape[1] for array in given)
    running = Running(
        tmp_path, mma_kernel(name, (counts[0], counts[1], counts[2]), (types[0], types[1], register)), "k"
    )
    buffers = [running.put(word, array) for word, array in zip("abc", given, strict=True)]
    out = running.put("d", np.zeros_like(given[2]))
    running.launch("k", 1, 32, *buffers, out)
    expected = _registers(result, a @ b + c, places_c)
    assert (out.read().view(expected.dtype).reshape(expected.shape) == expected).all()


with np.load(Path(__file__).with_name("m8n8k4.npz")) as _file:
    VECTORS = dict(_file)


@pytest.mark.parametrize("form", sorted({name.partition("/")[0] for name in VECTORS}))
def test_products_have_the_bits_of_a_card(form: str, tmp_path: Path) -> None:
    left, right, result, addend = form.split("_")
    a, b, c, d = (VECTORS[f"{form}/{name}"] for name in "abcd")
    name = f"mma.sync.aligned.m8n8k4.{left}.{right}.{result}.f16.f16.{addend}"
    counts = (a.shape[2], b.shape[2], c.shape[2])
    running = Running(tmp_path, mma_kernel(name, counts, ("b32", "b32", "b32"), results=d.shape[2]), "k")
    buffers = [running.put(name, array) for name, array in zip("abc", (a, b, c), strict=True)]
    out = running.put("d", np.zeros_like(d))
    running.launch("k", 1, 32 * len(a), *buffers, out)
    assert (out.read().view(np.uint32).reshape(d.shape) == d).all()

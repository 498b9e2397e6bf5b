"""Operands worth trying: every type's edges, and random bits from a seed."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gpuregress.virtual_gpu.ptx.modifiers import BITS
from tests.conformance.catalog.form import Form

Array = npt.NDArray[Any]

_FLOATS = {"f16": (10, 15), "bf16": (7, 127), "f32": (23, 127), "f64": (52, 1023)}


def edges(kind: str) -> list[int]:
    """Bits of a type's edges."""
    if kind == "pred":
        return [0, 1]
    if kind in ("f16x2", "bf16x2"):
        halves = edges(kind[:-2])
        return [low | high << 16 for low, high in zip(halves, reversed(halves), strict=True)]
    if kind in _FLOATS:
        return _float_edges(kind)
    bits = BITS[kind]
    top = 1 << (bits - 1)
    values = {0, 1, 2, 3, 7, 8, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 0x7FFF, 0x8000, 0xFFFF, 0x10000}
    values |= {
        top - 1,
        top,
        top + 1,
        2 * top - 1,
        2 * top - 2,
        2 * top - 8,
        top // 2,
        0x00FFFFFF,
        0x01000000,
        0x01000001,
    }
    return sorted(value % (2 * top) for value in values)


def _float_edges(kind: str) -> list[int]:
    mantissa, bias = _FLOATS[kind]
    infinity, one, unit = (2 * bias + 1) << mantissa, bias << mantissa, 1 << mantissa
    sizes = [0, 1, 2, unit // 2, unit - 1, unit, unit + 1, 2 * unit - 1]  # zero, subnormals, the smallest normals
    sizes += [one - 1, one, one + 1, one + unit // 2, one + unit, one - unit, one + 2 * unit + unit // 4]
    sizes += [infinity - 1, infinity - unit, infinity, infinity + 1, infinity + unit // 2, infinity + unit - 1]
    if kind in ("f32", "f64"):
        for power in (7, 8, 10, 15, 16, 31, 32, 63, 64):  # where integers and narrower formats end
            sizes += [(bias + power << mantissa) - 1, bias + power << mantissa]
        drop = mantissa - 10
        sizes += [one + (1 << drop - 1), one + (3 << drop - 1), one + (1 << drop - 1) + 1, (bias - 14 << mantissa) - 1]
        sizes += [
            (bias - 24 << mantissa),
            (bias - 25 << mantissa),
            (bias - 25 << mantissa) + 1,
            (bias - 133 << mantissa) % infinity,
        ]
    if kind == "f64":  # about f32's smallest normal number
        sizes += [0x3810000000000000 - (1 << 29 - lost) + step for lost in (0, 1, 2) for step in (-1, 0, 1)]
    sign = 1 << (mantissa + (4 if bias == 15 else 7 if bias == 127 else 10) + 1)
    return [size | extra for size in sizes for extra in (0, sign)]


def operands(form: Form, seed: int, count: int, random: int) -> list[Array]:
    """Arrays of bits for a form's inputs: about `count` tuples of edges, then `random` random ones.

    One input: all edges. Several: a sample of all tuples of edges, chosen by the seed.
    """
    generator = np.random.default_rng(seed)
    lists = [np.array(edges(kind), dtype=np.uint64) for kind in form.inputs.values()]
    total = int(np.prod([len(values) for values in lists]))
    flat = np.arange(total) if total <= count else generator.integers(0, total, count)
    places = np.unravel_index(flat, [len(values) for values in lists])
    arrays = [values[place] for values, place in zip(lists, places, strict=True)]
    return [
        np.concatenate([array, _random(generator, kind, random)])
        for array, kind in zip(arrays, form.inputs.values(), strict=True)
    ]


def _random(generator: np.random.Generator, kind: str, count: int) -> Array:
    """Random bits; of f32 and f64 half have exponents near 0, where sums and products do not run off the range."""
    bits = generator.integers(0, 1 << 64, count, dtype=np.uint64, endpoint=False)
    if kind == "pred":
        return bits & np.uint64(1)
    bits &= np.uint64((1 << BITS[kind]) - 1)
    if kind in ("f32", "f64"):
        mantissa, bias = _FLOATS[kind]
        exponents = generator.integers(bias - 8, bias + 40, count).astype(np.uint64) << np.uint64(mantissa)
        near = bits & ~np.uint64((2 * bias + 1) << mantissa) | exponents
        bits[::2] = near[::2]
    if kind in ("u32", "s32"):
        bits[::2] &= np.uint64(63)  # shift counts, bit positions, small numbers
    return bits

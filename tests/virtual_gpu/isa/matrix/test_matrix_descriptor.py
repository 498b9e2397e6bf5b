"""Which bytes a descriptor names, against formulas that agree with an H200 for 736 random descriptors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpuregress.virtual_gpu.isa.matrix.wgmma import DescribedMatrix
from tests.virtual_gpu.isa.matrix.warpgroups import Array, descriptor, run, sums, wgmma_kernel

GROUPS = 24
IDENTITY = np.arange(64)[:, None] == np.arange(16)


def _offsets(count: int, *, transposed: bool, leading: int, stride: int, swizzle: int) -> Array:
    """Bytes from the start to each element, [row of A or column of B][step], before the swizzle."""
    row, step = np.arange(count)[:, None], np.arange(16)[None, :]
    width = 256 >> swizzle if swizzle else 16
    if not transposed:
        chunk = (step // 8) * (16 if swizzle else leading)
        return row % 8 * width + row // 8 * stride + chunk + step % 8 * 2
    per = width // 16
    along, down = (leading, stride) if swizzle else (stride, leading)
    group = row // 8
    return group % per * 16 + group // per * along + step % 8 * width + step // 8 * down + row % 8 * 2


def _elements(count: int, start: int, base: int, *, transposed: bool, leading: int, stride: int, swizzle: int) -> Array:
    """The numbers of the halves that a descriptor names, [row or column][step]."""
    linear = start + _offsets(count, transposed=transposed, leading=leading, stride=stride, swizzle=swizzle)
    mask = (256 >> swizzle if swizzle else 16) // 16 - 1
    elements: Array = (linear ^ (((linear >> 7) - base & mask) << 4)) // 2
    return elements


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("is_a", [False, True])
def test_descriptors_name_the_bytes_that_a_card_reads(*, transposed: bool, is_a: bool, tmp_path: Path) -> None:
    generator = np.random.default_rng(11)
    halves = generator.integers(-900, 900, (1, 16384)).astype(np.float16)
    # The identity, for the product with a matrix in registers or (from byte 31744 on) in shared memory.
    cores = IDENTITY[:16].reshape(2, 8, 2, 8).transpose(0, 2, 1, 3).reshape(-1)
    halves[0, 15872 : 15872 + 256] = cores
    count, settings, expected = (64 if is_a else 32), [], []
    for number in range(GROUPS):
        swizzle, base = number % 4, number % 8
        start = 16 * int(generator.integers(0, 256))
        leading, stride = (16 * int(generator.integers(0, 128)) for _ in range(2))
        named = descriptor(start, leading, stride, swizzle, base)
        settings.append((0, named, descriptor(31744, 128, 256)) if is_a else (0, 0, named))
        places = _elements(count, start, base, transposed=transposed, leading=leading, stride=stride, swizzle=swizzle)
        expected.append(halves[0, places] if is_a else halves[0, places].T)
    shared = np.repeat(halves.view(np.uint32), GROUPS, 0)
    columns = 16 if is_a else 32
    registers = 0 if is_a else 4
    signs = f", 1, 1, {int(transposed)}{', 0' if is_a else ''}"
    name = f"wgmma.mma_async.sync.aligned.m64n{columns}k16.f32.f16.f16"
    text = wgmma_kernel(name, columns // 2, signs=signs, registers=registers)
    a = np.repeat(_identity_in_registers()[None], GROUPS, 0)
    got = sums(run(tmp_path, text, (a, np.zeros((GROUPS, 128, 64), np.uint32), shared), settings, columns // 2))
    assert (got.view(np.float32)[:, : 64 if is_a else 16] == np.array(expected, np.float32)).all()


def _identity_in_registers() -> Array:
    """A whose first 16 rows are the identity: [thread][register]."""
    thread = np.arange(128)
    row, inner = thread // 32 * 16 + thread % 32 // 4, thread % 4
    words = np.zeros((128, 4), np.uint32)
    for register in range(4):
        for half in range(2):
            is_one = row + 8 * (register % 2) == inner * 2 + half + 8 * (register // 2)
            words[:, register] |= (is_one * 0x3C00).astype(np.uint32) << np.uint32(16 * half)
    return words


def test_subroutines_are_named_by_shape() -> None:
    assert DescribedMatrix(16, 32, transposed=True).name == "descriptor.16x32.transposed"

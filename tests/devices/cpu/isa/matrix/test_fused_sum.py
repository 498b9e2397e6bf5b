"""Fused sums against an H100's: two warps of each distribution of operands, for every form of mma.

`tensor_core.npz` has arrays `FORM/a|b|c|d` of [warp][lane][register], uint32: the operands, and what the card gave. The
distributions are small, wide, narrow, sparse (60 % zeros), all bit patterns, big exponents, and special numbers.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.devices.cpu.isa.matrix.kernels import mma_kernel
from tests.devices.cpu.running import Running

with np.load(Path(__file__).with_name("tensor_core.npz")) as _file:
    VECTORS = dict(_file)
FORMS = sorted({name.partition("/")[0] for name in VECTORS})


@pytest.mark.parametrize("form", FORMS)
def test_sums_have_the_bits_of_a_card(form: str, tmp_path: Path) -> None:
    _, depth, *kinds = form.split("_")
    left, right, result = kinds[0], kinds[-2], kinds[-1]
    a, b, c, d = (VECTORS[f"{form}/{name}"] for name in "abcd")
    name = f"mma.sync.aligned.m16n8{depth}.row.col.{result}.{left}.{right}.{result}"
    counts = (a.shape[2], b.shape[2], c.shape[2])
    running = Running(tmp_path, mma_kernel(name, counts, ("b32", "b32", "b32")), "k")
    buffers = [running.put(name, array) for name, array in zip("abc", (a, b, c), strict=True)]
    out = running.put("d", np.zeros_like(d))
    running.launch("k", 1, 32 * len(a), *buffers, out)
    assert (out.read().view(np.uint32).reshape(d.shape) == d).all()


def test_every_form_that_was_measured_is_there() -> None:
    assert len(FORMS) == 14

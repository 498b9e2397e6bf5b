"""Half-precision products of shape m8n8k4 against an H200's.

`m8n8k4.npz` has arrays `FORM/a|b|c|d` of [warp][lane][register], uint32. A form is the orders of A and B, and the types
of D and C.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.virtual_gpu.isa.matrix.kernels import mma_kernel
from tests.virtual_gpu.running import Running

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

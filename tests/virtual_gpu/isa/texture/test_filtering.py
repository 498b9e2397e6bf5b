"""Linear filtering against an H200's results, cell by cell.

`cells.npz` has for each distribution of texels `NAME/texels` (n, corners), `NAME/fractions` (n, axes), of 256, and
`NAME/out` (n), the bits of a float32. Half of the samples of floats are ones that a sum in double precision gets wrong.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.devices import filter_oracle
from tests.virtual_gpu.isa.texture.kernels import Array, Sampling

with np.load(Path(__file__).with_name("cells.npz")) as _file:
    CELLS = dict(_file)
NAMES = sorted({name.partition("/")[0] for name in CELLS})


@pytest.fixture(scope="module")
def sampling(tmp_path_factory: pytest.TempPathFactory) -> Sampling:
    return Sampling(tmp_path_factory.mktemp("kernels"))


def row_of_cells(texels: Array) -> Array:
    """An image that holds the cells side by side, two texels wide each."""
    count, corners = texels.shape
    axes = corners.bit_length() - 1
    cells = texels.reshape(count, *[2] * axes)
    return np.moveaxis(cells, 0, -2).reshape(*[2] * (axes - 1), 2 * count)


@pytest.mark.parametrize("name", NAMES)
def test_a_card_s_bits(sampling: Sampling, name: str) -> None:
    texels, fractions, wanted = (CELLS[f"{name}/{part}"] for part in ("texels", "fractions", "out"))
    places = fractions / 256 + 0.5
    places[:, 0] += 2 * np.arange(len(places))
    read = "element" if texels.dtype.kind == "f" else "normalized_float"
    image = row_of_cells(texels)
    actual = sampling(f"{fractions.shape[1]}d", image, places.astype(np.float32), filter="linear", read=read)
    assert np.array_equal(actual[:, 0], wanted)
    assert not actual[:, 1:].any()


@pytest.mark.parametrize("name", NAMES)
def test_the_oracle_has_a_card_s_bits(name: str) -> None:
    texels, fractions, wanted = (CELLS[f"{name}/{part}"] for part in ("texels", "fractions", "out"))
    texels = texels.copy()
    for axis in range(fractions.shape[1]):
        corner = np.arange(texels.shape[1])
        replaced = corner & ~(1 << axis)
        texels = np.where((fractions[:, axis] == 0)[:, None], texels[:, replaced], texels)
    weight = filter_oracle.weights([fraction.astype(np.int64) for fraction in fractions.T])
    assert np.array_equal(filter_oracle.blend(texels, weight).view(np.uint32), wanted)


def test_a_sum_in_double_precision_gives_other_bits() -> None:
    texels, fractions, wanted = (CELLS[f"f32_3_wide/{part}"] for part in ("texels", "fractions", "out"))
    weight = filter_oracle.weights([fraction.astype(np.int64) for fraction in fractions.T])
    simple = ((texels.astype(np.float64) * weight).sum(1) / 256).astype(np.float32)
    assert (simple.view(np.uint32) != wanted).mean() > 0.2

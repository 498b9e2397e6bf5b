"""Texture coordinates against an H200's: elements and weights, seen in an image whose texels are their own numbers.

`coordinates.npz` has `MODE EXTENT UNITS FILTER FIRST …/places` (n) and `…/out` (n), the bits of float32; texel i holds
i plus FIRST. Half of the places are within some roundings of a boundary. `cubes.npz` has `EXTENT FILTER …/places`
(n, 3) and `…/out` (n, 3): column, row and face.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.virtual_gpu.isa.texture.kernels import Array, Sampling

_HERE = Path(__file__).parent
with np.load(_HERE / "coordinates.npz") as _file:
    LINES = dict(_file)
with np.load(_HERE / "cubes.npz") as _file:
    CUBES = dict(_file)


def names(vectors: dict[str, Array]) -> list[str]:
    return sorted({name.partition("/")[0] for name in vectors})


@pytest.fixture(scope="module")
def sampling(tmp_path_factory: pytest.TempPathFactory) -> Sampling:
    return Sampling(tmp_path_factory.mktemp("kernels"))


@pytest.mark.parametrize("name", names(LINES))
def test_a_line(sampling: Sampling, name: str) -> None:
    mode, extent, units, filtered, first, *_ = name.split()
    image = np.arange(int(extent), dtype=np.float32) + int(first)
    sampler = {"address": (mode,) * 3, "filter": filtered, "normalized": units == "normalized"}
    actual = sampling("1d", image, LINES[f"{name}/places"][:, None], **sampler)
    assert np.array_equal(actual[:, 0], LINES[f"{name}/out"])


@pytest.mark.parametrize("name", names(CUBES))
def test_a_cube(sampling: Sampling, name: str) -> None:
    extent, filtered, *_ = name.split()
    faces, rows, columns = np.indices((6, int(extent), int(extent)), dtype=np.float32)
    places, wanted = (CUBES[f"{name}/{part}"] for part in ("places", "out"))
    for index, image in enumerate((columns, rows, faces)):
        actual = sampling("cube", image, places, filter=filtered)
        assert np.array_equal(actual[:, 0], wanted[:, index])

from __future__ import annotations

import msgspec
import pytest

from gpuregress.virtual_gpu.runtime.footprint_ir import (
    Condition,
    Constant,
    Footprint,
    LoopConditions,
    Operation,
    Phi,
    Read,
    SurfaceWrite,
    TextureRead,
    Unknown,
    VariableAddress,
    Write,
)
from gpuregress.virtual_gpu.runtime.program import StoredFootprint

FOOTPRINT = Footprint(
    (Operation("+", (1, 2)), Phi(4, (1, 2), (0, 0)), Constant((1 << 64) - 1), VariableAddress("Write", 8), Unknown()),
    {3: LoopConditions((Condition(0, holds=False),), ())},
    {4: {1: (), 2: (Condition(1, holds=True),)}},
    (
        Write(4, 0, 8, ()),
        Read(4, None, 0, (), (8, "Write", "Condition")),
        Read(8, 1, -4, (), None),
        TextureRead(16),
        SurfaceWrite(4, 16, (0, 1), "clamp", ()),
    ),
    has_loops=True,
)


def test_a_stored_footprint_is_decoded_once() -> None:
    stored = StoredFootprint(FOOTPRINT.has_loops, msgspec.json.encode(FOOTPRINT).decode())
    assert stored.footprint == FOOTPRINT
    assert stored.footprint is stored.footprint


@pytest.mark.parametrize("data", ["", "[]", "{}", '[[["Nothing", 1]], {}, {}, [], true]'])
def test_damaged_data_are_an_error(data: str) -> None:
    with pytest.raises(msgspec.DecodeError):
        assert StoredFootprint(has_loops=True, data=data).footprint

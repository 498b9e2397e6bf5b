"""Records as compact JSON: there and back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gpuregress.gpu.errors import CodeLine
from gpuregress.virtual_gpu.runtime import footprint_ir, program
from gpuregress.virtual_gpu.runtime.footprint_ir import (
    Condition,
    Footprint,
    LoopConditions,
    Operation,
    Phi,
    Read,
    Unknown,
)
from gpuregress.virtual_gpu.runtime.program import Relocation, Site, VariableFacts
from gpuregress.virtual_gpu.runtime.record_codec import decode, encode

FOOTPRINT = Footprint(
    (Operation("+", (1, 2)), Phi(4, (1, 2), (0, 0)), Unknown()),
    {3: LoopConditions((Condition(0, holds=False),), ())},
    {4: {1: (), 2: (Condition(1, holds=True),)}},
    (Read(4, None, 0, (), (8, "Write", "Condition")), Read(8, 1, -4, (), None)),
    has_loops=True,
)


@pytest.mark.parametrize(
    "record",
    [
        FOOTPRINT,
        VariableFacts("v", 8, 4, "0a", (Relocation(0, 8, "f", 4, 0),)),
        Site("ld", CodeLine("a.cuh", 3, (("k.cu", 9),))),
    ],
)
def test_a_record_survives(record: object) -> None:
    assert decode(json.loads(json.dumps(encode(record))), {**footprint_ir.CLASSES, **program.CLASSES}) == record


@pytest.mark.parametrize(
    ("data", "error"),
    [({"Nothing": []}, KeyError), ({"Site": [1]}, TypeError), ({}, ValueError), ({"": [1]}, TypeError)],
)
def test_other_data_are_an_error(data: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        decode(data, program.CLASSES)

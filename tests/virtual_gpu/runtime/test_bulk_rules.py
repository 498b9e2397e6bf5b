from __future__ import annotations

from typing import Any

import pytest

from gpuregress.foundation.records import Im2col, TensorMap
from gpuregress.gpu.records import replace
from gpuregress.virtual_gpu.runtime.bulk_copies import breach

TILED = TensorMap("int64", (64, 8, 8), (512, 4096), (8, 4, 4), (1, 1, 1))
PIXELS = replace(TILED, box=(), im2col=Im2col((-1,), (-2,), 8, 4))
INNER = replace(TILED, box=(), im2col=Im2col((0,), (-2,), 8, 4))


@pytest.mark.parametrize(
    ("given", "start", "further", "message"),
    [
        (TILED, (-2, -3, 99), {"is_load": True}, ""),
        (TILED, (1, 0, 0), {"is_load": True}, "coordinate 1 of the fastest axis is byte 8: it must be a multiple of 1"),
        (TILED, (3, 0, 0), {"is_load": False}, "coordinate 3 of the fastest axis is byte 24"),
        (replace(TILED, interleave="16B"), (3, -1, 0), {"is_load": True}, ""),
        (replace(TILED, box=(1, 4, 4)), (0, 0, 0), {"is_load": True}, "has 8 bytes along the fastest axis of its box"),
        (TILED, (62, 99, 0), {"is_load": False}, ""),
        (TILED, (0, 0, -1), {"is_load": False}, "coordinate 2 is -1: a box that is stored cannot begin in front of"),
        (TILED, (0, 0, 0), {"is_load": False, "reduction": "min"}, ""),
        (TILED, (0, 0, 0), {"is_load": False, "reduction": "add"}, "there is no add of int64 elements, only min, max"),
        (
            replace(TILED, type="uint8", box=(16, 4, 4)),
            (0, 0, 0),
            {"is_load": False, "reduction": "or"},
            "no or of uint8 elements",
        ),
        (PIXELS, (0, -1, 99), {"is_load": True}, ""),
        (PIXELS, (0, 5, -1), {"is_load": True}, ""),
        (PIXELS, (0, -2, 0), {"is_load": True}, "coordinate 1 is -2: the bounding box is -1 to 5 there"),
        (PIXELS, (0, 0, 0), {"is_load": False}, "the bounding box reaches out of the tensor: pixels cannot be stored"),
        (INNER, (0, 5, 99), {"is_load": False}, ""),
        (INNER, (0, 6, 0), {"is_load": False}, "coordinate 1 is 6: the bounding box is 0 to 5 there"),
        (
            replace(PIXELS, interleave="16B"),
            (62, 9, 9),
            {"is_load": True},
            "coordinate 0 is 62: the bounding box is -1 to",
        ),
        (replace(PIXELS, interleave="16B"), (61, 9, 9), {"is_load": True}, ""),
        (replace(INNER, interleave="16B"), (0, 0, 0), {"is_load": False}, "has interleave: 16B: not supported by the"),
        (PIXELS, (0, 6, 0), {"is_load": True}, "coordinate 1 is 6: the bounding box is -1 to 5 there"),
    ],
)
def test_breaches(given: TensorMap, start: tuple[int, ...], further: dict[str, Any], message: str) -> None:
    found = breach(given, start, **further)
    assert message in found
    assert bool(found) == bool(message)

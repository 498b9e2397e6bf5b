from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpuregress.devices.cpu.runtime.bulk.support import refusal
from gpuregress.records import Im2col, TensorMap

PLAIN = TensorMap("float32", (64, 8, 8), (256, 2048), (8, 4, 4), (1, 1, 1), swizzle="32B")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, ""),
        ({"interleave": "16B"}, "interleave: 16B"),
        ({"type": "tfloat32"}, "type: tfloat32"),
        ({"oob_fill": "nan"}, "oob_fill: nan"),
        ({"swizzle": "64B"}, "swizzle: 64B with 32 bytes along the last axis of the box"),
        ({"box": (), "im2col": Im2col((0,), (0,), 8, 4)}, ""),
        ({"box": (), "im2col": Im2col((0,), (0,), 4, 4)}, "swizzle: 32B with 16 bytes along the last axis of the box"),
    ],
)
def test_what_is_not_known_is_refused(changes: dict[str, Any], reason: str) -> None:
    assert refusal(replace(PLAIN, **changes)) == reason

from __future__ import annotations

from typing import Any

from gpuregress.execution.cuda.textures import encode_tensor_map
from gpuregress.foundation.records import Im2col, TensorMap


def _calls(given: TensorMap) -> tuple[str, list[Any]]:
    calls: list[tuple[str, list[Any]]] = []

    def call(name: str, *arguments: Any) -> None:
        assert arguments[0].value % 64 == 0
        plain = [list(item) if hasattr(item, "_length_") else getattr(item, "value", item) for item in arguments[1:]]
        calls.append((name, plain))

    assert encode_tensor_map(given, 4096, call) == bytes(128)
    return calls[0]


def test_a_tiled_map() -> None:
    given = TensorMap("float16", (128, 64), (256,), (64, 32), (1, 2), "none", "128B", "256B", "nan")
    wanted = [6, 2, 4096, [128, 64], [256], [64, 32], [1, 2], 0, 3, 3, 1]
    assert _calls(given) == ("cuTensorMapEncodeTiled", wanted)


def test_an_im2col_map() -> None:
    box = Im2col((-1,), (1,), 16, 32)
    given = TensorMap("bfloat16", (16, 8, 2), (32, 256), (), (1, 1, 1), swizzle="32B", im2col=box)
    wanted = [9, 3, 4096, [16, 8, 2], [32, 256], [-1], [1], 16, 32, [1, 1, 1], 0, 1, 0, 0]
    assert _calls(given) == ("cuTensorMapEncodeIm2col", wanted)

from __future__ import annotations

from gpuregress.foundation.records import TensorMap


def test_a_tensor_reaches_from_its_first_byte_to_its_last() -> None:
    assert TensorMap("float16", (10, 3), (32,), (8, 1), (1, 1)).size == 2 * 32 + 20
    assert TensorMap("tfloat32", (10,), (), (8,), (1,)).element_size == 4

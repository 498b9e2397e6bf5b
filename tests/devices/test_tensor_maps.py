from __future__ import annotations

import pytest

from gpuregress.devices.tensor_maps import check_size
from gpuregress.errors import DeviceError
from gpuregress.records import TensorMap
from tests.fakes import FakeMemory


def test_a_buffer_holds_its_tensor() -> None:
    given = TensorMap("float32", (4, 2), (32,), (4, 1), (1, 1))
    check_size(FakeMemory("x", 48, 0), given)
    with pytest.raises(DeviceError, match="x has 47 bytes; its tensor map has 48"):
        check_size(FakeMemory("x", 47, 0), given)

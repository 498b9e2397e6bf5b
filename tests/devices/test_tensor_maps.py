"""Tensor maps on each device that this machine has."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from gpuregress.devices import registry
from gpuregress.devices.base import Device
from gpuregress.devices.tensor_maps import check_size
from gpuregress.errors import DeviceError, UnsupportedError
from gpuregress.records import Im2col, TensorMap
from tests.devices.bench import Bench
from tests.devices.tensor_map_contract import TensorMapContract, image
from tests.fakes import FakeMemory


class TestCpu(TensorMapContract):
    @pytest.fixture
    def device(self) -> Iterator[Device]:
        with registry.open_device("cpu") as device:
            yield device

    def test_what_is_not_known_of_a_card_is_refused(self, bench: Bench) -> None:
        x = bench.put("x", image(np.uint32))
        given = TensorMap("uint16", (8, 4, 2), (128, 512), (), (1, 1, 1), "16B", im2col=Im2col((0,), (0,), 8, 4))
        with pytest.raises(UnsupportedError, match="the tensor map of x has im2col with interleave: 16B: not support"):
            bench.device.tensor_map(x, given)


@pytest.mark.gpu
class TestCuda(TensorMapContract):
    @pytest.fixture
    def device(self, gpu: str) -> Iterator[Device]:
        with registry.open_device(gpu) as device:
            yield device


def test_a_buffer_holds_its_tensor() -> None:
    given = TensorMap("float32", (4, 2), (32,), (4, 1), (1, 1))
    check_size(FakeMemory("x", 48, 0), given)
    with pytest.raises(DeviceError, match="x has 47 bytes; its tensor map has 48"):
        check_size(FakeMemory("x", 47, 0), given)

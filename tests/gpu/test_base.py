"""The defaults of a device's optional abilities."""

from __future__ import annotations

from tests import fakes


def test_a_device_need_not_time_exactly_nor_have_clocks_or_a_canary() -> None:
    device = fakes.FakeDevice()
    with device.timed_exactly():
        device.canary()
    assert device.clocks() == {}


def test_a_module_need_not_know_its_occupancy() -> None:
    assert fakes.FakeModule().occupancy("k", (32, 1, 1), 0) == {}

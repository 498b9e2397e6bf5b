from __future__ import annotations

from gpuregress.store.history import series


def test_cards_of_a_host_are_one_kind_of_device() -> None:
    assert series.device_kind("cuda:3") == series.device_kind("cuda") == "cuda"

from __future__ import annotations

import pytest

from gpuregress.virtual_gpu.parallel import cores


def test_cores_are_those_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cores.VARIABLE, "5")
    assert cores.for_one_launch() == 5
    monkeypatch.setenv(cores.VARIABLE, "many")
    assert cores.for_one_launch() == cores.available()


def test_workers_share_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(cores.VARIABLE, raising=False)
    monkeypatch.setattr(cores, "available", lambda: 8)
    assert cores.share(3) == {cores.VARIABLE: "2"}
    assert cores.share(20) == {cores.VARIABLE: "1"}
    monkeypatch.setenv(cores.VARIABLE, "4")
    assert cores.share(3) == {}

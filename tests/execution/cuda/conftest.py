"""The fake card as fixtures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuregress.execution.cuda import driver, nvml
from gpuregress.execution.cuda.device import CudaDevice
from gpuregress.execution.cuda.module import CudaModule
from gpuregress.toolchain import cubin_linker
from tests.execution.cuda.fake_api import FakeApi
from tests.execution.cuda.fake_card import KERNELS, program_in


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> FakeApi:
    fake = FakeApi(KERNELS)  # type: ignore[arg-type] # functions of the right shape
    monkeypatch.setattr(driver, "api", lambda: fake)
    monkeypatch.setattr(driver, "_release", lambda: "")  # a host with a GPU has its own
    monkeypatch.setattr(nvml, "cards", lambda _bus: ({"uuid": "GPU-1", "driver": "580.1"},))
    monkeypatch.setattr(cubin_linker, "resources", lambda _program: {"fill": {"spill": 12}})
    return fake


@pytest.fixture
def device(api: FakeApi) -> Iterator[CudaDevice]:
    with CudaDevice(0) as opened:
        yield opened


@pytest.fixture
def module(device: CudaDevice, tmp_path: Path) -> CudaModule:
    ptx = tmp_path / "k.ptx"
    ptx.write_text("// no kernel that waits for its grid, none that traps\n")
    return device.load(program_in(tmp_path, str(ptx)))

"""A program on the card: its kernels, variables and resources."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.execution.cuda import cooperative
from gpuregress.execution.cuda.device import CudaDevice
from gpuregress.execution.cuda.module import CudaModule
from gpuregress.foundation.errors import DeviceError
from gpuregress.foundation.records import SM_90, Entry, Parameter
from gpuregress.gpu.limits import of_architecture
from gpuregress.gpu.records import replace
from tests.execution.cuda.fake_card import launch, program_in


def test_a_program_ends_with_its_case(device: CudaDevice, module: CudaModule) -> None:
    device.free_all()
    with pytest.raises(DeviceError, match="was unloaded at the end of its case"):
        launch(device, module, "fill")


def test_spills_come_from_the_assembler(module: CudaModule) -> None:
    assert module.kernel("fill").spill == 12
    assert module.kernel("past").spill == 0


def test_names_that_are_not_there(device: CudaDevice, module: CudaModule) -> None:
    with pytest.raises(DeviceError, match="no kernel nothing in this program; there are: fill"):
        module.kernel("nothing")
    with pytest.raises(DeviceError, match="no variable nowhere"):
        module.symbol("nowhere")
    assert module.symbol("taps").size == 16


@pytest.mark.parametrize(("text", "traps"), [("trap;", True), ("ret;", False)])
def test_a_trap_is_seen_in_the_ptx(device: CudaDevice, tmp_path: Path, text: str, traps: bool) -> None:  # noqa: FBT001 - a row
    ptx = tmp_path / "t.ptx"
    ptx.write_text(text)
    module = device.load(program_in(tmp_path, str(ptx)))
    assert module.traps is traps
    assert not module.is_blind


def test_a_program_with_a_tensor_map_gets_each_argument_on_its_own(
    device: CudaDevice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[bytes] = []

    class Loaded:
        def __init__(self, image: bytes, entries: object) -> None:
            del entries
            loaded.append(image)

        def unload(self) -> None:
            loaded.clear()

    monkeypatch.setattr(cooperative, "CooperativeProgram", Loaded)
    ptx = tmp_path / "t.ptx"
    ptx.write_text("ret;")
    program = program_in(tmp_path, str(ptx))
    device.load(program)
    assert not loaded
    entries = {"fill": Entry("fill", (Parameter(128, 64, "struct"),))}
    device.load(replace(program, entries=entries))
    assert loaded


def test_occupancy_is_known_where_the_limits_are(
    device: CudaDevice, module: CudaModule, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert module.occupancy("fill", (256, 1, 1), 0) == {}
    limits = of_architecture(SM_90)
    monkeypatch.setattr(device, "_info", replace(device.info, limits=limits))
    actual = module.occupancy("fill", (256, 1, 1), 100_000)
    assert actual["blocks"] == limits["shared_per_multiprocessor"] // 101_376  # in units of 128 bytes, 1 KiB reserved
    assert actual["occupancy"] == 100 * actual["blocks"] * 8 // 64

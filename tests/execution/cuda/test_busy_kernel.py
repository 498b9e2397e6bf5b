from __future__ import annotations

from gpuregress.execution.cuda import device
from gpuregress.toolchain import cubin_linker, ptx_declarations


def test_the_kernel_that_holds_the_card_assembles() -> None:
    (entry,) = ptx_declarations.parse(device.BUSY_PTX).entries.values()
    assert entry.mangled == device.BUSY_KERNEL
    assert sum(parameter.size for parameter in entry.parameters) == len(device.BUSY_ARGUMENTS)
    assert cubin_linker.link(device.BUSY_PTX, "sm_90", "hold.ptx").cubin[:4] == b"\x7fELF"

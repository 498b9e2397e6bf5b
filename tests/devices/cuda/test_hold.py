from __future__ import annotations

from gpuregress.devices.cuda import hold
from gpuregress.toolchain import link, ptx_declarations


def test_the_kernel_that_holds_the_card_assembles() -> None:
    (entry,) = ptx_declarations.parse(hold.PTX).entries.values()
    assert entry.mangled == hold.KERNEL
    assert sum(parameter.size for parameter in entry.parameters) == len(hold.ARGUMENTS)
    assert link.link(hold.PTX, "sm_90", "hold.ptx").cubin[:4] == b"\x7fELF"

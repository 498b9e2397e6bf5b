from __future__ import annotations

from gpuregress.execution.cuda.own_kernels import busy_kernel
from gpuregress.toolchain import cubin_linker, ptx_declarations


def test_the_kernel_that_holds_the_card_assembles() -> None:
    (entry,) = ptx_declarations.parse(busy_kernel.PTX).entries.values()
    assert entry.mangled == busy_kernel.KERNEL
    assert sum(parameter.size for parameter in entry.parameters) == len(busy_kernel.ARGUMENTS)
    assert cubin_linker.link(busy_kernel.PTX, "sm_90", "hold.ptx").cubin[:4] == b"\x7fELF"

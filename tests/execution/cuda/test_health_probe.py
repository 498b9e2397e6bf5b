from __future__ import annotations

import numpy as np

from gpuregress.execution.cuda import own_kernels
from gpuregress.toolchain import cubin_linker, ptx_declarations


def test_the_canary_assembles() -> None:
    assert list(ptx_declarations.parse(own_kernels.PROBE_PTX).entries) == [own_kernels.PROBE_KERNEL]
    assert cubin_linker.link(own_kernels.PROBE_PTX, "sm_90", "canary.ptx").cubin[:4] == b"\x7fELF"
    assert own_kernels.probe_output().size == 4 * own_kernels.PROBE_THREADS
    assert own_kernels.probe_output().view(np.uint32)[:2].tolist() == [97, (2654435761 + 97) % (1 << 32)]

from __future__ import annotations

import numpy as np

from gpuregress.execution.cuda.own_kernels import health_probe
from gpuregress.toolchain import cubin_linker, ptx_declarations


def test_the_canary_assembles() -> None:
    assert list(ptx_declarations.parse(health_probe.PTX).entries) == [health_probe.KERNEL]
    assert cubin_linker.link(health_probe.PTX, "sm_90", "canary.ptx").cubin[:4] == b"\x7fELF"
    assert health_probe.expected().size == 4 * health_probe.THREADS
    assert health_probe.expected().view(np.uint32)[:2].tolist() == [97, (2654435761 + 97) % (1 << 32)]

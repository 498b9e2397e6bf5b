from __future__ import annotations

import numpy as np

from gpuregress.execution.cuda import device
from gpuregress.toolchain import cubin_linker, ptx_declarations


def test_the_canary_assembles() -> None:
    assert list(ptx_declarations.parse(device.PROBE_PTX).entries) == [device.PROBE_KERNEL]
    assert cubin_linker.link(device.PROBE_PTX, "sm_90", "canary.ptx").cubin[:4] == b"\x7fELF"
    assert device.probe_output().size == 4 * device.PROBE_THREADS
    assert device.probe_output().view(np.uint32)[:2].tolist() == [97, (2654435761 + 97) % (1 << 32)]

from __future__ import annotations

import numpy as np

from gpuregress.devices.cuda import canary
from gpuregress.toolchain import link, ptx_declarations


def test_the_canary_assembles() -> None:
    assert list(ptx_declarations.parse(canary.PTX).entries) == [canary.KERNEL]
    assert link.link(canary.PTX, "sm_90", "canary.ptx").cubin[:4] == b"\x7fELF"
    assert canary.expected().size == 4 * canary.THREADS
    assert canary.expected().view(np.uint32)[:2].tolist() == [97, (2654435761 + 97) % (1 << 32)]

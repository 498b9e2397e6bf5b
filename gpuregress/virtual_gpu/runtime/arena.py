"""Memory of one block, reused by later launches: parameters, shared, local, thread context."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from gpuregress.virtual_gpu.runtime.bulk_forms import QUEUE_BYTES
from gpuregress.virtual_gpu.runtime.checks.shadow_memory import BlockState
from gpuregress.virtual_gpu.runtime.machine_layout import (
    EXCHANGE_ENTRIES,
    EXCHANGE_SHIFT,
    LOCAL_START,
    ROWS,
    Machine,
    local_stride,
)
from gpuregress.virtual_gpu.runtime.program import KernelFacts

_Bytes = npt.NDArray[np.uint8]
_ALIGNMENT = 1024
WARP = 32


class Arena:
    """Memory of one block, which grows as launches need it."""

    def __init__(self) -> None:
        self.release()

    def release(self) -> None:
        """Free all memory."""
        self.parameters, self.shared, self.local, self.context = (_aligned(0) for _ in range(4))
        self.copies, self.exchanges = _aligned(0), _aligned(0)
        self.checks = BlockState()
        self.alone = np.zeros(1, np.uint64)
        """Where the shared memories are of a cluster of this one block."""
        self.local_gaps = np.zeros((0, 2), np.uint64)
        """First and last addresses (exclusive) of the gaps between the kernel's local variables, in their window."""

    def prepare(self, parameters: bytes, shared_bytes: int, facts: KernelFacts, threads: int) -> None:
        """Make room for one launch.

        Args:
            parameters: the kernel's parameter space.
            shared_bytes: of the shared window.
            facts: the kernel's.
            threads: of a block.
        """
        if len(self.parameters) != len(parameters) + 16:
            self.parameters = _aligned(len(parameters) + 16)
        self.parameters[: len(parameters)] = np.frombuffer(parameters, np.uint8)
        self.shared = _grown(self.shared, shared_bytes)
        self.alone = np.array([self.shared.ctypes.data], np.uint64)
        self.context = _grown(self.context, facts.context_bytes)
        if facts.has_copies:
            self.copies = _grown(self.copies, QUEUE_BYTES)  # Zeros, which take no memory before they are touched.
        if facts.context_bytes:
            # Lanes that the block does not have post nothing: an earlier launch's must not show.
            start, step = ROWS["snap"]
            self.context[start + step * threads : start + step * (threads + WARP)] = 0
        if facts.granules:
            self.checks.prepare(len(self.shared), facts.granules[0])
        if facts.watches_exchanges:
            self.exchanges = _aligned(EXCHANGE_ENTRIES << EXCHANGE_SHIFT)
        spans = [(item.start, item.start + item.size) for item in facts.locals]
        gaps = [(LOCAL_START + end, LOCAL_START + start) for (_, end), (start, _) in pairwise(spans)]
        self.local_gaps = np.array(gaps, np.uint64).reshape(-1, 2)
        needed = local_size(facts, threads)
        if facts.granules:
            needed *= 2  # Notes on each byte.
        self.local = _grown(self.local, needed)

    def enter(self, machine: Machine) -> None:
        """Let a machine run a block, which is alone in its cluster, in this memory."""
        machine.shared, machine.local = self.shared.ctypes.data, self.local.ctypes.data
        machine.context, machine.copies = self.context.ctypes.data, self.copies.ctypes.data
        machine.block_checks, machine.cluster_checks = self.checks.address, self.checks.alone
        machine.cluster_shared = self.alone.ctypes.data


def local_size(facts: KernelFacts, threads: int) -> int:
    """The bytes of the local memory of a block's threads; those that do not wait use the same, one after the other.

    Args:
        facts: the kernel's.
        threads: of a block.
    """
    if not facts.local_bytes:
        return 0
    stride = local_stride(facts.local_bytes)
    return stride * threads if facts.context_bytes else stride


def _grown(memory: _Bytes, size: int) -> _Bytes:
    return memory if len(memory) >= size else _aligned(size)


def _aligned(size: int) -> _Bytes:
    block = np.zeros(size + _ALIGNMENT, np.uint8)
    start = -block.ctypes.data % _ALIGNMENT
    return block[start : start + size]

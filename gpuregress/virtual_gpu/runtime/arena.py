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
    """Memory of one block, which grows as launches need it.

    Attributes:
        version: changes when memory is replaced; the parameters and the gaps of a kernel stay where they are.
    """

    def __init__(self) -> None:
        self.version = 0
        self.release()

    def release(self) -> None:
        """Free all memory."""
        self.parameters, self.shared, self.local, self.context = (_aligned(0) for _ in range(4))
        self.copies, self.exchanges = _aligned(0), _aligned(0)
        self.version += 1
        self._parameters: dict[int, _Bytes] = {}
        self._gaps: dict[int, tuple[KernelFacts, npt.NDArray[np.uint64]]] = {}
        self.checks = BlockState()
        self.alone = np.array([self.shared.ctypes.data], np.uint64)
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
        if len(parameters) not in self._parameters:
            self._parameters[len(parameters)] = _aligned(len(parameters) + 16)
        self.parameters = self._parameters[len(parameters)]
        self.parameters[: len(parameters)] = np.frombuffer(parameters, np.uint8)
        if len(self.shared) < shared_bytes:
            self.shared = self._new(shared_bytes)
            self.alone = np.array([self.shared.ctypes.data], np.uint64)
        if len(self.context) < facts.context_bytes:
            self.context = self._new(facts.context_bytes)
        if facts.has_copies and len(self.copies) < QUEUE_BYTES:
            self.copies = self._new(QUEUE_BYTES)  # Zeros, which take no memory before they are touched.
        if facts.context_bytes:
            # Lanes that the block does not have post nothing: an earlier launch's must not show.
            start, step = ROWS["snap"]
            self.context[start + step * threads : start + step * (threads + WARP)] = 0
        if facts.granules:
            self.checks.prepare(len(self.shared), facts.granules[0])
        if facts.watches_exchanges:
            self.exchanges = self._new(EXCHANGE_ENTRIES << EXCHANGE_SHIFT)
        if id(facts) not in self._gaps:
            self._gaps[id(facts)] = facts, _gaps_between_locals(facts)
        _, self.local_gaps = self._gaps[id(facts)]
        needed = local_size(facts, threads)
        if facts.granules:
            needed *= 2  # Notes on each byte.
        if len(self.local) < needed:
            self.local = self._new(needed)

    def _new(self, size: int) -> _Bytes:
        """Memory in place of a smaller part of the arena."""
        self.version += 1
        return _aligned(size)

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


def _gaps_between_locals(facts: KernelFacts) -> npt.NDArray[np.uint64]:
    spans = [(item.start, item.start + item.size) for item in facts.locals]
    gaps = [(LOCAL_START + end, LOCAL_START + start) for (_, end), (start, _) in pairwise(spans)]
    return np.array(gaps, np.uint64).reshape(-1, 2)


def _aligned(size: int) -> _Bytes:
    block = np.zeros(size + _ALIGNMENT, np.uint8)
    start = -block.ctypes.data % _ALIGNMENT
    return block[start : start + size]

"""Bulk copies without a kernel: operands as compiled code passes them."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from gpuregress.foundation.errors import KernelFault
from gpuregress.virtual_gpu.runtime.bulk_copies import BulkCopies
from gpuregress.virtual_gpu.runtime.fault_context import BadAccess
from gpuregress.virtual_gpu.runtime.machine_layout import CLUSTER_SHIFT, SHARED_WINDOW, Machine
from gpuregress.virtual_gpu.runtime.memory import AddressSpace
from gpuregress.virtual_gpu.runtime.program import SharedVariable

_LOAD = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"


_BETWEEN = "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes"


class _Block:
    def __init__(self, *, in_cluster: bool = True) -> None:
        self.space, self.memory = AddressSpace(), np.zeros(4096, np.uint8)
        self.hosts = np.array([self.memory.ctypes.data], np.uint64)
        self.machine = Machine(
            shared=self.memory.ctypes.data, cluster_count=1, cluster_shared=self.hosts.ctypes.data, dynamic_size=1024
        )
        variables = [SharedVariable("gate", 1024, 8), SharedVariable("box", 2048, -1)]
        self.copies = BulkCopies(self.machine, self.space, variables, [_LOAD, _BETWEEN], in_cluster=in_cluster)
        self.x = self.space.allocate("x", 256)
        self.x.data[:] = np.arange(256)

    def load(self, target: int, size: int) -> None:
        operands = (SHARED_WINDOW + target, self.x.address, size, SHARED_WINDOW + 1024)
        self.copies.issue(0, 0, iter(operands))


def test_a_copy_arrives_at_its_mbarrier_alone() -> None:
    block = _Block()
    block.load(2048, 64)
    assert block.machine.pending_loads == 1
    assert block.copies.moved == {0: 64}
    block.copies.arrive(block.memory.ctypes.data + 1032)
    assert not block.memory.any()
    block.copies.arrive(block.memory.ctypes.data + 1024)
    assert block.memory[2048:2112].tolist() == list(range(64))
    assert block.machine.pending_loads == 0
    assert ctypes.c_uint64.from_address(block.memory.ctypes.data + 1024).value


def test_what_no_thread_waits_for_is_lost_with_its_block() -> None:
    block = _Block()
    block.load(2048, 64)
    block.copies.end_block()
    assert (block.copies.lost, block.machine.pending_loads) == (1, 0)
    assert not block.memory.any()


@pytest.mark.parametrize(("target", "size"), [(1024, 16), (2048, 1040), (2056, 16), (1 << 26, 16)])
def test_a_copy_stays_in_one_variable(target: int, size: int) -> None:
    with pytest.raises(BadAccess):
        _Block().load(target, size)


def test_a_copy_between_blocks_needs_a_launch_in_clusters() -> None:
    operands = (SHARED_WINDOW + 2048, SHARED_WINDOW + 2112, 64, SHARED_WINDOW + 1024)
    _Block().copies.issue(1, 0, iter(operands))
    with pytest.raises(KernelFault, match=f"{_BETWEEN}: the launch has no clusters"):
        _Block(in_cluster=False).copies.issue(1, 0, iter(operands))


def test_the_mbarrier_of_the_targets_block_is_signalled() -> None:
    block, other = _Block(), np.zeros(4096, np.uint8)
    hosts = np.array([block.memory.ctypes.data, other.ctypes.data], np.uint64)
    block.machine.cluster_count, block.machine.cluster_shared = 2, hosts.ctypes.data
    block.load((1 << CLUSTER_SHIFT) + 2048, 64)
    block.copies.arrive(block.memory.ctypes.data + 1024)
    assert not other.any()
    block.copies.arrive(other.ctypes.data + 1024)
    assert other[2048:2112].tolist() == list(range(64))

"""Which kernels have a footprint; tests/virtual_gpu/parallel tests what follows from one."""

from __future__ import annotations

import pytest

from gpuregress.virtual_gpu.analysis.footprint import footprint
from gpuregress.virtual_gpu.runtime.footprint_ir import Footprint, Read, Write
from tests.virtual_gpu.analysis.kernels import PARAMETERS, graph

_START = "ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [q]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4; "
_COPY = "add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3; ld.global.u32 %r2, [%rd5+8]; st.global.u32 [%rd4], %r2; "


def _footprint(body: str) -> Footprint | None:
    return footprint(graph(f"{_START}{body}ret;"), PARAMETERS)


def test_loads_and_stores_of_global_memory_are_its_accesses() -> None:
    actual = _footprint(_COPY)
    assert actual is not None
    read, write = actual.accesses
    assert isinstance(read, Read)
    assert isinstance(write, Write)
    assert (read.size, read.offset, read.buffers) == (4, 8, (8,))
    assert (write.size, write.offset) == (4, 0)


@pytest.mark.parametrize(
    "more",
    [
        "atom.shared.add.u32 %r3, [box], 1; ",
        "st.shared.u32 [box], %r1; ",
        "membar.cta; bar.sync 0; ",
        "vadd.s32.s32.s32 %r3, %r1, %r1; ",
        "prefetch.global.L2 [%rd1]; ",
    ],
)
def test_instructions_within_a_block_add_no_access(more: str) -> None:
    assert _footprint(_COPY + more) == _footprint(_COPY)


@pytest.mark.parametrize(
    "more",
    [
        "atom.global.add.u32 %r3, [%rd1], 1; ",
        "red.global.add.u32 [%rd1], 1; ",
        "ld.volatile.global.u32 %r3, [%rd1]; ",
        "st.release.gpu.global.u32 [%rd1], %r1; ",
        "membar.gl; ",
        "nanosleep.u32 9; ",
        "mov.u64 %rd6, %globaltimer; ",
        "cp.async.ca.shared.global [box], [%rd1], 4; ",
        "mapa.shared::cluster.u32 %r3, %r1, 1; ",
        "call f; ",
        "fresh.u32 %r3, %r1; ",
    ],
)
def test_a_kernel_whose_blocks_may_communicate_has_no_footprint(more: str) -> None:
    assert _footprint(_COPY + more) is None


def test_a_kernel_that_writes_to_an_unknown_address_has_no_footprint() -> None:
    assert _footprint("ld.global.u64 %rd6, [%rd1]; st.global.u32 [%rd6], %r1; ") is None

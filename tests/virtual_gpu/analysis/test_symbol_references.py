from __future__ import annotations

from gpuregress.virtual_gpu.analysis.module_facts import names_used, uses_grid_barrier, uses_reserved_shared
from tests.virtual_gpu.analysis.kernels import kernel


def test_symbols_in_any_operand_are_references() -> None:
    body = "mov.u64 %rd1, table; st.shared.v2.b64 [box+8], {%rd1, other}; call (%r1), f, (%r2); ret;"
    assert names_used(kernel(body)) == {"table", "box", "other", "f"}


def test_kernels_that_read_the_address_of_the_grids_barrier() -> None:
    assert uses_grid_barrier(kernel("mov.u32 %r1, %envreg2; ret;"))
    assert not uses_grid_barrier(kernel("mov.u32 %r1, %envreg3; ret;"))


def test_kernels_that_read_the_address_of_reserved_shared_memory() -> None:
    assert uses_reserved_shared(kernel("mov.u32 %r1, %reserved_smem_offset_1; ret;"))
    assert not uses_reserved_shared(kernel("mov.u32 %r1, box; ret;"))

"""Integer tiles: `test_wgmma.py` computes with them; here, their names."""

from __future__ import annotations

from gpuregress.devices.cpu.isa.matrix.fused_sum import StoredRows
from gpuregress.devices.cpu.isa.matrix.matrix_element import element_of


def test_a_matrix_in_memory_has_the_bytes_of_its_rows() -> None:
    assert StoredRows(element_of("u8"), 24, 32, is_b=True).bytes == 768
    assert StoredRows(element_of("b32"), 16, 8, is_b=False).bytes == 512

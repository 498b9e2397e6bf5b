from __future__ import annotations

import pytest
from llvmlite import ir

from gpuregress.virtual_gpu.builder.address_resolution import in_space, region_row
from gpuregress.virtual_gpu.builder.structured import I64, POINTER, i64
from gpuregress.virtual_gpu.runtime.machine_layout import (
    LOCAL_WINDOW,
    PARAM_WINDOW,
    SHARED_WINDOW,
    TABLE_SHIFT,
    region_address,
)
from tests.virtual_gpu.builder.functions import call

ADDRESSES = {
    "shared": SHARED_WINDOW + 1024,
    "local": LOCAL_WINDOW + 4096,
    "param": PARAM_WINDOW,
    "global": region_address(17) + 5,
}


@pytest.mark.parametrize("space", ADDRESSES)
def test_an_address_is_in_one_state_space(space: str) -> None:
    def build(b: ir.IRBuilder, arguments: tuple[ir.Value, ...]) -> ir.Value:
        return b.zext(in_space(b, arguments[0], space), I64)

    assert [name for name, address in ADDRESSES.items() if call(build, address)] == [space]


@pytest.mark.parametrize(("number", "row"), [(17, 17), (63, 63), (64, 0)])
def test_an_address_leads_to_the_row_of_its_region(number: int, row: int) -> None:
    def build(b: ir.IRBuilder, arguments: tuple[ir.Value, ...]) -> ir.Value:
        table = b.inttoptr(i64(1 << 20), POINTER)
        return b.sub(b.ptrtoint(region_row(b, arguments[0], table, i64(64)), I64), i64(1 << 20))

    assert call(build, region_address(number) - 12) == row << TABLE_SHIFT

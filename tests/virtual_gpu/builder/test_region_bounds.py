from __future__ import annotations

from llvmlite import ir

from gpuregress.virtual_gpu.builder.region_bounds import MachineView, RegionBounds, local_region
from gpuregress.virtual_gpu.builder.structured import I32, I64, POINTER, i64, open_function
from gpuregress.virtual_gpu.builder.translation_unit import Unit
from gpuregress.virtual_gpu.ptx.parser import parse
from gpuregress.virtual_gpu.runtime.machine_layout import LOCAL_WINDOW

PTX = """.version 8.0
.target sm_90
.address_size 64
.global .align 4 .u32 box[6];
.visible .entry k() { .shared .align 4 .b8 own[48]; ret; }
"""


def _view() -> tuple[MachineView, ir.Function]:
    unit = Unit(parse(PTX), None)
    function = ir.Function(unit.module, ir.FunctionType(I32, (POINTER,)), "f")
    return MachineView(unit, function.args[0], open_function(function)), function


def test_each_field_is_loaded_once() -> None:
    view, function = _view()
    assert view.field("grid_x", I32) is view.field("grid_x", I32)
    assert view.symbol("box") is view.symbol("box")
    assert view.parameter_region(8) is view.parameter_region(8)
    assert str(function).count("!range") == 1


def test_sizes_are_known_where_the_program_states_them() -> None:
    view, _ = _view()
    bounds = view.symbol_region("box")
    assert view.limit(bounds, 8, I64).constant == 3
    shared = view.shared_region(("k", "own"), I32, generic=False)
    assert (shared.base.constant, view.limit(shared, 4, I32).constant) == (view.unit.shared_starts["k", "own"], 12)
    unknown = RegionBounds(i64(0), bounds.host, view.field("dynamic_size"))
    assert view.limit(unknown, 4, I64) is view.limit(unknown, 4, I64)


def test_a_generic_address_of_local_memory_is_in_its_window() -> None:
    view, function = _view()
    builder = ir.IRBuilder(function.append_basic_block())
    bounds = local_region(builder, view.field("local_size"), view.pointer("local"), 24, I64, generic=True)
    assert str(LOCAL_WINDOW) in str(bounds.base)
    assert bounds.size.constant == 24

from __future__ import annotations

from gpuregress.virtual_gpu.builder.translation_unit import Unit
from gpuregress.virtual_gpu.functions.kernel_body import Body
from gpuregress.virtual_gpu.ptx.parser import parse
from gpuregress.virtual_gpu.schedule.rematerialize import Rematerializer

PTX = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a, .param .u32 n)
{
  .reg .b32 %t, %i, %n, %m, %loaded, %twice; .reg .b64 %a, %w, %p; .reg .pred %q;
  ld.param.u64 %a, [a];
  ld.param.u32 %n, [n];
  mov.u32 %t, %tid.x;
  mad.lo.u32 %i, %n, 4, %t;
  cvt.u64.u32 %w, %i;
  add.u64 %p, %a, %w;
  ld.global.u32 %loaded, [%p];
  add.u32 %m, %loaded, 1;
  mov.u32 %twice, 1;
  mov.u32 %twice, 2;
  setp.lt.u32 %q, %i, %n;
  ret;
}
"""


def test_values_of_parameters_and_coordinates_are_recomputed() -> None:
    unit = Unit(parse(PTX), None)
    rematerializer = Rematerializer(Body(unit, unit.functions["k"], "kernel_0").emitter)
    names = {f"%{name}" for name in ("t", "i", "n", "m", "loaded", "twice", "a", "w", "p")}
    # Four instructions that depend on the thread are one more than pays.
    assert {name for name in names if name in rematerializer} == {"%t", "%i", "%n", "%a", "%w"}
    assert set(rematerializer.all_definitions()) >= {"%t", "%i", "%n", "%a", "%w", "%p"}
    assert not {"%loaded", "%m", "%twice"} & set(rematerializer.all_definitions())


REUSED = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u32 n)
{
  .reg .b32 %i, %row, %n, %next; .reg .pred %q;
  ld.param.u32 %n, [n];
  mov.u32 %i, %tid.y;
  shl.b32 %row, %i, 6;
L:
  add.u32 %i, %i, 16;
  add.u32 %next, %i, 1;
  setp.lt.u32 %q, %i, %n;
  @%q bra L;
  ret;
}
"""


def test_a_loop_variable_s_first_value_is_recomputed_under_another_name() -> None:
    unit = Unit(parse(REUSED), None)
    rematerializer = Rematerializer(Body(unit, unit.functions["k"], "kernel_0").emitter)
    assert "%row" in rematerializer
    definition = rematerializer.definition("%row")
    assert definition is not None
    assert definition.operands[1] != unit.functions["k"].body[2].operands[1]  # type: ignore[index,union-attr]
    assert not {"%i", "%next"} & set(rematerializer.all_definitions())

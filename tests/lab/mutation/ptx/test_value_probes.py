"""Probes of infection, run: they trap where a change has another effect, and leave all as it is where it has none."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np
import pytest

from gpuregress.foundation.errors import KernelFault
from gpuregress.lab.mutating import mutants, ptx_mutants
from gpuregress.lab.mutating.mutants import Mutant
from tests.virtual_gpu.running import Running, ints

PTX = """\
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1)
{
	.reg .pred %p<4>;
	.reg .b16 %rs<3>;
	.reg .b32 %r<9>;
	.reg .f32 %f<3>;
	.reg .b64 %rd<9>;
	ld.param.u64 %rd1, [k_param_0];
	ld.param.u32 %r1, [k_param_1];
	mov.u32 %r2, %tid.x;
	setp.lt.s32 %p1, %r2, %r1;
	mov.u32 %r3, 7;
	add.s32 %r3, %r3, 1;
	mov.f32 %f1, 0f3F800000;
	mov.u32 %r5, 64;
	shr.u32 %r5, %r5, 1;
	add.cc.u32 %r6, %r5, 1;
	@%p1 mov.u32 %r3, 8;
	mul.wide.u32 %rd2, %r2, 4;
	add.s64 %rd3, %rd1, %rd2;
	@%p1 st.global.u32 [%rd3], %r3;
	@!%p1 bra $L_end;
	bar.sync 0;
	ld.global.u32 %r4, [%rd3];
$L_end:
	ret;
}
"""


def found(operator: str, text: str) -> Mutant:
    """The mutant of this operator whose instruction has this text."""
    (one,) = [
        one for one in ptx_mutants.find_mutants(PTX, "k.ptx", ["k"]) if one.operator == operator and text in one.before
    ]
    return one


def infects(folder: Path, one: Mutant, n: int) -> bool:
    """Whether the probe of a mutant traps with 8 threads and this n; else the results are right."""
    running = Running(folder, mutants.apply(PTX, one.infection), "k")
    y = running.put("y", np.zeros(8, np.int32))
    with contextlib.suppress(KernelFault):
        running.launch("k", 1, 8, y, np.int32(n))
        assert ints(y) == [8] * min(n, 8) + [0] * max(0, 8 - n)
        return False
    return True


@pytest.mark.parametrize(
    ("operator", "text", "n", "expected"),
    [
        ("boundary", "setp.lt.s32 %p1", 8, False),
        ("boundary", "setp.lt.s32 %p1", 7, True),
        ("unsigned-signed", "mul.wide.u32", 8, False),
        ("plus-minus", "add.s32 %r3, %r3, 1", 8, True),
        ("constant", "mov.f32 %f1", 8, True),
        ("unsigned-signed", "shr.u32 %r5, %r5, 1", 8, False),
        ("constant", "@%p1 mov.u32 %r3, 8", 0, False),
        ("constant", "@%p1 mov.u32 %r3, 8", 1, True),
        ("guard-dropped", "@%p1 mov.u32 %r3, 8", 0, False),
        ("guard-dropped", "@%p1 st.global.u32", 8, False),
        ("guard-dropped", "@%p1 st.global.u32", 7, True),
        ("guard-dropped", "@!%p1 bra", 8, False),
        ("guard-dropped", "@!%p1 bra", 7, True),
        ("index-off-by-one", "ld.global.u32", 8, True),
        ("thread-block-swapped", "mov.u32 %r2, %tid.x", 0, True),
    ],
)
def test_a_probe_traps_where_the_effect_is_another(
    tmp_path: Path, operator: str, text: str, n: int, *, expected: bool
) -> None:
    assert infects(tmp_path, found(operator, text), n) is expected


@pytest.mark.parametrize(
    ("operator", "text"),
    [("index-off-by-one", "st.global.u32"), ("barrier-removed", "bar.sync"), ("constant", "add.cc.u32")],
)
def test_an_effect_on_memory_the_carry_or_order_is_not_compared(operator: str, text: str) -> None:
    assert not found(operator, text).infection


def test_a_register_of_an_unknown_type_is_not_compared() -> None:
    text = PTX.replace(".reg .b32 %r<9>;", ".reg .b32 %r<9>; { .reg .f32 %r7; }")
    compared = {
        one.before: bool(one.infection)
        for one in ptx_mutants.find_mutants(text, "k.ptx", ["k"])
        if one.operator == "plus-minus"
    }
    assert compared == {"add.s32 %r3, %r3, 1;": False, "add.s64 %rd3, %rd1, %rd2;": True}


@pytest.mark.parametrize(("operator", "is_reached"), [("guard-dropped", True), ("index-off-by-one", False)])
def test_the_place_of_a_dropped_guard_is_reached_without_it(tmp_path: Path, operator: str, *, is_reached: bool) -> None:
    """No thread runs the store with n = 0, and each would without its guard."""
    (probe,) = found(operator, "@%p1 st.global.u32").probes
    running = Running(tmp_path, mutants.apply(PTX, probe), "k")
    y = running.put("y", np.zeros(8, np.int32))
    with pytest.raises(KernelFault) if is_reached else contextlib.nullcontext():
        running.launch("k", 1, 8, y, np.int32(0))

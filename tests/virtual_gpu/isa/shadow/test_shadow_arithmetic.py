"""Shadows of single instructions, cancellations, and the original bits."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from gpuregress.foundation.records import Instruments
from tests.virtual_gpu.isa.shadow.shadowed import Shadowed

UNARY = ("sin.approx", "cos.approx", "ex2.approx", "lg2.approx", "rsqrt.approx", "rcp.rn", "sqrt.rn", "tanh.approx")
EXACT = (math.sin, math.cos, lambda x: 2.0**x, math.log2, lambda x: 1 / math.sqrt(x), lambda x: 1 / x, math.sqrt)


def body() -> str:
    lines = ["ld.global.f32 %f0, [%rd1]; ld.global.f32 %f1, [%rd1+4];"]
    for at, name in enumerate(UNARY):
        lines.append(f"{name}.f32 %f2, %f0; st.global.f32 [%rd2+{4 * at}], %f2;")
    lines += [
        "mul.rn.f32 %f3, %f0, %f1; neg.f32 %f4, %f3; st.global.f32 [%rd2+32], %f4;",
        "abs.f32 %f5, %f4; st.global.f32 [%rd2+36], %f5;",
        "min.f32 %f6, %f4, %f5; st.global.f32 [%rd2+40], %f6;",
        "add.rn.f32 %f7, %f3, 0f4CBEBC20; sub.rn.f32 %f7, %f7, 0f4CBEBC20; st.global.f32 [%rd2+44], %f7;",
        "mul.rn.sat.f32 %f8, %f1, %f1; st.global.f32 [%rd2+48], %f8;",
        "copysign.f32 %f9, %f4, %f3; st.global.f32 [%rd2+52], %f9;",
        "fma.rn.f32 %f10, %f0, 0f41200000, 0f4B400000; sub.rn.f32 %f10, %f10, 0f4B400000;",
        "st.global.f32 [%rd2+56], %f10;",
        "cvt.rn.f16.f32 %h1, %f3; cvt.f32.f16 %f11, %h1; st.global.f32 [%rd2+60], %f11;",
    ]
    return "\n".join(lines)


X = np.array([0.7, 1.3], np.float32)


def test_each_instruction_is_exact_in_its_shadow(tmp_path: Path) -> None:
    run = Shadowed(tmp_path, body(), X, np.zeros(16, np.float32))
    a, b = map(float, X)
    wanted = [one(a) for one in EXACT] + [math.tanh(a)]
    np.testing.assert_allclose(run.shadow.high[:8], wanted, rtol=4e-16)
    product = a * b
    assert list(run.shadow.high[8:11]) == [-product, product, -product]
    assert list(run.shadow.high[12:16]) == [1.0, -product, 7.0, product]
    assert run.shadow.known.all()
    # (p + 1e8) - 1e8 is 0 in float: all digits of p are lost, and the double has them.
    assert run.out[11] == 0.0
    assert abs(run.shadow.high[11] - product) < 1e-7
    (lost,) = [site for site in run.report.roundings if site.count]
    assert (lost.kind, lost.count, lost.bits) == ("rounding", 1, 24)


def test_the_results_themselves_are_those_of_the_plain_build(tmp_path: Path) -> None:
    watched = Shadowed(tmp_path, body(), X, np.zeros(16, np.float32))
    plain = Shadowed(tmp_path, body(), X, np.zeros(16, np.float32), instruments=Instruments())
    assert plain.out.tobytes() == watched.out.tobytes()
    assert not plain.report.roundings
    assert not plain.shadow.known.any()

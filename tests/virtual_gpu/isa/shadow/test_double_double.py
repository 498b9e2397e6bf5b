"""Double-double arithmetic against fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tests.virtual_gpu.isa.shadow.shadowed import Shadowed

BODY = """
    ld.global.f64 %d0, [%rd1]; ld.global.f64 %d1, [%rd1+8];
    div.rn.f64 %d2, %d0, %d1; st.global.f64 [%rd2], %d2;
    mul.rn.f64 %d3, %d2, %d2; st.global.f64 [%rd2+8], %d3;
    fma.rn.f64 %d4, %d2, %d2, %d1; st.global.f64 [%rd2+16], %d4;
    sub.rn.f64 %d5, %d2, %d1; st.global.f64 [%rd2+24], %d5;
    sqrt.rn.f64 %d6, %d4; st.global.f64 [%rd2+32], %d6;
    div.rn.f64 %d7, %d0, 0d0000000000000000; st.global.f64 [%rd2+40], %d7;
    neg.f64 %d7, %d2; st.global.f64 [%rd2+48], %d7;
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Shadowed:
    return Shadowed(tmp_path_factory.mktemp("k"), BODY, np.array([1.0, 3.0]), np.zeros(7))


def test_results_have_a_hundred_bits(run: Shadowed) -> None:
    third = Fraction(1, 3)
    exact = [third, third**2, third**2 + 3, third - 3]
    for high, low, wanted in zip(run.shadow.high, run.shadow.low, exact, strict=False):
        assert abs(Fraction(float(high)) + Fraction(float(low)) - wanted) < abs(wanted) * Fraction(1, 2**100)
    root = Fraction(float(run.shadow.high[4])) + Fraction(float(run.shadow.low[4]))
    assert abs(root**2 - exact[2]) < Fraction(1, 2**98)


def test_the_parts_of_an_infinite_result_are_no_nan(run: Shadowed) -> None:
    assert (run.shadow.high[5], run.shadow.low[5]) == (np.inf, 0.0)


def test_the_opposite_of_a_number_has_both_parts(run: Shadowed) -> None:
    assert (run.shadow.high[6], run.shadow.low[6]) == (-run.shadow.high[0], -run.shadow.low[0])
    assert run.shadow.low[0] != 0.0

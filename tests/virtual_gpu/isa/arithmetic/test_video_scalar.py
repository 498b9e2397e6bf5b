"""Where scalar video instructions are not the manual's: lanes as an H200 stored them, one or two for each rule."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.virtual_gpu.isa.forms import batches_of, check_drawn_operands, mismatches
from tests.virtual_gpu.isa.harness import run

_TO_A_PART = "%d.b2, %a, %b, %c"
_TO_THE_TOP = "%d.h1, %a, %b, %c"
_PLAIN = "%d, %a, %b"
_HALF = "%d, %a, %b.h0, %c"


@pytest.mark.parametrize(
    ("line", "operands", "expected"),
    [
        # An unsigned sum is kept from falling below 0, not from leaving 32 bits.
        (f"vadd.u32.u32.u32.sat {_PLAIN}", (2, 0xFFFFFFFF), 1),
        (f"vsub.u32.u32.u32.sat {_PLAIN}", (2, 0xFFFFFFFF), 0),
        # For a part, what is negative becomes the highest.
        (f"vsub.u32.u32.u32.sat {_TO_A_PART}", (0x40, 0x80, 0xFFFFFFF8), 0xFFFFFFF8),
        (f"vadd.s32.s32.s32.sat {_TO_A_PART}", (0xFFFFFFF8, 0xFFFFFFFE, 0x40), 0x7F0040),
        # The upper half takes the result's upper half.
        (f"vadd.u32.u32.u32 {_TO_THE_TOP}", (0x7FFFFFFF, 0x1000001, 0xFF), 0x810000FF),
        (f"vadd.s32.s32.s32.sat {_TO_THE_TOP}", (0x40000000, 0x21, 0x80000001), 1),
        # `.min` and `.max` of an unsigned target see a sum from 2^31 on, or a negative choice, above all of 32 bits.
        (f"vadd.u32.u32.u32.max {_HALF}", (0x80000001, 0x100, 0xFFFFFFFE), 0x80000101),
        (f"vadd.u32.u32.u32.min {_HALF}", (0x80000000, 0x41, 0xFFFFFFF8), 0xFFFFFFF8),
        (f"vmin.u32.s32.u32.max {_HALF}", (0x80000001, 1, 0xFFFFFFF8), 0x80000001),
        # Saturation sees 34 bits of a shifted number, bit 33 being its sign …
        ("vshl.u32.u32.u32.sat.clamp %d, %a, %b", (0x7, 31), 0),
        ("vshl.u32.u32.u32.sat.clamp %d, %a, %b", (0x21, 31), 0x80000000),
        # … and saturates to 32 bits, whatever the target.
        ("vshr.u32.u32.u32.sat.clamp %d.h0, %a, %b.b0, %c", (0x7FFFFFFF, 0x80000001, 0x80000001), 0x8000FFFF),
        # Signed as the first operand is.
        ("vset.s32.s32.eq.max %d, %a.b0, %b.b2, %c", (0x1000000, 1, 0x80000001), 1),
        # Factors and sum have their sign, unsigned ones too; then they are shifted without.
        ("vmad.u32.u32.u32.sat %d, %a, %b, %c", (0xFFFFFFFE, 0x21, 0x80), 0x3E),
        ("vmad.u32.u32.u32.sat %d, %a, %b, %c", (0xFFFFFFF8, 0x7F, 2), 0),
        ("vmad.u32.u32.u32.shr7 %d, %a, %b, %c", (0x21, 1, 0x80000000), 0xFF000000),
    ],
)
def test_a_lane_is_what_the_card_stored(line: str, operands: tuple[int, ...], expected: int) -> None:
    inputs = dict.fromkeys(("%a", "%b", "%c")[: len(operands)], "b32")
    (result,) = run(line, inputs, {"%d": "b32"}, [np.array([value], np.uint32) for value in operands])
    assert hex(result[0]) == hex(expected)


@pytest.mark.parametrize("name", batches_of("scalar video"))
def test_scalar_video_forms_give_what_the_oracle_says(name: str) -> None:
    assert mismatches(name) == []


@pytest.mark.parametrize("name", batches_of("scalar video"))
@settings(max_examples=10)
@given(data=st.data())
def test_drawn_operands_give_what_the_oracle_says(name: str, data: st.DataObject) -> None:
    check_drawn_operands(name, data)

"""Shadows in memory: global, shared, vectors, atomic operations, shuffles, and memory that others have written."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.virtual_gpu.isa.shadow.shadowed import Shadowed

BODY = """
    add.s64 %rd4, %rd1, %rd3; ld.global.b32 %r2, [%rd4];
    div.rn.f32 %f1, %r2, 0f40400000;
    mov.u32 %r3, tile; shl.b32 %r4, %r1, 2; add.s32 %r3, %r3, %r4; st.shared.f32 [%r3], %f1;
    bar.sync 0;
    xor.b32 %r4, %r1, 1; shl.b32 %r4, %r4, 2; mov.u32 %r3, tile; add.s32 %r3, %r3, %r4; ld.shared.b32 %r5, [%r3];
    shfl.sync.bfly.b32 %r6, %r5, 1, 31, -1;
    red.global.add.f32 [%rd2], %r5;
    atom.global.add.f32 %f3, [%rd2+4], %f1;
    setp.ne.u32 %p1, %r1, 0; @%p1 bra END;
    st.global.v2.f32 [%rd2+8], {%f1, %r5};
    st.global.b32 [%rd2+16], %r6;
    ld.global.v2.b32 {%r5, %r6}, [%rd2+8]; st.global.b32 [%rd2+20], %r6;
    st.global.f32 [%rd2+24], %f1; mov.b32 %r7, 1065353216; st.global.u32 [%rd2+24], %r7;
    ld.global.f32 %f4, [%rd2+24]; st.global.f32 [%rd2+28], %f4;
    atom.global.exch.b32 %r5, [%rd2+32], %f1; atom.global.cas.b32 %r6, [%rd2+32], %f1, %f4;
    st.global.f32 [%rd2+36], %r6;
END:
"""


def test_shadows_follow_the_data(tmp_path: Path) -> None:
    x = np.array([1.0, 2.0, 4.0, 5.0], np.float32)
    run = Shadowed(tmp_path, BODY, x, np.zeros(12, np.float32), threads=4)
    one, two = 1 / 3, 2 / 3
    high = run.shadow.high
    np.testing.assert_allclose(high[:2], [4.0, 4.0], rtol=1e-15)
    assert abs(high[0] - float(run.out[0])) < 1e-6
    assert list(high[2:6]) == [one, two, one, two]
    # An integer store wrote other bits: the shadow is the value itself.
    assert (run.out[7], high[7], run.shadow.known[6]) == (1.0, 1.0, False)
    assert (run.out[8], high[8], high[9]) == (1.0, 1.0, one)
    assert run.report.shadows_lost == 0


def test_memory_that_no_instruction_has_written_has_no_shadow(tmp_path: Path) -> None:
    run = Shadowed(tmp_path, "st.global.f32 [%rd2], 0f3F800000;", np.zeros(1, np.float32), np.zeros(2, np.float32))
    assert not run.shadow.known.any()

from __future__ import annotations

import re

import pytest

from gpuregress.foundation.records import Instruments
from gpuregress.virtual_gpu.compilation.translate import translate
from gpuregress.virtual_gpu.ptx.parser import parse
from gpuregress.virtual_gpu.runtime.program import Schedule

_TEXT = """
.version 8.0
.target sm_90
.address_size 64
.global .b32 table[4];
.visible .entry k(.param .u64 p){{
  .reg .b32 %r<9>;
  .reg .b64 %rd<9>;
  ld.param.u64 %rd1, [p];
  {body}
  ret;
}}
"""


@pytest.mark.parametrize(
    ("body", "flags", "calls"),
    [
        ("ld.global.u32 %r1, [%rd1]; st.global.u32 [%rd1+4], %r1;", 1, 4),
        ("ld.global.u32 %r1, [table]; st.global.u32 [%rd1+4], %r1;", 2, 4),
        ("ld.global.u64 %rd2, [%rd1]; st.global.u32 [%rd2], %r1;", 1, 3),
        ("ld.local.u32 %r1, [%rd1];", 0, 0),
    ],
)
def test_flags_are_loaded_once_for_each_pointer(body: str, flags: int, calls: int) -> None:
    """Each access has a check for that region and one for others; where a pointer is loaded from memory, only those."""
    schedule = Schedule(instruments=Instruments(("races",)), proven_rows=False)
    unit, _ = translate(parse(_TEXT.format(body=body)), ["k"], schedule)
    text = str(unit.module.globals["kernel_0.body"])
    assert text.count("18446744073709551615") == 2 * flags  # the quiet slot, and the limit
    found = re.findall(r'call (?:void|i1) @"(check\.\w+)', text)
    assert len(found) - found.count("check.begin_turn") == calls

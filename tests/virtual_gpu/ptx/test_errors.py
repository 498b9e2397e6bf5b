from __future__ import annotations

import pytest

from gpuregress.virtual_gpu.ptx.modifiers import unsupported
from gpuregress.virtual_gpu.ptx.tree import Instruction, SourceLine


@pytest.mark.parametrize(
    ("source", "why", "expected"),
    [
        (None, "", "add.f128 at PTX line 12 is not supported by the cpu device"),
        (SourceLine("k.cu", 4), "its type", "add.f128 at k.cu:4 is not supported by the cpu device: its type"),
    ],
)
def test_an_unsupported_instruction_is_named_with_its_line(source: SourceLine | None, why: str, expected: str) -> None:
    assert str(unsupported(Instruction("add", ("f128",), (), None, 12, source), why)) == expected

"""Rules that need no assembler; tests/virtual_gpu/compilation/test_assembler_checks.py asks nvJitLink for more."""

from __future__ import annotations

import pytest

from gpuregress.virtual_gpu.compilation.assembler_checks import needed_target, supports
from gpuregress.virtual_gpu.ptx.tree import Instruction


@pytest.mark.parametrize(
    ("mnemonic", "register", "expected"),
    [
        ("add.f32", "%f1", ""),
        ("elect.sync", "", "sm_90"),  # the opcode
        ("setmaxnreg.inc.sync.aligned.u32", "", "sm_90a"),
        ("cp.async.ca.shared.global", "", "sm_80"),
        ("cp.async.bulk.commit_group", "", "sm_90"),  # a modifier that is newer than the opcode
        ("add.rn.bf16", "", "sm_90"),  # the type
        ("mov.u32", "%cluster_ctarank", "sm_90"),  # a special register
        ("mov.u32", "%reserved_smem_offset_begin", "sm_80"),
    ],
)
def test_the_newest_part_of_an_instruction_decides(mnemonic: str, register: str, expected: str) -> None:
    opcode, *modifiers = mnemonic.split(".")
    assert needed_target(Instruction(opcode, tuple(modifiers), ()), (register,)) == expected


def test_features_of_one_architecture_alone_are_not_in_newer_ones() -> None:
    assert supports("sm_90", "sm_80")
    assert not supports("sm_80", "sm_90")
    assert supports("sm_90a", "sm_90a")
    assert not supports("sm_100", "sm_90a")

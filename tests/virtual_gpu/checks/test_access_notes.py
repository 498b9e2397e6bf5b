"""Notes of accesses: which are strong, at which scope."""

from __future__ import annotations

import pytest

from gpuregress.virtual_gpu.checks.access_notes import AccessNote
from gpuregress.virtual_gpu.ptx.tree import Instruction
from gpuregress.virtual_gpu.runtime.checks import layout


@pytest.mark.parametrize(
    ("mnemonic", "action", "is_strong", "scope"),
    [
        ("ld.global.u32", "read", False, "sys"),
        ("ld.volatile.global.u32", "read", True, "sys"),
        ("ld.acquire.cta.global.u32", "read", True, "cta"),
        ("st.relaxed.gpu.global.u32", "write", True, "gpu"),
        ("atom.global.add.u32", "atomic access", True, "gpu"),
        ("red.shared.cta.add.u32", "atomic access", True, "cta"),
    ],
)
def test_strength_and_scope(mnemonic: str, action: str, *, is_strong: bool, scope: str) -> None:
    opcode, *words = mnemonic.split(".")
    note = AccessNote(Instruction(opcode, tuple(words), (), None, 1, None), action, "global", 4, 7)
    assert note.is_strong == is_strong
    assert note.scope == layout.SCOPES[scope]
    assert layout.epoch_site(note.flags) == 7
    assert bool(note.flags & layout.STRONG) == is_strong

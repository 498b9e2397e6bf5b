"""Classes of instructions."""

from __future__ import annotations

import pytest

from gpuregress.virtual_gpu.counters.traces import instruction_class
from gpuregress.virtual_gpu.ptx.tree import Call, Instruction, Symbol


@pytest.mark.parametrize(
    ("mnemonic", "expected"),
    [
        ("add.s32", "integer"),
        ("fma.rn.f32", "float"),
        ("mul.f64", "double"),
        ("add.f16x2", "half"),
        ("fma.rn.bf16", "half"),
        ("ex2.approx.f32", "sfu"),
        ("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", "tensor"),
        ("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16", "tensor"),
        ("wgmma.fence.sync.aligned", "barrier"),
        ("wmma.load.a.sync.aligned.m16n16k16.row.f16", "load.generic"),
        ("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32", "tensor"),
        ("ldmatrix.sync.aligned.m8n8.x4.shared.b16", "load.shared"),
        ("cvt.rn.f32.s32", "conversion"),
        ("mov.u32", "move"),
        ("and.pred", "predicate"),
        ("setp.lt.s32", "integer"),
        ("setp.gt.f32", "float"),
        ("bra", "control"),
        ("ret", "control"),
        ("bar.sync", "barrier"),
        ("bar.warp.sync", "warp"),
        ("membar.gl", "barrier"),
        ("shfl.sync.down.b32", "warp"),
        ("ld.global.f32", "load.global"),
        ("ld.f32", "load.generic"),
        ("ld.param.u64", "load.param"),
        ("st.shared.v4.f32", "store.shared"),
        ("atom.global.add.u32", "atomic.global"),
        ("red.shared.add.u32", "atomic.shared"),
        ("cp.async.ca.shared.global", "copy"),
        ("tex.2d.v4.f32.f32", "texture"),
        ("nanosleep.u32", "warp"),
    ],
)
def test_each_instruction_has_a_class(mnemonic: str, expected: str) -> None:
    opcode, *words = mnemonic.split(".")
    assert instruction_class(Instruction(opcode, tuple(words), ())) == expected


def test_a_call_is_control() -> None:
    assert instruction_class(Call(Symbol("f"), (), ())) == "control"

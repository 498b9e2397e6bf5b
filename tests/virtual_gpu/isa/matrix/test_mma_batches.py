from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpuregress.virtual_gpu.compilation import translate
from gpuregress.virtual_gpu.isa.matrix import mma
from gpuregress.virtual_gpu.isa.matrix.mma import members, with_batches
from gpuregress.virtual_gpu.ptx.opcode_table import instruction_count, is_batch
from gpuregress.virtual_gpu.ptx.parser import parse
from gpuregress.virtual_gpu.ptx.tree import Instruction, Module, Register
from tests.virtual_gpu.running import Running

_MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
_KERNEL = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p)
{{
    .reg .pred %p;
    .reg .f32 %f<64>;
    .reg .b32 %r<64>;
    .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 64;
    add.u64 %rd3, %rd1, %rd2;
    {loads}
    setp.ne.u32 %p, %r1, 99;
    {body}
    {stores}
    ret;
}}
"""


def _ptx(body: str) -> str:
    loads = [f"ld.global.b32 %r{10 + number}, [%rd3+{4 * number}];" for number in range(8)]
    loads += [f"mov.b32 %r{number}, %r{10 + number % 4};" for number in (30, 31, 40, 41, 42, 43)]
    starts = [f"mov.f32 %f{number}, 0f{number + 1:08X};" for number in range(16)]
    stores = [f"st.global.f32 [%rd3+{4 * number}], %f{number};" for number in range(16)]
    return _KERNEL.format(loads="\n".join(loads + starts), body=body, stores="\n".join(stores))


def _mma(d: int, c: int | None = None, *, a: int = 10, b: int = 14, guard: str = "") -> str:
    def four(kind: str, first: int, count: int = 4) -> str:
        return "{" + ", ".join(f"%{kind}{first + number}" for number in range(count)) + "}"

    return f"{guard}{_MMA} {four('f', d)}, {four('r', a)}, {four('r', b, 2)}, {four('f', d if c is None else c)};"


def _batches(tree: Module) -> list[list[int]]:
    """The sources of the members of each mma."""
    statements = tree.functions[0].body or ()
    found = [item for item in statements if isinstance(item, Instruction) and item.opcode == "mma"]
    return [[member.source for member in members(item)] for item in found]


_INDEPENDENT = "\n".join(_mma(d) for d in (0, 4, 8))
_CHAINED = "\n".join(_mma(d, a=a) for d, a in ((0, 10), (4, 11), (0, 12), (0, 13), (4, 10)))
_HOISTED = f"{_mma(0)}\n add.u32 %r15, %r10, %r11;\n mov.b32 %r30, %r31;\n{_mma(4)}"
CASES = {
    "independent": (_INDEPENDENT, [[0, 1, 2]]),
    "chained": (_CHAINED, [[0, 1, 0, 2, 1]]),
    "between": (f"{_mma(0)}\n mov.b32 %r30, %r31;\n mov.b32 %r40, %r30;\n{_mma(4, a=40)}", [[0, 1]]),
    "an operand of the first is set between": (_HOISTED, [[0], [0]]),
    "a result is read between": (f"{_mma(0)}\n mov.f32 %f20, %f0;\n{_mma(4)}", [[0], [0]]),
    "a factor is a result": (f"{_mma(0)}\n mov.b32 %r10, %f1;\n{_mma(4)}", [[0], [0]]),
    "a part of C is a result": (f"{_mma(0)}\n{_mma(8, 2)}", [[0], [0]]),
    "a store between": (f"{_mma(0)}\n st.global.b32 [%rd3], %r1;\n{_mma(4)}", [[0], [0]]),
    "a label between": (f"{_mma(0)}\nL:\n{_mma(4)}", [[0], [0]]),
    "a guard": (f"{_mma(0)}\n{_mma(4, guard='@%p ')}", [[0], [0]]),
    "another register twice": ("\n".join((_mma(0), _mma(0, 4))), [[0, 1]]),
    "more than fit": (
        "\n".join(_mma(4 * (n % 4)) for n in range(66)),
        [[0, 1, 2, 3, *range(60)], [0, 1]],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_products_in_a_row_become_a_batch_unless_they_depend_on_each_other(name: str) -> None:
    body, expected = CASES[name]
    assert _batches(with_batches(parse(_ptx(body)))) == expected


def test_a_batch_counts_as_its_members() -> None:
    tree = with_batches(parse(_ptx(_INDEPENDENT)))
    (batch,) = (item for item in tree.functions[0].body or () if isinstance(item, Instruction) and item.opcode == "mma")
    assert is_batch(batch)
    assert instruction_count(batch) == 6
    assert [member.c[0] for member in members(batch)] == [Register("%f0"), Register("%f4"), Register("%f8")]


def test_batches_compute_the_bits_of_single_products(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bodies = [body for name, (body, _) in CASES.items() if name != "a label between"]
    text = _ptx("\n".join(bodies))
    values = np.random.default_rng(7).integers(0x3000, 0x3FFF, 32 * 32, np.uint16)

    def run() -> tuple[bytes, int | None]:
        program = Running(tmp_path, text, "k")
        buffer = program.put("p", values)
        report = program.launch("k", 1, 32, buffer)
        return buffer.read().tobytes(), report.instructions

    monkeypatch.setenv("GPUREGRESS_CACHE", str(tmp_path / "batches"))
    batched = run()
    monkeypatch.setenv("GPUREGRESS_CACHE", str(tmp_path / "single"))
    monkeypatch.setattr(mma, "MOST", 1)
    assert len(_batches(with_batches(parse(text)))) > len(CASES)
    assert run() == batched
    assert np.frombuffer(batched[0], np.float32).any()


def test_a_kernel_of_many_products_stays_small() -> None:
    def size(count: int) -> int:
        return len(translate.llvm_text(_ptx("\n".join(_mma(4 * (n % 4)) for n in range(count))), ("k",)))

    assert (size(320) - size(160)) / 160 < 300


def test_constants_are_operands_and_unnamed_results_are_dropped(tmp_path: Path) -> None:
    ones = "mov.f32 %f0, 0f3F800000; mov.f32 %f2, %f0; mov.f32 %f3, %f0;"
    product = f"{_MMA} {{%f0, _, %f2, %f3}}, {{%r10, 0x3C003C00, %r12, %r13}}, {{%r14, %r15}}, {{%f0, %f1, %f2, %f3}};"
    program = Running(tmp_path, _ptx(f"{ones}\n{product}"), "k")
    buffer = program.put("p", np.full(32 * 32, 0x3C00, np.uint16))
    program.launch("k", 1, 32, buffer)
    found = buffer.read().view(np.float32).reshape(32, 16)
    assert (found[:, [0, 2, 3]] == 17).all()
    assert (found[:, 1].view(np.uint32) == 2).all()


def test_matrices_that_are_loaded_are_factors_with_and_without_a_copy_in_registers(tmp_path: Path) -> None:
    start = """
    .shared .align 16 .b8 tile[512];
    mov.u32 %r2, tile;
    mad.lo.u32 %r2, %r1, 16, %r2;
    st.shared.v4.b32 [%r2], {%r10, %r11, %r12, %r13};
    bar.warp.sync 0xffffffff;
    ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r40, %r41, %r42, %r43}, [%r2];
    ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r30, %r31, %r44, _}, [%r2];
    """
    copies = "".join(f"mov.b32 %r{10 + number}, %r{40 + number};" for number in range(4))
    copies += "mov.b32 %r14, %r30; mov.b32 %r15, %r31;"
    values = np.random.default_rng(7).integers(0x3000, 0x3FFF, 32 * 32, np.uint16)
    found = []
    for body in (_mma(0, a=40, b=30), f"{copies}\n{_mma(0)}"):
        program = Running(tmp_path, _ptx(start + body), "k")
        buffer = program.put("p", values)
        program.launch("k", 1, 32, buffer)
        found.append(buffer.read().tobytes())
    assert found[0] == found[1]
    assert (np.frombuffer(found[0], np.float32).reshape(32, 16)[:, :4] > 1).all()

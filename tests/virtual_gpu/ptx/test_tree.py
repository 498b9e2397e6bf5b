from __future__ import annotations

from gpuregress.virtual_gpu.ptx.tree import Instruction, Label, Register, Sink, SourceLine, Vector, elements


def test_the_mnemonic_joins_opcode_and_modifiers() -> None:
    assert Instruction("add", ("rn", "ftz", "f32"), ()).mnemonic == "add.rn.ftz.f32"
    assert Instruction("ret", (), ()).mnemonic == "ret"


def test_elements_of_a_vector_and_of_a_scalar() -> None:
    assert elements(Vector((Register("%r1"), Sink()))) == (Register("%r1"), Sink())
    assert elements(Register("%r1")) == (Register("%r1"),)


def test_a_label_has_no_guard() -> None:
    assert Label("L", 3).guard is None


def test_a_source_line_reads_as_file_and_line() -> None:
    assert str(SourceLine("saxpy.cu", 12)) == "saxpy.cu:12"

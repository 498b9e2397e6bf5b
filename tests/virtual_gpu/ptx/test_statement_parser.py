from __future__ import annotations

from gpuregress.virtual_gpu.ptx.tree import Address, Guard, Instruction, Label, Register, Symbol
from tests.virtual_gpu.ptx.printing import kernel, only


def test_opcodes_modifiers_and_guards() -> None:
    actual = only("@!%p1 ld.global.nc.L1::no_allocate.L2::128B.v4.f32 {%a, %b, %c, %d}, [%rd1];")
    assert actual.opcode == "ld"
    assert actual.modifiers == ("global", "nc", "L1::no_allocate", "L2::128B", "v4", "f32")
    assert actual.guard == Guard("%p1", negated=True)
    assert actual.mnemonic == "ld.global.nc.L1::no_allocate.L2::128B.v4.f32"


def test_scopes_rename_what_hides_a_name() -> None:
    body = """
    .reg .b32 x;
    mov.u32 x, 1;
    { .reg .b32 x; .param .b32 p; AGAIN: mov.u32 x, 2; bra AGAIN; }
    { .param .b32 p; AGAIN: st.param.b32 [p+0], x; bra AGAIN; }
    """
    function = kernel(body)
    assert [item.name for item in function.registers] == ["x", "x@2"]
    assert [item.name for item in function.variables] == ["p", "p@2"]
    assert function.body is not None
    labels = [item.name for item in function.body if isinstance(item, Label)]
    targets = [item.operands[0] for item in function.body if isinstance(item, Instruction) and item.opcode == "bra"]
    assert targets == [Symbol(name) for name in labels]
    assert labels == ["AGAIN", "AGAIN@2"]
    stored = function.body[5]
    assert isinstance(stored, Instruction)
    assert stored.operands == (Address(Symbol("p@2")), Register("x"))

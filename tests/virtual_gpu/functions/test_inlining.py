from __future__ import annotations

from gpuregress.virtual_gpu.functions.inlining import MOST_STATEMENTS, inlined
from gpuregress.virtual_gpu.ptx.parser import parse
from gpuregress.virtual_gpu.ptx.tree import Call, Function, Instruction, Label, Register, TextureAddress

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"
CALLEE = """.func (.param .b32 r) add_one(.param .b32 a)
{
  .reg .b32 %x; .reg .pred %p;
  ld.param.b32 %x, [a];
  setp.eq.u32 %p, %x, 0;
  @%p bra DONE;
  add.u32 %x, %x, 1;
DONE:
  st.param.b32 [r], %x;
  ret;
}
"""
KERNEL = """.visible .entry k()
{
  .reg .b32 %x; .reg .pred %q;
  { .param .b32 p0; .param .b32 r0; st.param.b32 [p0], %x; call.uni (r0), add_one, (p0); ld.param.b32 %x, [r0]; }
  { .param .b32 p1; .param .b32 r1; st.param.b32 [p1], %x; @%q call.uni (r1), add_one, (p1); }
  ret;
}
"""


def _kernel(text: str) -> Function:
    return next(item for item in inlined(parse(HEAD + text)).functions if item.name == "k")


def test_each_call_gets_a_copy_under_names_of_its_own() -> None:
    kernel = _kernel(CALLEE + KERNEL)
    assert kernel.body is not None
    assert not any(isinstance(item, Call) for item in kernel.body)
    labels = [item.name for item in kernel.body if isinstance(item, Label)]
    assert len(labels) == len(set(labels)) == 4
    assert len({item.name for item in kernel.registers}) == 2 + 2 * 2
    # A return of the callee is a branch to the end of its copy; the kernel's own stays.
    assert [item.opcode for item in kernel.body if isinstance(item, Instruction)].count("ret") == 1


def test_all_calls_have_the_same_shared_memory() -> None:
    tree = inlined(parse(HEAD + CALLEE.replace("{\n", "{\n  .shared .b32 kept;\n", 1) + KERNEL))
    assert [item.name for item in tree.variables] == ["kept"]
    assert not any(item.space == "shared" for function in tree.functions for item in function.variables)


def test_the_handle_of_a_texture_is_the_copy_s_own_register() -> None:
    callee = """.func look(.param .b64 texture)
{
  .reg .b64 %rd; .reg .f32 %f<6>;
  ld.param.b64 %rd, [texture];
  tex.2d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [%rd, {%f1, %f1}];
  ret;
}
"""
    call = ".visible .entry k()\n{ .reg .b64 %rd; { .param .b64 p0; st.param.b64 [p0], %rd; call look, (p0); } ret; }"
    (look,) = (
        item for item in _kernel(callee + call).body or () if isinstance(item, Instruction) and item.opcode == "tex"
    )
    address = look.operands[1]
    assert isinstance(address, TextureAddress)
    assert address.base != Register("%rd")


def test_a_guarded_call_is_skipped_by_a_branch() -> None:
    kernel = _kernel(CALLEE + KERNEL)
    guards = [item.guard for item in kernel.body or () if isinstance(item, Instruction) and item.opcode == "bra"]
    assert [(guard.register, guard.negated) for guard in guards if guard and guard.register == "%q"] == [("%q", True)]


def test_recursive_and_long_functions_stay_calls() -> None:
    recursive = CALLEE.replace("ret;", "call.uni (r), add_one, (a);\n  ret;")
    long = CALLEE.replace("add.u32 %x, %x, 1;", "add.u32 %x, %x, 1;\n" * MOST_STATEMENTS)
    for callee in (recursive, long):
        calls = [item for item in _kernel(callee + KERNEL).body or () if isinstance(item, Call)]
        assert len(calls) == 2


def test_a_long_function_that_waits_is_inlined() -> None:
    waiting = CALLEE.replace("add.u32 %x, %x, 1;", "bar.sync 0;\n" + "add.u32 %x, %x, 1;\n" * MOST_STATEMENTS)
    assert not any(isinstance(item, Call) for item in _kernel(waiting + KERNEL).body or ())

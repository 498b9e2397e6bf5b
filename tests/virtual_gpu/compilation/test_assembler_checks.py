"""Checks that an assembler makes, and the architectures of forms."""

from __future__ import annotations

import re

import pytest

from gpuregress.foundation.errors import CompileError, HarnessError
from gpuregress.toolchain.cubin_linker import link
from gpuregress.virtual_gpu.compilation import assembler_checks
from gpuregress.virtual_gpu.compilation.assembler_checks import needed_target, supports
from gpuregress.virtual_gpu.compilation.translate import compile_module
from gpuregress.virtual_gpu.ptx.parser import parse
from gpuregress.virtual_gpu.ptx.tree import Instruction

_HEAD = ".version 8.8\n.target {target}\n.address_size 64\n"
_REGISTERS = """
.reg .b32 %r; .reg .b64 %q, %d; .reg .b128 %x; .reg .f32 %f; .reg .b16 %h; .reg .pred %p;
ld.param.u64 %d, [a]; mov.u32 %r, %tid.x; cvt.u64.u32 %q, %r; cvt.rn.f32.u32 %f, %r; cvt.u16.u32 %h, %r;
setp.eq.u32 %p, %r, 1;
"""
_STORES = "st.global.u32 [%d], %r; st.global.u64 [%d+8], %q; st.global.f32 [%d], %f; st.global.u16 [%d], %h; ret;"
TARGETS = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a")
LEAST = {
    "stmatrix.sync.aligned.m8n8.x1.shared.b16 [s], {%r};": "sm_90",
    "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r}, [s];": "sm_75",
    "movmatrix.sync.aligned.m8n8.trans.b16 %r, %r;": "sm_75",
    "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [s], %r, [m];": "sm_90",
    "cp.async.ca.shared.global [s], [%d], 4;": "sm_80",
    "cp.async.wait_all;": "sm_80",
    "cp.async.bulk.global.shared::cta.bulk_group [%d], [s], 16;": "sm_90",
    "cp.async.bulk.commit_group;": "sm_90",
    "griddepcontrol.wait;": "sm_90",
    "setmaxnreg.inc.sync.aligned.u32 40;": "sm_90a",
    "wgmma.fence.sync.aligned;": "sm_90a",
    "wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {%f,%f,%f,%f}, %q, %q, %p, 1, 1;": "sm_90a",
    "fence.proxy.async;": "sm_90",
    "fence.proxy.alias;": "sm_75",
    "fence.sc.cluster;": "sm_90",
    "fence.acq_rel.gpu;": "sm_75",
    "fence.mbarrier_init.release.cluster;": "sm_90",
    "mbarrier.init.shared.b64 [m], 1;": "sm_80",
    "mbarrier.arrive.shared.b64 %q, [m];": "sm_80",
    "mbarrier.arrive.expect_tx.shared.b64 %q, [m], 2;": "sm_90",
    "mbarrier.test_wait.shared.b64 %p, [m], %q;": "sm_80",
    "mbarrier.try_wait.shared.b64 %p, [m], %q;": "sm_90",
    "match.any.sync.b32 %r, %r, 0xffffffff;": "sm_75",
    "redux.sync.add.u32 %r, %r, 0xffffffff;": "sm_80",
    "elect.sync %r|%p, 0xffffffff;": "sm_90",
    "barrier.cluster.arrive;": "sm_90",
    "ld.global.L2::128B.u32 %r, [%d];": "sm_75",
    "ld.global.L2::256B.u32 %r, [%d];": "sm_80",
    "tanh.approx.f32 %f, %f;": "sm_75",
    "atom.global.add.noftz.f16 %h, [%d], %h;": "sm_75",
    "atom.global.cas.b128 %x, [%d], %x, %x;": "sm_90",
    "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r,%r}, {%r,%r}, {%r}, {%r,%r};": "sm_75",
    "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r,%r}, {%r,%r,%r,%r}, {%r,%r}, {%r,%r};": "sm_80",
    "wmma.load.a.sync.aligned.row.m16n16k16.global.bf16 {%r,%r,%r,%r}, [%d];": "sm_80",
    "isspacep.shared::cluster %p, %d;": "sm_90",
    "mov.u32 %r, %cluster_ctarank;": "sm_90",
    "mov.u32 %r, %nclusterid.x;": "sm_90",
    "mov.u32 %r, %total_smem_size;": "sm_75",
    "mov.u32 %r, %reserved_smem_offset_begin;": "sm_80",
    "ld.global.v8.b32 {%r,%r,%r,%r,%r,%r,%r,%r}, [%d];": "",
    "add.rn.f32x2 %q, %q, %q;": "",
    # Types that agree, and registers that may be wider.
    "ld.global.u8 %q, [%d];": "sm_75",
    "ld.global.v2.u32 {%q, %q}, [%d];": "sm_75",
    "st.global.f32 [%d], %r;": "sm_75",
    "cvt.u8.u32 %q, %r;": "sm_75",
    "cvt.f32.f32 %r, %f;": "sm_75",
    "mov.b64 {%r, %f}, %q;": "sm_75",
    "mov.b32 %f, %r;": "sm_75",
    "and.b32 %f, %f, %r;": "sm_75",
    "add.f32 %f, %r, %f;": "sm_75",
    "mad.wide.u32 %q, %r, %r, %q;": "sm_75",
    "atom.global.add.L2::cache_hint.u32 %r, [%d], %r, %q;": "sm_80",
    "slct.f64.f32 %q, %q, %q, %f;": "sm_75",
    "setp.lt.and.f32 %p|%p, %f, %f, !%p;": "sm_75",
}
NEVER = {
    "bar.sync 16;": r"bar\.sync at PTX line \d+: barrier 16; a block has 16, numbered from 0",
    "barrier.cta.sync 99;": "barrier 99",
    "bar.red.popc.u32 %r, 16, %p;": "barrier 16",
    "bar.sync 0, 33;": "a barrier for 33 threads; only whole warps of 32",
    "bar.arrive 1, 48;": "a barrier for 48 threads",
    "bar.red.popc.u32 %r, 1, 40, %p;": "a barrier for 40 threads",
    "mbarrier.init.shared.b64 [m], 0;": "a count of 0; 1 to 1048575",
    "mbarrier.init.shared.b64 [m], 1048576;": "a count of 1048576",
    "cp.async.ca.shared.global [s], [%d], 3;": "a copy of 3 bytes; 4 or 8 or 16",
    "cp.async.cg.shared.global [s], [%d], 8;": "a copy of 8 bytes; 16 are possible",
    "st.const.u32 [c], %r;": "nothing can be stored to constant memory",
    "add.f32 %q, %f, %f;": r"add\.f32 at PTX line \d+: operand 1, %q, is a \.b64; it must be \.f32$",
    "add.s32 %r, %f, %r;": r"operand 2, %f, is a \.f32; it must be \.s32",
    "ld.global.u32 %h, [%d];": r"operand 1, %h, is a \.b16; it must be \.u32 or a wider type",
    "ld.global.u32 %f, [%d];": r"operand 1, %f, is a \.f32",
    "ld.global.v2.u32 {%r, %h}, [%d];": r"operand 1, %h, is a \.b16",
    "st.global.u64 [%d], %r;": r"operand 2, %r, is a \.b32; it must be \.u64",
    "cvt.u64.u32 %r, %r;": r"operand 1, %r, is a \.b32",
    "mul.wide.u32 %r, %r, %r;": r"operand 1, %r, is a \.b32; it must be \.u64",
    "shl.b64 %q, %q, %q;": r"operand 3, %q, is a \.b64; it must be \.u32",
    "setp.eq.u32 %r, %r, 1;": r"operand 1, %r, is a \.b32; it must be \.pred",
    "slct.f32.f64 %f, %f, %f, %f;": r"operand 4, %f, is a \.f32; it must be \.f64",
    "@%r mov.u32 %r, 1;": r"its guard, %r, is a \.b32; it must be \.pred",
}
NAMES = [item.partition(";")[0][:60] for item in (*LEAST, *NEVER)]


def module(body: str, *, target: str = "sm_90", head: str = "", parameters: str = ".param .u64 a") -> str:
    variables = ".shared .align 16 .b8 s[256];\n.shared .align 8 .b64 m;\n.const .b32 c;\n"
    return f"{_HEAD.format(target=target)}{variables}{head}.visible .entry k({parameters})\n{{\n{body}\n}}\n"


def mine(text: str) -> str:
    """What is refused, "" if nothing."""
    try:
        assembler_checks.check(parse(text))
    except CompileError as error:
        return str(error)
    return ""


def nvidias(text: str, target: str) -> str:
    try:
        link(text, target, "k")
    except CompileError as error:
        return str(error)
    except HarnessError:
        pytest.skip("neither nvJitLink nor ptxas here")
    return ""


@pytest.mark.parametrize(("instruction", "least"), LEAST.items(), ids=NAMES[: len(LEAST)])
def test_an_instruction_needs_its_architecture(instruction: str, least: str) -> None:
    for target in TARGETS:
        refused = mine(module(_REGISTERS + instruction + _STORES, target=target))
        has = bool(least) and TARGETS.index(target) >= TARGETS.index(least)
        assert (refused == "") == has, target
        if refused:
            needed = least or "sm_100"
            assert f"needs {needed}; the program is compiled for {target}" in refused


@pytest.mark.parametrize(("instruction", "least"), LEAST.items(), ids=NAMES[: len(LEAST)])
def test_nvidias_assembler_says_the_same(instruction: str, least: str) -> None:
    actual = [
        target for target in TARGETS if not nvidias(module(_REGISTERS + instruction + _STORES, target=target), target)
    ]
    assert actual == (list(TARGETS[TARGETS.index(least) :]) if least else [])


@pytest.mark.parametrize(("instruction", "words"), NEVER.items(), ids=NAMES[len(LEAST) :])
def test_operands_out_of_range(instruction: str, words: str) -> None:
    text = module(_REGISTERS + instruction + _STORES)
    assert re.search(words, mine(text))
    assert nvidias(text, "sm_90")


def test_a_program_with_warpgroups_is_told_its_architecture() -> None:
    text = module(_REGISTERS + "wgmma.fence.sync.aligned;" + _STORES, target="sm_90")
    hint = "write `compile: {arch: sm_90a}` in the job to use these"
    assert mine(text).endswith(hint)
    assert hint in nvidias(text, "sm_90")
    assert "write" not in mine(module(_REGISTERS + "bar.sync 16;" + _STORES))


_SHARED = ".shared .align 16 .b8 own[{}]; .reg .b32 %r; mov.u32 %r, own; st.shared.u32 [own], %r; ret;"
_MODULE_SHARED = ".reg .b32 %r; mov.u32 %r, q; st.shared.u32 [q], %r; ret;"
_CALLED = (
    ".shared .align 4 .b8 q[49156];\n.func deep() {\n .reg .b32 %r; mov.u32 %r, q; st.shared.u32 [q], %r; ret; }\n"
    ".func middle() { call deep, (); ret; }\n"
)
SIZES = {
    "shared of its own": (_SHARED.format(49152), _SHARED.format(49168), {}, "k has 49168 bytes of static shared"),
    "shared of the module": (
        "ret;",
        _MODULE_SHARED,
        {"head": ".shared .align 4 .b8 q[49156];\n"},
        "k has 49156 bytes of static shared memory; a kernel has 49152",
    ),
    "shared of what it calls": ("ret;", "call middle, (); ret;", {"head": _CALLED}, "k has 49156 bytes"),
}


@pytest.mark.parametrize("what", SIZES)
def test_static_shared_memory(what: str) -> None:
    right, wrong, more, words = SIZES[what]
    assert mine(module(right, **more)) == nvidias(module(right, **more), "sm_90") == ""
    assert words in mine(module(wrong, **more))
    assert nvidias(module(wrong, **more), "sm_90")


def test_a_kernel_is_named_as_the_job_names_it() -> None:
    text = module(_SHARED.format(65536)).replace(".entry k(", ".entry _Z2lbILi512EEvPfPKfii(")
    assert "lb<512> has 65536 bytes of static shared" in mine(text)


@pytest.mark.parametrize(("count", "fits"), [(65532, True), (65533, False), (70000, False)])
def test_constant_memory_of_the_whole_program(count: int, fits: bool) -> None:  # noqa: FBT001 - a row of the table
    text = module("ret;", head=f".const .align 1 .b8 table[{count}];\n")  # and `c`, 4 bytes
    assert (mine(text) == "") == (nvidias(text, "sm_90") == "") == fits
    assert fits or f"its __constant__ variables take {count + 4} bytes; a program has 65536" in mine(text)


@pytest.mark.parametrize(("count", "fits"), [(4353, True), (32764, True), (32765, False)])
def test_parameters(count: int, fits: bool) -> None:  # noqa: FBT001 - a row of the table
    text = module("ret;", parameters=f".param .align 1 .b8 p[{count}]")
    assert (mine(text) == "") == (nvidias(text, "sm_90") == "") == fits
    assert fits or f"k has {count} bytes of parameters; a kernel has 32764" in mine(text)


@pytest.mark.parametrize("directive", ["reqnctapercluster 2", "explicitcluster", "maxclusterrank 4"])
def test_clusters_need_their_architecture(directive: str) -> None:
    for target, fits in (("sm_89", False), ("sm_90", True)):
        text = module("ret;", target=target).replace("(.param .u64 a)", f"(.param .u64 a) .{directive}")
        assert (mine(text) == "") == (nvidias(text, target) == "") == fits
        assert fits or f".{directive.split(maxsplit=1)[0]} of k needs sm_90; the program is compiled for sm_89" in mine(
            text
        )


def test_a_cluster_has_a_shape_or_a_bound() -> None:
    text = module("ret;").replace("(.param .u64 a)", "(.param .u64 a) .maxclusterrank 4 .reqnctapercluster 2")
    assert "Conflicting directives" in nvidias(text, "sm_90")
    assert "k has .reqnctapercluster and .maxclusterrank; a kernel has at most one of them" in mine(text)


@pytest.mark.parametrize("target", ["sm_100", "sm_100a", "sm_103f", "sm_120", "sm_91a", "sm_89a"])
def test_programs_for_newer_gpus(target: str) -> None:
    assert f"it is compiled for {target}; the virtual GPU is an sm_90" in mine(module("ret;", target=target))


def test_the_whole_program_is_refused_and_five_reasons_are_told() -> None:
    text = module(_REGISTERS + "bar.sync 16;" * 7 + _STORES)
    with pytest.raises(CompileError, match=r"^the assembler refuses this program for sm_90:\n") as caught:
        compile_module(text, ())
    assert str(caught.value).count("barrier 16") == 5
    assert str(caught.value).endswith("and 2 more")


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

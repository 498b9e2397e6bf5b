from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gpuregress.foundation.errors import CompileError, HarnessError, InfeasibleSource
from gpuregress.toolchain import cubin_linker
from tests.toolchain.sample import PTX

NVJITLINK_LOG = """ptxas info    : 11 bytes gmem
ptxas info    : Compiling entry function '_Z1kPf' for 'sm_90'
ptxas info    : Function properties for _Z1kPf
ptxas         .     16 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 26 registers, used 0 barriers
info    : Function properties for '_Z1kPf':
info    : used 28 registers, used 6 barriers, 16 stack, 512 bytes smem, 560 bytes cmem[0], 32 bytes lmem
"""
PTXAS_LOG = """ptxas info    : Compiling entry function 'plain' for 'sm_90'
ptxas info    : Function properties for plain
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 12 registers, used 1 barriers, 1024 bytes smem
"""


def test_ptx_that_does_not_assemble_says_where() -> None:
    with pytest.raises(CompileError, match=r"(?s)k\.ptx does not assemble for sm_90.*k\.ptx:12.*globul"):
        cubin_linker.link(PTX.replace("st.global.u32", "st.globul.u32"), "sm_90", "k.ptx")


def test_the_logs_of_both_assemblers_are_read() -> None:
    assert cubin_linker.parse_resources(NVJITLINK_LOG) == {
        "_Z1kPf": {"stack": 16, "spill": 8, "registers": 28, "shared": 512, "constant": 560, "local": 32},
    }
    assert cubin_linker.parse_resources(PTXAS_LOG) == {
        "plain": {"stack": 0, "spill": 0, "registers": 12, "shared": 1024}
    }
    assert cubin_linker.parse_resources("nothing of it") == {}


def test_too_much_memory_is_told_from_other_refusals() -> None:
    large = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a) {
    .shared .align 4 .b8 s[80000]; .reg .u32 %r; .reg .u64 %o;
    mov.u32 %r, s; ld.param.u64 %o, [a]; st.global.u32 [%o], %r; ret;
}
"""
    with pytest.raises(InfeasibleSource, match="uses too much shared data"):
        cubin_linker.link(large, "sm_90", "k.ptx")
    with pytest.raises(InfeasibleSource) as refused:
        cubin_linker.link(large.replace("entry k", "entry _Z2lbILi512EEvPfPKfii"), "sm_90", "b616.ptx")
    told = "Entry function 'lb<512>' uses too much shared data (80000 bytes, 49152 max)"
    assert str(refused.value).splitlines() == ["the assembler refuses this program for sm_90:", told]
    with pytest.raises(CompileError) as caught:
        cubin_linker.link(large.replace("st.global", "st.globul"), "sm_90", "k.ptx")
    assert not isinstance(caught.value, InfeasibleSource)


OLD_PTXAS = """#!/bin/sh
echo "$@" >> {calls}
[ "$1" = --version ] && echo "Cuda compilation tools, release 11.8, V11.8.89" && exit
for last; do :; done
grep -q "version 8.0" "$4" && {{ echo code > "$last"; grep -q globul "$4"; [ $? = 1 ]; exit; }}
echo "$4, line 1; fatal   : Unsupported .version 9.5; current version is '7.8'" >&2
exit 255
"""


def test_an_assembler_that_is_too_old_is_asked_once_and_the_remedy_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls, program = tmp_path / "calls", tmp_path / "ptxas"
    program.write_text(OLD_PTXAS.format(calls=calls))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    newer = PTX.replace(".version 8.0", ".version 9.5")
    assert cubin_linker.link(newer, "sm_90", "k.ptx").linker.startswith("nvjitlink")
    assert not calls.exists()
    monkeypatch.setitem(sys.modules, "cuda.bindings.nvjitlink", None)
    monkeypatch.delattr("cuda.bindings.nvjitlink")
    assert cubin_linker.link(PTX, "sm_90", "k.ptx").linker == "ptxas 11.8.89"
    with pytest.raises(CompileError, match=r"k\.ptx does not assemble"):  # it takes this version, but not this text
        cubin_linker.link(PTX.replace("st.global.u32", "st.globul.u32"), "sm_90", "k.ptx")
    asked = []
    for _ in range(2):
        with pytest.raises(
            HarnessError, match=rf"ptxas 11\.8\.89 \({program}\) cannot assemble PTX 9\.5 for sm_90.*pip"
        ):
            cubin_linker.link(newer, "sm_90", "k.ptx")
        asked.append(len(calls.read_text().splitlines()))
    assert asked[0] == asked[1]


def test_an_architecture_that_no_assembler_knows() -> None:
    with pytest.raises(HarnessError, match=r"cannot assemble PTX 8\.0 for sm_77"):
        cubin_linker.link(PTX, "sm_77", "k.ptx")

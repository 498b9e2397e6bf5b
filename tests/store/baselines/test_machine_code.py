from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.foundation.errors import HarnessError
from gpuregress.foundation.records import Program
from gpuregress.gpu.records import replace
from gpuregress.store.baselines import manifest
from gpuregress.toolchain import cubin, cubin_linker
from tests.toolchain.sample import PTX

CODE = """// Compiled by nobody
.version 8.0
.target sm_90
.address_size 64
	.file	1 "/home/a/k.cu"
.visible .entry k() {
	.loc	1 {line} 3
	mov.u32 %r1, {value}; // tail
	ret;
}
	.section	.debug_str
	{
	.b8 {line}
	}
"""


def _digest(folder: Path, name: str, line: int = 1, value: int = 1) -> str:
    path = folder / name
    path.write_text(CODE.replace("{line}", str(line)).replace("{value}", str(value)))
    return manifest.digest(str(path))


def test_lines_and_debug_sections_change_nothing_and_code_does(tmp_path: Path) -> None:
    first = _digest(tmp_path, "a.ptx")
    assert first
    assert _digest(tmp_path, "b.ptx", line=99) == first
    assert _digest(tmp_path, "c.ptx", value=2) != first


def test_a_cubin_is_its_code_and_its_constants(tmp_path: Path) -> None:
    linked = cubin_linker.link(PTX, "sm_90", "k.ptx").cubin
    assert any(name == ".text.k" and code for name, code in cubin.code_sections(linked))
    for name, data in (("a.cubin", linked), ("b.cubin", linked), ("c.cubin", linked[:90])):
        (tmp_path / name).write_bytes(data)
    first, second, broken = (manifest.digest(str(tmp_path / f"{name}.cubin")) for name in "abc")
    assert first == second != ""
    assert broken == ""


@pytest.mark.parametrize("path", ["", "/nowhere/k.ptx"])
def test_what_cannot_be_read_has_no_digest(path: str) -> None:
    assert manifest.digest(path) == ""


def test_the_cubin_that_a_worker_assembled_counts_where_the_program_names_none(monkeypatch: pytest.MonkeyPatch) -> None:
    program = Program("key", "k.ptx", "", {}, {}, "nvrtc", (), "sm_90")

    def built(one: Program) -> Program:
        return replace(one, cubin="k.cubin")

    monkeypatch.setattr(manifest, "build_cubin", built)
    assert manifest.cubin_of(program) == "k.cubin"

    def refused(_: Program) -> Program:
        raise HarnessError("no assembler")

    monkeypatch.setattr(manifest, "build_cubin", refused)
    assert manifest.cubin_of(program) == "", "not known, which is no other code"

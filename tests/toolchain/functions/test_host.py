from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from gpuregress.foundation.errors import CompileError
from gpuregress.foundation.records import FunctionArgument, Source
from gpuregress.toolchain.functions import declarations, host, overloads
from gpuregress.toolchain.functions.host import HostCompiler
from gpuregress.toolchain.headers import virtual_headers

HEADER = """\
#pragma once
#include <cooperative_groups.h>
#define HD __host__ __device__
__device__ inline float only_device(float x) { return __sinf(x); }
HD inline float twice(float x) { return 2 * x; }
"""
SOURCE = """\
#include "parts/header.cuh"
__constant__ float table[4] = {1, 2, 3, 4};
HD float4 spread(float x, const int& n, float& out)
{
    out = twice(x) + SHIFT;
    return make_float4(x, (float)n, table[1], min(x, 1.0f));
}
__global__ void kernel(float* x) { __syncthreads(); x[threadIdx.x] = only_device(x[0]); }
#ifndef __CUDACC_RTC__
#error host code
#endif
int main() { return 1; }
"""
needs_compiler = pytest.mark.skipif(host.find_compiler() is None, reason="there is no C++ compiler")


def program(folder: Path, text: str = SOURCE, *given: FunctionArgument) -> tuple[Source, str]:
    (folder / "parts").mkdir()
    (folder / "parts/header.cuh").write_text(HEADER)
    path = folder / "k.cu"
    path.write_text(text)
    instance = overloads.FunctionInstance(declarations.device_functions([text, HEADER])[0])
    return Source(str(path), defines={"SHIFT": "10"}), host.program_text(instance, given)


def compiler() -> HostCompiler:
    found = host.find_compiler()
    assert found is not None
    return found


ARGUMENTS = (
    FunctionArgument("x", "float", "buffer", each=True),
    FunctionArgument("n", "const int&", "parameter"),
    FunctionArgument("out", "float&", "buffer", each=True),
)


@needs_compiler
def test_a_program_calls_the_function_for_each_element(tmp_path: Path) -> None:
    source, text = program(tmp_path, SOURCE, *ARGUMENTS)
    built = host.build(source, text, compiler(), (), tmp_path)
    values = np.arange(3, dtype=np.float32)
    (tmp_path / "x").write_bytes(values.tobytes())
    (tmp_path / "out").write_bytes(bytes(12))
    (tmp_path / "result").write_bytes(bytes(48))
    subprocess.run([built, "3", "result", "x", "7", "out"], cwd=tmp_path, check=True, timeout=20)
    assert np.fromfile(tmp_path / "out", np.float32).tolist() == [10, 12, 14]
    expected = [[0, 7, 2, 0], [1, 7, 2, 1], [2, 7, 2, 1]]
    assert np.fromfile(tmp_path / "result", np.float32).reshape(3, 4).tolist() == expected


@needs_compiler
def test_a_program_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, text = program(tmp_path, SOURCE, *ARGUMENTS)
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    first = host.build(source, text, compiler(), (), tmp_path / "one")
    monkeypatch.setattr(host, "_compile", lambda *_: pytest.fail("compiled again"))
    again = host.build(source, text, compiler(), (), tmp_path / "two")
    assert again.read_bytes() == first.read_bytes()


@needs_compiler
def test_a_refusal_names_the_line_of_the_source(tmp_path: Path) -> None:
    source, text = program(tmp_path, SOURCE.replace("out = twice", "out = only_device"), *ARGUMENTS)
    with pytest.raises(CompileError, match=r"refuses it on the host: k\.cu:5:\d+: error: .*only_device"):
        host.build(source, text, compiler(), (), tmp_path)


def test_what_only_a_device_understands_is_blank() -> None:
    text = host.host_text(SOURCE, {"HD": ("__device__", "__host__")})
    assert "kernel" not in text
    assert "spread" in text
    assert text.count("\n") == SOURCE.count("\n")
    header = host.host_text(HEADER, declarations.specifier_macros([HEADER]))
    assert "cooperative" not in header
    assert "only_device" not in header
    assert "twice" in header


def test_no_compiler_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    assert host.find_compiler() is None
    monkeypatch.setenv("CXX", "g++ -m32")
    assert host.find_compiler() is None


def test_the_compiler_of_the_environment_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "mine"
    script.write_text("#!/bin/sh\necho Mine C++ 7.5.1\n")
    script.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("CXX", "mine -O1")
    assert host.find_compiler() == HostCompiler((str(script), "-O1"), "mine 7.5.1")


def test_contraction_needs_the_machines_own_instruction() -> None:
    flags = host.contraction_flags()
    assert flags == () or flags[0] == "-ffp-contract=fast"


@needs_compiler
def test_headers_of_cuda_that_include_what_is_not_there_are_a_lack_of_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cuda = tmp_path / "cuda"
    cuda.mkdir()
    (cuda / "vector_types.h").write_text('#include "crt/host_defines.h"\n')
    monkeypatch.setattr(virtual_headers, "cuda_folders", lambda: (cuda,))
    source, text = program(tmp_path, "#include <vector_types.h>\n" + SOURCE, *ARGUMENTS)
    with pytest.raises(host.IncompleteHeaders, match=r"vector_types\.h includes crt/host_defines\.h, which is not on"):
        host.build(source, text, compiler(), (), tmp_path)

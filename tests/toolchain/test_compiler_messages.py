from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.foundation.errors import CodeLine, CompileError, InfeasibleSource
from gpuregress.foundation.records import Source
from gpuregress.toolchain import compiler_messages, nvrtc, nvrtc_options
from tests.toolchain.conftest import Write


def _compile(write: Write, text: str, **settings: object) -> nvrtc_options.NvrtcResult:
    return nvrtc.compile_source(write(text, **settings), text)


def _refusal(write: Write, text: str, **settings: object) -> str:
    with pytest.raises(CompileError) as caught:
        _compile(write, text, **settings)
    return str(caught.value)


def test_an_error_has_the_file_the_line_and_the_compilers_words(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    message = _refusal(write, "\n\n__global__ void k(int* x) {\n  x[0] = y;\n}\n", kernels=("k",))
    assert message.startswith('kernels/k.cu:4: error: identifier "y" is undefined')


def test_an_error_in_a_header_names_the_header(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    header = write("int f( { }\n", "f.h")
    text = '#include "f.h"\n// k.cu:7: error: is no error\n'
    with pytest.raises(CompileError, match=r"kernels/f\.h:1: error") as caught:
        _compile(write, text)
    assert caught.value.source_line == CodeLine(header.path, 1)


def test_host_code_is_explained(write: Write) -> None:
    text = "__global__ void k() {}\nint main() { k<<<1, 1>>>(); }\n"
    assert "k.cu:2: error" in _refusal(write, text, host_code="keep")
    assert "compile.host_code: blank" in _refusal(write, text, host_code="keep")
    called = "int half(int n) { return n / 2; }\n__global__ void k(int* x) { x[0] = half(x[0]); }\n"
    message = _refusal(write, called)
    assert 'k.cu:2: error: identifier "half" is undefined' in message
    assert "half is a host function (line 1): annotate it __device__" in message
    calls = "__global__ void k(cudaStream_t* s) { cudaStreamCreate(s); }"
    assert "a kernel cannot call the CUDA runtime" in _refusal(write, calls)


def test_a_launch_by_a_kernel_is_explained(write: Write) -> None:
    assert "let the job launch them" in _refusal(write, "__global__ void k(int n) { if (n) k<<<1, 1>>>(n - 1); }")


def test_a_constant_of_the_build_is_looked_for_in_the_job(write: Write) -> None:
    hint = "goes into compile.defines"
    assert hint in _refusal(write, "__global__ void k(int* x) { x[0] = TILE; }")
    twice = "__global__ void k(int* x) { __shared__ int s[block_size_x]; s[0] = x[block_size_x]; x[0] = s[0]; }"
    assert hint in _refusal(write, twice)
    assert hint not in _refusal(write, "__global__ void k(int* x) { x[0] = y; }")


def test_a_missing_header_says_where_it_was_searched(write: Write) -> None:
    message = _refusal(write, '#include "nowhere.h"\n')
    assert "nowhere.h" in message
    assert "compile.include" in message


def test_options_of_nvcc_are_explained(write: Write) -> None:
    assert "go to NVRTC" in _refusal(write, "", options=("-O3",))
    assert "the device chooses the architecture (sm_90)" in _refusal(write, "", options=("-arch=sm_80",))


def test_a_macro_in_the_line_of_a_syntax_error_is_named(write: Write) -> None:
    text = "__global__ void k(int n) {}\n"
    assert "compile.defines defines n as '100' in this line" in _refusal(write, text, defines={"n": "100", "m": "2"})
    assert "compile.defines" not in _refusal(write, text.replace("{}", "{ y = 1; }"), defines={"TILE": "100"})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('static_assert(1 > 2, "error: no"); static_assert(1 > 3);\n', True),
        ("template <int N> __global__ void k() { static_assert(N < 3); }\n", True),
        ("static_assert(1 > 2); __device__ int a[-1];\n", False),
        ("#error no\n", False),
        ("__global__ void k() { y = 1; }\n", False),
    ],
)
def test_only_static_assertions_make_a_source_infeasible(text: str, expected: bool, write: Write) -> None:  # noqa: FBT001 - a column
    with pytest.raises(CompileError) as caught:
        _compile(write, text, kernels=("k<8>",) if "template" in text else ())
    assert isinstance(caught.value, InfeasibleSource) == expected


def test_an_error_in_the_source_is_not_blamed_on_the_call() -> None:
    own = 'gpuregress_call(3): error: no instance of "f"\n'
    assert compiler_messages.harness_error(own) == 'no instance of "f"'
    assert compiler_messages.harness_error(f"k.cu(1): error: expected a ;\n{own}") == ""
    assert compiler_messages.harness_error("k.cu(1): warning #177-D: unused\n") == ""


def test_errors_of_the_generated_text_that_follow_from_the_sources_are_left_out() -> None:
    own = 'k.cuh(3): error: identifier "half" is undefined\n  half f();\n  ^\n\n'
    follow = 'gpuregress_call(66): error: name followed by "::" must be a class\n      tested::result\n      ^\n\n'
    source = Source("/p/k.cuh")
    assert "gpuregress_call" not in compiler_messages.explain(own + follow, source, ())
    assert "gpuregress_call" in compiler_messages.explain(follow, source, ())


def test_the_first_error_is_the_headline_and_five_are_shown() -> None:
    warning = 'k.cu(1): warning #177-D: variable "a" was declared but never referenced\n  int a;\n      ^\n\n'
    errors = [f'k.cu({at}): error: identifier "n{at}" is undefined\n  n{at}\n  ^\n\n' for at in range(2, 9)]
    note = "k.cu(2): note #3327-D: candidate\n\n"
    log = f'{warning}{errors[0]}{note}{warning}{"".join(errors[1:])}7 errors detected in the compilation of "k.cu".\n'
    lines = compiler_messages.explain(log, Source("/p/k.cu"), ()).splitlines()
    assert lines[0].endswith('k.cu:2: error: identifier "n2" is undefined')
    assert [line[-2:] for line in lines if "error:" in line or "note" in line] == ["ed", "te", "ed", "ed", "ed", "ed"]
    assert lines[-1] == "… and 2 more errors"
    assert "warning" not in "".join(lines)

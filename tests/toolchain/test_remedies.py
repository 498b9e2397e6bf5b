from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.foundation import usermodules
from gpuregress.foundation.errors import CompileError
from gpuregress.foundation.records import Source
from gpuregress.toolchain import compiler_messages, nvrtc


def remedy(errors: str, text: str, tmp_path: Path, **defines: str) -> str:
    path = tmp_path / "k.cu"
    path.write_text(text)
    return compiler_messages.remedy(errors, Source(str(path), defines=defines), ["kernels", "include"])


def undefined(name: str) -> str:
    return f'k.cu:3: error: identifier "{name}" is undefined\n  {name} x;\n  ^'


@pytest.mark.parametrize(
    ("name", "header"),
    [("curandState", "curand_kernel.h"), ("uint32_t", "cstdint"), ("half2", "cuda_fp16.h"), ("FLT_MAX", "cfloat")],
)
def test_the_header_of_a_name(name: str, header: str, tmp_path: Path) -> None:
    assert remedy(undefined(name), "", tmp_path) == f"{name} is declared in <{header}>: add #include <{header}>"


def test_each_missing_header_is_named(tmp_path: Path) -> None:
    lines = remedy(f"{undefined('curandState')}\n{undefined('int8_t')}", "", tmp_path).splitlines()
    assert [line.rpartition(" ")[2] for line in lines] == ["<curand_kernel.h>", "<cstdint>"]


def test_a_missing_header_of_curand_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    errors = 'k.cu(1): catastrophic error: cannot open source file "curand_kernel.h"'
    assert "was searched in" in remedy(errors, "", tmp_path)
    monkeypatch.setattr(usermodules, "installed_version", lambda _package: "")
    assert remedy(errors, "", tmp_path).endswith("pip install 'gpuregress[curand]'")


def test_the_header_of_a_namespace(tmp_path: Path) -> None:
    errors = "k.cu:1: error: name must be a namespace name\n  namespace cg = cooperative_groups;\n                 ^"
    assert "add #include <cooperative_groups.h>" in remedy(errors, "", tmp_path)
    errors = 'k.cu:1: error: namespace "std" has no member "numeric_limits"\n  std::numeric_limits<int>::max();\n  ^'
    assert "add #include <limits>" in remedy(errors, "", tmp_path)


def test_a_host_function_that_device_code_calls(tmp_path: Path) -> None:
    text = "\nstatic float\nhelper(float x) { return x; }\n__global__ void k() { helper(1); }\n"
    assert remedy(undefined("helper"), text, tmp_path) == (
        "helper is a host function (line 3): annotate it __device__ if kernels call it"
    )


@pytest.mark.parametrize("include", ["", "#include <gone.h>"])
def test_a_texture_reference_is_the_one_error(tmp_path: Path, include: str) -> None:
    text = (
        f"{include} // texture<int> no;\n  static texture<float, 1, cudaReadModeElementType> tex;\n"
        "__global__ void k(float* x) { x[0] = tex1Dfetch(tex, 0); }\n"
    )
    path = tmp_path / "k.cu"
    path.write_text(text)
    with pytest.raises(CompileError) as caught:
        nvrtc.compile_source(Source(str(path), kernels=("k",)), text)
    (line,) = str(caught.value).splitlines()
    assert line.startswith(
        f"{path}:2: error: tex is a texture reference: texture references were removed in CUDA 12, so nvcc "
        "does not take it either: "
    )
    assert "pass a cudaTextureObject_t to the kernel" in line


def test_a_missing_header_says_where_it_was_searched(tmp_path: Path) -> None:
    text = remedy('k.cu:1: catastrophic error: cannot open source file "a/b.h"\n', "", tmp_path)
    assert text.startswith("a/b.h was searched in kernels, include and CUDA's own headers")


def test_a_missing_header_is_looked_for_in_the_clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    inner = tmp_path / "third_party/lib"
    for folder in ("kernels", "include/a", "third_party/lib/one", "third_party/lib/two/a", "node_modules/a"):
        (tmp_path / folder).mkdir(parents=True)
    (inner / ".git").write_text("gitdir: elsewhere\n")
    for path in ("include/a/b.h", "third_party/lib/one/c.h", "third_party/lib/two/a/c.h", "node_modules/a/b.h"):
        (tmp_path / path).write_text("")

    def hint(header: str, folder: str = "kernels") -> str:
        errors = f'k.cu:1: catastrophic error: cannot open source file "{header}"\n'
        return remedy(errors, "", tmp_path / folder)

    assert hint("a/b.h").endswith("this clone has it in include: add that folder to compile.include (-I include)")
    assert hint("a/b.h", "third_party/lib/one").endswith("(-I include)")
    assert "several folders of this clone have it" in hint("c.h")
    assert hint("c.h").endswith("compile.include: third_party/lib/one, third_party/lib/two/a")
    assert hint("../a/b.h").endswith("as nvcc's -I has it")
    assert hint("b/b.h").endswith("as nvcc's -I has it")


def test_no_remedy_is_made_up(tmp_path: Path) -> None:
    assert remedy(undefined("y"), "int y;", tmp_path) == ""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gpuregress.foundation.errors import CompileError, MissingCompiler
from gpuregress.foundation.records import PythonKernel, Source
from gpuregress.gpu.records import replace
from gpuregress.toolchain import programs
from gpuregress.toolchain.python_kernels import compiler, source_inputs
from tests.toolchain.python_kernels.test_ptx_function import source


def test_a_compiler_that_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "version", lambda _language: "")
    one = replace(source(tmp_path), python=PythonKernel("triton", "k"))
    with pytest.raises(MissingCompiler, match=r"build.py needs triton, .*: pip install 'gpuregress\[triton\]'"):
        programs.compile(one)
    with pytest.raises(MissingCompiler):
        programs.compile(one)  # it is not remembered: the package may be installed meanwhile


def test_a_file_that_cannot_be_imported(tmp_path: Path) -> None:
    path = tmp_path / "build.py"
    path.write_text("import nothing_of_this_name\n")
    with pytest.raises(
        CompileError, match=r"build.py cannot be imported: ModuleNotFoundError: .* \(line 1 of build.py\)"
    ):
        programs.compile(Source(str(path), kernels=("k",), python=PythonKernel("python", "ptx")))


@pytest.mark.parametrize(
    "text",
    [
        "from cutlass import cute\n\n\ndef ptx():\n    return ''\n",
        "def ptx():\n    import cutlass\n",
    ],
    ids=["in the file", "in the function"],
)
def test_a_kernel_language_that_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setitem(sys.modules, "cutlass", None)
    path = tmp_path / "build.py"
    path.write_text(text)
    message = r"build.py needs nvidia-cutlass-dsl, which is not installed: pip install nvidia-cutlass-dsl"
    with pytest.raises(MissingCompiler, match=message):
        programs.compile(Source(str(path), kernels=("k",), python=PythonKernel("python", "ptx")))


def test_a_program_that_was_built_where_the_compiler_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("triton")
    path = tmp_path / "kernel.py"
    path.write_text("import triton\n\n\n@triton.jit\ndef k(x):\n    pass\n")
    one = Source(str(path), kernels=("k",), python=PythonKernel("triton", "k", {"x": "*fp32"}))
    built = programs.compile(one)
    monkeypatch.setattr(compiler, "version", lambda _language: "")
    assert programs.find(one) == built, "as on a host without Triton"
    assert programs.foreign_compiler(one, built) == ""
    monkeypatch.setattr(compiler, "version", lambda _language: "0.9")
    assert programs.find(one) == built, "as on a host with an older Triton"
    assert programs.foreign_compiler(one, built).endswith(
        f"kernel.py: the program is that of {built.compiler} from the cache; the compiler here is older (0.9)"
    )
    monkeypatch.setattr(compiler, "version", lambda _language: "99.0")
    assert programs.find(one) is None, "a newer version compiles anew"


def test_another_version_of_an_imported_package_compiles_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = source(tmp_path)
    monkeypatch.setattr(source_inputs, "packages", lambda _files: {"parcel": "1.0"})
    built = programs.compile(one)
    assert programs.find(one) == built
    monkeypatch.setattr(source_inputs, "packages", lambda _files: {"parcel": "2.0"})
    assert programs.find(one) is None
    monkeypatch.setattr(source_inputs, "packages", lambda _files: {"parcel": ""})
    assert programs.find(one) == built, "as on a host that lacks the package"

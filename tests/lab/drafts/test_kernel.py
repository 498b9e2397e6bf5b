from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from gpuregress.lab.drafts import kernel
from gpuregress.lab.drafts.compiled import CompiledKernel, compiled
from gpuregress.toolchain import cxx_declarations
from gpuregress.toolchain.build_options.options import BuildOptions
from gpuregress.toolchain.cxx_declarations import CxxParameter, Declaration


def test_template_parameters_get_their_defaults_or_a_choice() -> None:
    declared = Declaration("f", ("typename T", "int TILE = 64", "bool B"), (), 1)
    assert kernel.instantiate(declared) == ({"T": "float", "TILE": "64", "B": "true"}, "f<float, 64, true>")
    declared = Declaration("f", ("class T", "int N", "class U = typename V<T>::T", "int M = 2 * N"), (), 1)
    assert kernel.instantiate(declared)[1] == "f<float, 128>"


@pytest.mark.parametrize(
    ("name", "is_extent"),
    [
        *((name, True) for name in ("n", "nrows", "nx", "n_nodes", "nangles", "nears")),
        *((name, False) for name in ("norm", "normal", "nonce", "nan", "near_plane", "next", "ndim")),
    ],
)
def test_names_of_counts_are_extents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, *, is_extent: bool
) -> None:
    monkeypatch.setattr(kernel, "compiled", lambda *_: CompiledKernel())
    (tmp_path / "a.cu").write_text("")
    pointer = CxxParameter("y", "float*", pointer=True, const=False)
    declared = Declaration("f", (), (pointer, CxxParameter(name, "int", pointer=False, const=False)), 1)
    job = yaml.safe_load("\n".join(kernel.KernelDraft(declared, tmp_path / "a.cu", tmp_path / "a.yaml").lines(())))
    assert (name in job["parameters"]) == is_extent


def test_a_macro_after_the_pointer_is_a_qualifier(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "compiled", lambda *_: CompiledKernel())
    text = "__global__ void k(double *RESTRICT const y, const short * RESTRICT x) {}"
    (tmp_path / "a.cu").write_text(text)
    (declared,) = cxx_declarations.declarations(text)
    job = yaml.safe_load("\n".join(kernel.KernelDraft(declared, tmp_path / "a.cu", tmp_path / "a.yaml").lines(())))
    assert (job["buffers"]["y"]["dtype"], job["buffers"]["x"]["dtype"]) == ("float64", "int16")


@pytest.mark.parametrize(("dtype", "fill"), [("bool", "choice"), ("uint8", "integers"), ("float64", "normal")])
def test_the_fill_of_an_input(dtype: str, fill: str) -> None:
    assert fill in kernel.default_fill(dtype)


def test_a_draft_holds_the_options_of_its_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "compiled", lambda *_: CompiledKernel())
    (tmp_path / "a.cu").write_text("")
    options = ("-std=c++20", f"-include={tmp_path}/inc/a.h")
    defines = {"N": "3", "EMPTY": "", "TEXT": 'a "b" {c}', "F": "1.5f"}
    build = BuildOptions((tmp_path, tmp_path / "a, b"), defines, options, origin="from build/compile_commands.json")
    target = tmp_path / "c/a.yaml"
    made = kernel.KernelDraft(Declaration("f", (), (), 1), tmp_path / "a.cu", target, build=build)
    text = "\n".join(made.lines(()))
    assert "# from build/compile_commands.json" in text
    assert yaml.safe_load(text)["compile"] == {
        "include": ["..", "../a, b"],
        "defines": {"N": 3, "EMPTY": "", "TEXT": {"text": 'a "b" {c}'}, "F": {"text": "1.5f"}},
        "options": ["-std=c++20", "-include=inc/a.h"],
    }


@pytest.mark.parametrize(
    ("dtype", "fill"),
    [
        ("{a:float32,b:float64}", "{normal: {std: 1.0}}"),
        ("{a:float32,b:int8}", "{integers: {low: 0, high: 100}}"),
        ("{a:int32,b:bool}", "{choice: [0, 1]}"),
    ],
)
def test_the_fill_of_records(dtype: str, fill: str) -> None:
    assert kernel.default_fill(dtype) == fill


@pytest.mark.parametrize(
    ("body", "tried"),
    [
        ("x[0] = f << 1;", ["float", "int"]),
        ("x[0] = f.value;", ["float"]),
        ("x[0] = f(1);", ["float", "Twice"]),
        ("x[0] = f(1, 2) + gone;", ["float"]),
    ],
)
def test_template_arguments_are_tried_that_may_mend_the_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, tried: list[str]
) -> None:
    source = tmp_path / "k.cu"
    text = "struct Twice { __device__ int operator()(int a) const { return 2 * a; } };\n"
    text += f"template <class F> __global__ void k(int* x, F f) {{ {body} }}\n"
    source.write_text(text)
    asked: list[str] = []

    def noted(source: Path, name: str, build: BuildOptions) -> CompiledKernel:
        asked.append(name.partition("<")[2].removesuffix(">"))
        return compiled(source, name, build)

    monkeypatch.setattr(kernel, "compiled", noted)
    (declaration,) = cxx_declarations.declarations(text)
    kernel.KernelDraft(declaration, source, tmp_path / "k.yaml")
    assert asked == tried

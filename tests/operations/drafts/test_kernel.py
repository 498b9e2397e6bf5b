from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from gpuregress.operations.drafts import kernel
from gpuregress.toolchain.cxx_declarations import Declaration


def test_template_parameters_get_their_defaults_or_a_choice() -> None:
    declared = Declaration("f", ("typename T", "int TILE = 64", "bool B"), (), 1)
    assert kernel.instantiate(declared) == ({"T": "float", "TILE": "64", "B": "true"}, "f<float, 64, true>")


@pytest.mark.parametrize(("dtype", "fill"), [("bool", "choice"), ("uint8", "integers"), ("float64", "normal")])
def test_the_fill_of_an_input(dtype: str, fill: str) -> None:
    assert fill in kernel.default_fill(dtype)


@pytest.mark.parametrize(
    "text", ["../a b.cu", "a #1.cu", "a: b.cu", "[a], {b}.cu", "-a.cu", "f<int, 3>", "'\"\\.cu", "12"]
)
def test_names_and_paths_are_scalars_of_yaml(text: str) -> None:
    assert yaml.safe_load(f"x: {kernel.quoted(text)}") == {"x": text}
    assert yaml.safe_load(f"[{kernel.quoted(text)}]") == [text]


def test_a_draft_names_the_folders_of_the_headers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "compiled", lambda *_: (None, None, False))
    made = kernel.KernelDraft(Declaration("f", (), (), 1), tmp_path / "a.cu", tmp_path / "c/a.yaml", include=[tmp_path])
    assert yaml.safe_load("\n".join(made.lines(())))["compile"] == {"include": [".."]}


def test_an_array_in_dynamic_shared_memory_gets_a_size() -> None:
    ptx = (
        ".extern .shared .align 4 .b8 s[];\n.visible .entry f(\n)\n{\nmov.u32 %r1, s;\n}\n.visible .entry g(\n)\n{\n}\n"
    )
    assert [kernel._has_dynamic_memory(ptx, name) for name in ("f", "g")] == [True, False]

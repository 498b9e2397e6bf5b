from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gpuregress.foundation.document.problems import Problems
from gpuregress.foundation.document.reader import Document
from gpuregress.jobs.spec.expressions import Value
from gpuregress.jobs.spec.models.compilation import CompileSpec
from gpuregress.jobs.spec.resolve.compilation import CompileSettings, compile_settings
from gpuregress.jobs.spec.resolve.scope import Scope

NAMES: dict[str, Value] = {"real": "float", "tile": 16, "fast": True, "flag": "", "arch": "sm_80"}


def resolved(card: str | None = None, **given: Any) -> tuple[CompileSettings | None, list[str]]:
    scope = Scope(NAMES, Problems(Document(Path("job.yaml"), {}, {})), "real=float")
    settings = compile_settings(scope, CompileSpec.of(given), ("compile",), card)
    return settings, [f"{error.key}: {error.message}" for error in scope.problems.errors]


@pytest.mark.parametrize(
    ("given", "macros"),
    [
        ("all", {"real": "float", "tile": "16", "fast": "1", "flag": "", "arch": "sm_80"}),
        (["tile", "fast"], {"tile": "16", "fast": "1"}),
        (["tile", {"tile": "2 * tile", "EXTRA": {"text": "vec<{real}>"}}], {"tile": "32", "EXTRA": "vec<float>"}),
        (
            {"REAL": "real", "R2": "{real}2", "ON": None, "HALF": "tile / 2", "BIG": "tile > 8"},
            {"REAL": "float", "R2": "float2", "ON": "", "HALF": "8.0", "BIG": "1"},
        ),
        ({}, {}),
    ],
)
def test_macros(given: Any, macros: dict[str, str]) -> None:
    settings, messages = resolved(defines=given)
    assert not messages
    assert settings is not None
    assert settings.defines == macros


def test_parameters_in_options_folders_and_the_architecture() -> None:
    settings, messages = resolved(
        options=["--std=c++17", "{flag}", "-maxrregcount={2 * tile}"],
        include=["../{real}"],
        arch="{arch}",
    )
    assert not messages
    assert settings == CompileSettings(("--std=c++17", "-maxrregcount=32"), ("../float",), {}, "pinned", "sm_80")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"defines": ["tlie"]}, "compile.defines[0]: unknown parameter 'tlie'; did you mean 'tile'?"),
        ({"defines": {"T": 1}}, "compile.defines.T: a macro called T breaks the compiler's own headers"),
        (
            {"defines": {"A": "real + 1"}},
            "compile.defines.A: cannot evaluate 'real + 1': real is 'float', which is text",
        ),
        ({"options": ["O3"]}, "compile.options[0]: invalid option 'O3': it must begin with -"),
        ({"options": ["-D{real}"]}, "compile.options[0]: '-Dfloat' is set by gpuregress: use compile.defines"),
        ({"arch": "sm_{tile}"}, "compile.arch: unknown architecture 'sm_16'"),
        ({"include": ["{rael}"]}, "compile.include[0]: cannot evaluate 'rael': unknown parameter 'rael'"),
    ],
)
def test_what_is_refused(given: dict[str, Any], message: str) -> None:
    settings, messages = resolved(**given)
    assert settings is None
    assert message in messages[0]


def test_all_of_no_parameters() -> None:
    scope = Scope({}, Problems(Document(Path("job.yaml"), {}, {})))
    assert compile_settings(scope, CompileSpec.of({"defines": "all"}), ("compile",)) is None


def test_a_card_is_compiled_for_where_no_architecture_is_given() -> None:
    settings, messages = resolved("sm_80")
    assert not messages
    assert settings is not None
    assert (settings.arch, settings.card) == ("sm_80", "sm_80")
    settings, _ = resolved("sm_90", arch="{arch}")
    assert settings is not None
    assert (settings.arch, settings.card) == ("sm_80", "sm_90")


def test_a_program_that_the_card_cannot_run_is_refused() -> None:
    _, messages = resolved("sm_80", arch="sm_90")
    text = "a program for sm_90 does not run on the job's `card`, sm_80: leave `arch` or `card` out"
    assert messages == [f"compile.arch: {text}"]

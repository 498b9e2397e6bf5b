from __future__ import annotations

import pytest

from gpuregress.gpu import architectures


@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_90a", "sm_100f", "sm_121a"])
def test_what_the_compiler_knows(arch: str) -> None:
    assert architectures.problem(arch) is None


@pytest.mark.parametrize(
    "arch", ["", "$(id)", "sm_", "sm_70", "sm_89a", "sm_90f", "sm_9", "compute_90", "sm_90\n", "sm_٩٠", "90"]
)
def test_anything_else_is_told_what_there_is(arch: str) -> None:
    assert "sm_90" in (architectures.problem(arch) or "")


@pytest.mark.parametrize(
    ("own", "wanted", "built"),
    [
        ("sm_90a", "sm_90", "sm_90a"),
        ("sm_90", "sm_80", "sm_80"),
        ("sm_90a", "sm_80", "sm_80"),
        ("sm_90", "sm_90a", "sm_90a"),
    ],
)
def test_a_gpu_is_named_without_the_letter(own: str, wanted: str, built: str) -> None:
    assert architectures.named(own, wanted) == built


def test_numbers() -> None:
    assert [architectures.number(name) for name in ("sm_90a", "sm_103", "compute")] == [90, 103, 0]


def test_each_architecture_of_the_installed_compiler_has_a_row() -> None:
    nvrtc = pytest.importorskip("cuda.bindings.nvrtc")
    assert tuple(nvrtc.nvrtcGetSupportedArchs()[1]) == architectures.KNOWN

from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.foundation.errors import HarnessError
from gpuregress.session import compilation, doctor
from gpuregress.toolchain.python_kernels import compiler


def test_this_machine_can_run_on_the_cpu() -> None:
    health = doctor.examine()
    assert "cpu" in health.devices
    assert {"python", "llvmlite", "compiler", "cache", "driver", "pycuda"} <= {piece.name for piece in health.pieces}


def test_each_lack_has_a_command_that_mends_it() -> None:
    assert all(piece.mend for piece in doctor.examine().pieces if not piece.well)


def test_without_a_compiler_nothing_can_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_source: object) -> None:
        raise HarnessError("NVRTC is not installed")

    monkeypatch.setattr(compilation, "compile_source", refuse)
    health = doctor.examine()
    assert health.devices == ()
    (piece,) = [piece for piece in health.pieces if piece.name == "compiler"]
    assert (piece.well, piece.state) == (False, "NVRTC is not installed")
    assert "pip install" in piece.mend


def test_a_cache_that_cannot_be_written_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.setenv("GPUREGRESS_CACHE", "/proc/nowhere")
    (piece,) = [piece for piece in doctor.examine().pieces if piece.name == "cache"]
    assert not piece.well
    assert "GPUREGRESS_CACHE" in piece.mend


def test_the_languages_that_jobs_need(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(compiler, "version", lambda language: {"triton": "3.9.0"}.get(language, ""))

    def languages() -> list[tuple[str, bool, bool, str]]:
        health = doctor.examine(tmp_path)
        assert "cpu" in health.devices, "other jobs can run"
        pieces = {piece.name: piece for piece in health.pieces}
        found = (pieces["triton"], pieces["numba"])
        return [(one.state, one.well, one.needed, one.mend) for one in found]

    mend = "pip install 'gpuregress[numba]'"
    assert languages() == [
        ("3.9.0 (no job needs it)", True, False, ""),
        ("not installed (no job needs it)", True, False, mend),
    ]
    (tmp_path / "a.yaml").write_text("language: triton\n")
    (tmp_path / "b.yaml").write_text("reference: {y: {language: numba}}\n")
    (tmp_path / "c.yaml").write_text("language: 'numba'\n")
    assert languages() == [
        ("3.9.0 (1 job needs it)", True, False, ""),
        ("not installed (2 jobs need it)", False, False, mend),
    ]

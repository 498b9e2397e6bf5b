from __future__ import annotations

import pytest

from gpuregress.errors import HarnessError
from gpuregress.operations import doctor
from gpuregress.session.compilation import sources


def test_this_machine_can_run_on_the_cpu() -> None:
    health = doctor.examine()
    assert "cpu" in health.devices
    assert {"python", "llvmlite", "compiler", "cache", "driver", "pycuda"} <= {piece.name for piece in health.pieces}


def test_each_lack_has_a_command_that_mends_it() -> None:
    assert all(piece.mend for piece in doctor.examine().pieces if not piece.well)


def test_without_a_compiler_nothing_can_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_source: object) -> None:
        raise HarnessError("NVRTC is not installed")

    monkeypatch.setattr(sources, "compile_source", refuse)
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

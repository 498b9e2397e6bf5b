"""The injection library is built once; what is missing is told."""

from __future__ import annotations

import ctypes
import importlib.util
from pathlib import Path

import pytest

from gpuregress.foundation.errors import HarnessError
from gpuregress.lab.capture import capture


def test_the_library_has_the_entry_that_the_driver_calls(built: Path) -> None:
    assert ctypes.CDLL(str(built)).InitializeInjection() == 1  # without a request it does nothing
    assert capture.build() == built


def test_no_compiler_is_told_with_the_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(HarnessError, match=r"there is no C compiler .* install gcc"):
        capture.build()


def test_a_compiler_that_fails_is_told_with_its_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    compiler = tmp_path / "badcc"
    compiler.write_text("#!/bin/sh\n[ $1 = --version ] && echo 1.0 && exit\necho 'x.c:1: error: no' >&2\nexit 1\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    with pytest.raises(HarnessError, match=r"cannot build the injection library: x\.c:1: error: no"):
        capture.build()


def test_cupti_is_found_in_the_toolkit_or_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("GPUREGRESS_CAPTURE_CUPTI", raising=False)
    folder = tmp_path / "extras/CUPTI/lib64"
    folder.mkdir(parents=True)
    (folder / "libcupti.so.13").touch()
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    assert capture.find_cupti() == folder / "libcupti.so.13"
    monkeypatch.setenv("GPUREGRESS_CAPTURE_CUPTI", str(tmp_path / "gone.so"))
    with pytest.raises(HarnessError, match=r"GPUREGRESS_CAPTURE_CUPTI names .*gone\.so"):
        capture.find_cupti()
    monkeypatch.delenv("GPUREGRESS_CAPTURE_CUPTI")
    monkeypatch.setattr(capture, "CUPTI_FOLDERS", ())
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(HarnessError, match="pip install nvidia-cuda-cupti"):
        capture.find_cupti()

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from gpuregress.foundation.errors import CompileError, MissingCompiler
from gpuregress.toolchain.python_kernels import autotuning, compiler, source_inputs
from gpuregress.toolchain.python_kernels.autotuning import Configuration

TEXT = """\
import triton

assert not triton.knobs.runtime.interpret


def sizes():
    return (32, 64) if triton.runtime.driver.active.get_current_target().arch >= 90 else (16,)


CONFIGS = [triton.Config({"BLOCK": size, "NONE": None}, num_ctas=size // 32) for size in sizes()]


@triton.autotune(configs=CONFIGS, key=[])
@triton.jit
def k(x, BLOCK: triton.language.constexpr, NONE: triton.language.constexpr):
    pass
"""


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GPUREGRESS_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "kernels.py"
    path.write_text(TEXT)
    return path


def test_configurations_are_read_once(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("triton", reason="Triton is not installed: pip install 'gpuregress[triton]'")
    monkeypatch.setenv("TRITON_INTERPRET", "1")  # which makes no kernels, and has no effect here
    found = autotuning.configurations(source, "k", "sm_90")
    settings = {"num_warps": 4, "num_stages": 3}
    assert found == (
        Configuration("k", {"BLOCK": 32, "NONE": None}, {**settings, "num_ctas": 1}),
        Configuration("k", {"BLOCK": 64, "NONE": None}, {**settings, "num_ctas": 2}),
    )
    assert found[1].parameters == {"BLOCK": 64, "NONE": "None", **settings, "num_ctas": 2}
    monkeypatch.setattr(compiler, "version", lambda _language: "")
    assert autotuning.configurations(source, "k", "sm_90") == found, "as on a host without Triton"
    with pytest.raises(MissingCompiler, match=r"kernels\.py needs triton, which is not installed: pip install"):
        autotuning.configurations(source, "k", "sm_80")


def test_a_list_from_a_host_with_other_packages(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = {"constants": {"BLOCK": 8}, "settings": {"num_warps": 1, "num_stages": 1}}
    read: list[str] = []

    def reader(_path: Path, function: str, _arch: str) -> list[object]:
        read.append(function)
        return [entry]

    monkeypatch.setattr(autotuning, "_read", reader)
    monkeypatch.setattr(compiler, "version", lambda _language: "3.9.0")
    for version, count in (("1.0", 1), ("1.0", 1), ("2.0", 2), ("", 2)):
        monkeypatch.setattr(source_inputs, "packages", lambda _files, version=version: {"parcel": version})
        autotuning.configurations(source, "k", "sm_90")
        assert len(read) == count, version
    monkeypatch.setattr(compiler, "version", lambda _language: "4.0.0")
    monkeypatch.setattr(source_inputs, "packages", lambda _files: {"parcel": "2.0"})
    autotuning.configurations(source, "k", "sm_90")
    assert len(read) == 3, "another Triton may give another list"


def test_a_file_that_cannot_be_imported(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("triton", reason="Triton is not installed: pip install 'gpuregress[triton]'")
    source.write_text("import nothing_of_this_name\n@nothing_of_this_name.tuned\ndef k(): ...\n")
    text = r"kernels.py: nothing_of_this_name is not installed, .* uses nothing_of_this_name.tuned \(line 2 of kernels"
    with pytest.raises(CompileError, match=text):
        autotuning.configurations(source, "k", "sm_90")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["-c", "import sys; sys.exit('broken')"], "kernels.py: its import ended with 1: broken"),
        (["-c", "import time; time.sleep(60)"], "kernels.py: its import took more than 0.2 s"),
    ],
)
def test_an_import_that_ends_or_does_not(
    source: Path, monkeypatch: pytest.MonkeyPatch, command: list[str], message: str
) -> None:
    run = subprocess.run
    monkeypatch.setattr(compiler, "version", lambda _language: "3.9.0")
    monkeypatch.setattr(autotuning, "TIMEOUT_SECONDS", 0.2 if "took" in message else 60.0)
    monkeypatch.setattr(subprocess, "run", lambda words, **named: run([words[0], *command], **named))
    with pytest.raises(CompileError, match=message):
        autotuning.configurations(source, "k", "sm_90")

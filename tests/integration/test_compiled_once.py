"""Processes that need the same program at the same time compile it once."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

_PROCESSES = 3
_PREPARE = """
import sys, time
from pathlib import Path
from gpuregress.foundation.records import Source
from gpuregress.toolchain import cache, programs
from gpuregress.virtual_gpu.compilation import object_cache, translate
folder, device = Path(sys.argv[1]), sys.argv[2]

def counted(function):
    def call(*arguments):
        with (folder / "compilations").open("a") as file:
            file.write("once\\n")
        time.sleep(0.2)
        return function(*arguments)
    return call

programs._compile_cxx = counted(programs._compile_cxx)
translate.compile_module = counted(translate.compile_module)
(folder / f"ready{sys.argv[3]}").touch()
while not (folder / "go").exists():
    time.sleep(0.01)
"""
_COMPILE = {
    "front end": 'programs.compile(Source(str(folder / "k.cu"), kernels=("k",)))',
    "object code": 'object_cache.compiled((folder / "k.ptx").read_text(), ("k",), cache=cache)',
}
_PTX = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n"


def _compilations(folder: Path, what: str) -> int:
    (folder / "k.ptx").write_text(_PTX)
    (folder / "k.cu").write_text('extern "C" __global__ void k() {}\n')
    command = [sys.executable, "-c", f"{_PREPARE}\n{_COMPILE[what]}", str(folder), what]
    environment = {**os.environ, "GPUREGRESS_CACHE": str(folder / "cache")}
    started = [subprocess.Popen([*command, str(number)], env=environment) for number in range(_PROCESSES)]
    while len([*folder.glob("ready*")]) < _PROCESSES and all(process.poll() is None for process in started):
        time.sleep(0.01)
    (folder / "go").touch()
    assert [process.wait(60) for process in started] == [0] * _PROCESSES
    return len((folder / "compilations").read_text().split())


@pytest.mark.slow
@pytest.mark.parametrize("what", _COMPILE)
def test_a_program_is_compiled_once_by_processes_that_share_a_cache(what: str, tmp_path: Path) -> None:
    assert _compilations(tmp_path, what) == 1
    assert not [*(tmp_path / "cache").rglob("*.lock")]


@pytest.mark.slow
def test_without_the_lock_it_is_compiled_by_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unlocked = "import contextlib\ncache.making = contextlib.nullcontext\n"
    monkeypatch.setitem(_COMPILE, "object code", unlocked + _COMPILE["object code"])
    assert _compilations(tmp_path, "object code") == _PROCESSES

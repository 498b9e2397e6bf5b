"""A fake GPU: a driver and an application in C, built once for each session of tests."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from gpuregress.lab.capture import capture
from tests.lab.capture.fake.cubin import fake_cubin

FAKE = Path(__file__).parent / "fake"
KERNELS = ["_Z5saxpyIfEvT_PKS0_PS0_i", "_Z6packed4Args", "_Z4wildPfi", "_Z4spinPf"]


@pytest.fixture(scope="session")
def fake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the fake driver, the application `app`, `kernels.ptx` and the machine code `cubin`."""
    folder = tmp_path_factory.mktemp("fake")
    driver = folder / "libcuda.so.1"
    shared = ["-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", str(FAKE / "driver.c"), "-o", str(driver), "-ldl", "-lm"]
    subprocess.run(["cc", "-O1", *shared], check=True)
    linked = [str(FAKE / "application.c"), "-o", str(folder / "app"), "-lpthread", f"-L{folder}", "-l:libcuda.so.1"]
    subprocess.run(["cc", "-O1", *linked, f"-Wl,-rpath,{folder}"], check=True)
    (folder / "kernels.ptx").write_bytes((FAKE / "kernels.ptx").read_bytes())
    (folder / "cubin").write_bytes(fake_cubin(KERNELS, {"factor": 16, "counter": 4}))
    return folder


@pytest.fixture
def gpu(fake: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The environment of a machine with the fake GPU."""
    monkeypatch.setenv("LD_LIBRARY_PATH", f"{fake}:{os.environ.get('LD_LIBRARY_PATH', '')}")
    monkeypatch.setenv("GPUREGRESS_CAPTURE_CUPTI", str(fake / "libcuda.so.1"))
    monkeypatch.setenv("FAKE_CUBIN", str(fake / "cubin"))
    return fake


@pytest.fixture(scope="session")
def built() -> Path:
    """The injection library."""
    return capture.build()

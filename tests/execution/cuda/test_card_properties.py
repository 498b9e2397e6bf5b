from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.execution.cuda import driver


def test_a_uuid_is_written_as_nvidia_smi_writes_it() -> None:
    raw = bytes.fromhex("6f0c1e2d3a4b5c6d7e8f901a2b3c4d5e")
    assert driver.uuid_text(raw) == "GPU-6f0c1e2d-3a4b-5c6d-7e8f-901a2b3c4d5e"


@pytest.mark.parametrize(
    ("line", "release"),
    [
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12 19:39:15 UTC 2024", "535.183.01"),
        ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build  (d@r)", "580.95.05"),
        ("NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  550.54  Release Build", "550.54"),
        ("something else", ""),
    ],
)
def test_the_driver_s_release_is_the_kernel_module_s(tmp_path: Path, line: str, release: str) -> None:
    file = tmp_path / "version"
    file.write_text(f"{line}\nGCC version:  gcc version 13.3.0\n")
    assert driver._release(file) == release


def test_no_kernel_module_tells_nothing(tmp_path: Path) -> None:
    assert driver._release(tmp_path / "version") == ""

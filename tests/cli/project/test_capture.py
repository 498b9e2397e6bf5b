"""Command `gpuregress capture`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab.capture.conftest import fake, gpu
from tests.workshop import Workshop

__all__ = ["fake", "gpu"]


def test_jobs_the_log_and_the_blamed_launch_are_named(gpu: Path, shop: Workshop) -> None:
    app, kernels = str(gpu / "app"), str(gpu / "kernels.ptx")
    result = shop.call("capture", "--replay", "0", "--", app, kernels, "saxpy", "wild")
    assert result.exit_code == 3
    assert "saxpy.yaml: launch 1, saxpy<float>: not replayed on the CPU device: no time" in result.stdout
    assert "launch.log: 2 launches of 1 process\n" in result.stdout
    assert "failed: launch 2: wild<<<(4,1,1),(256,1,1),0>>>(0x" in result.stdout
    assert "the application exited with 1\n" in result.stdout
    log = shop.root / "captured/launch.log"
    assert "fault 2 CUDA_ERROR_ILLEGAL_ADDRESS" in shop.call("log", str(log)).stdout


def test_an_application_without_launches_is_told(gpu: Path, shop: Workshop) -> None:
    result = shop.call("capture", "--", "true")
    assert result.exit_code == 5
    assert "no launch was seen" in result.stdout


def test_a_machine_without_a_driver_is_told(gpu: Path, shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", "")
    result = shop.call("capture", "--", "false")
    assert result.exit_code == 4
    words = "there is no NVIDIA driver on this machine (libcuda.so.1 is not found): install"
    assert f"the application exited with 1\nno launch was seen: {words}" in result.stdout
    assert shop.call("capture", "--", "true").exit_code == 4
    monkeypatch.setenv("GPUREGRESS_CAPTURE_CUPTI", "/nowhere/libcupti.so")
    assert words in shop.fails(4, "capture", "--", "true")


def test_a_pattern_that_no_kernel_matches_is_told(gpu: Path, shop: Workshop) -> None:
    app, kernels = str(gpu / "app"), str(gpu / "kernels.ptx")
    result = shop.call("capture", "--kernel", "saxby*", "--", app, kernels, "saxpy")
    assert result.exit_code == 5
    assert "no launch was kept: none matches --kernel, --nth or --every" in result.stdout
    assert shop.call("capture", "--max", "0", "--", app, kernels, "saxpy").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--nth", "2", "--every", "3", "--", "true"), "--nth and --every are both given"),
        (("--nth", "0", "--", "true"), "--nth"),
        (("--max-bytes", "much", "--", "true"), "--max-bytes: invalid size 'much'"),
        (("--",), "Missing argument"),
        (("--", "no-such-program"), "no-such-program cannot be started"),
    ],
)
def test_a_wrong_command_line_is_told(gpu: Path, shop: Workshop, arguments: tuple[str, ...], message: str) -> None:
    assert message in shop.fails(2, "capture", *arguments)

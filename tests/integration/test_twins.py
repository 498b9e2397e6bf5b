"""Twins: a function on the host and on the device, and a case on two devices."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gpuregress.toolchain.functions import host
from tests import workshop
from tests.workshop import Workshop

needs_compiler = pytest.mark.skipif(host.find_compiler() is None, reason="there is no C++ compiler")
SOURCE = """\
#define HD __host__ __device__
HD float poly(float x) { return x * x + x; }
HD float wave(float x) { return sinf(x); }
HD float other(float x)
{
#ifdef __CUDA_ARCH__
    return x + 1;
#else
    return x + 2;
#endif
}
HD float crash(float x)
{
#ifndef __CUDA_ARCH__
    return *(volatile float*)8;
#endif
    return x;
}
HD float same(float x) { return 2 * x; }
"""
JOB = """\
source: ../kernels/f.cuh
function: FUNCTION
twins: [host]
buffers:
  x: {dtype: float32, shape: [100], fill: {normal: {std: 2.0}}}
  result: {dtype: float32, shape: [100]}
"""
FUNCTIONS = ("poly", "wave", "other", "crash", "same")


@pytest.fixture
def shop(tmp_path: Path) -> Workshop:
    made = Workshop(tmp_path)
    made.write("kernels/f.cuh", SOURCE)
    for name in FUNCTIONS:
        made.write(f"configs/{name}.yaml", JOB.replace("FUNCTION", name))
    return made


def cases(shop: Workshop) -> dict[str, dict[str, Any]]:
    document = json.loads((shop.root / "runs/latest/results.json").read_text())
    return {case["case"]: case for case in document["cases"]}


@needs_compiler
def test_differences_from_the_host_are_explained(shop: Workshop) -> None:
    result = shop.call(*workshop.RUN)
    assert result.exit_code == 1, result.output
    found = cases(shop)
    assert {name: case["verdict"] for name, case in found.items()} == {
        **dict.fromkeys(FUNCTIONS, "differ"),
        "same": "pass",
    }
    output = (shop.root / "runs/latest/report.txt").read_text()
    assert "fused multiply-add on the device: with -fmad=false it gives the host's results" in output
    assert "likely the library: it calls sinf" in output
    assert "unexplained (100 of 100 differing elements)" in output
    assert "crash crashed with SIGSEGV" in output
    assert "cpu (virtual sm_90 on " in output
    assert " and its twin host (" in output
    assert "same  " in output
    assert "as its twin, without a baseline" in output


def test_without_a_compiler_the_case_is_skipped_with_its_reason(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    result = shop.call(*workshop.RUN, "same")
    assert result.exit_code == 5, result.output
    assert "skip     same" in result.output
    assert "not compared with host: there is no C++ compiler on this host" in result.output


def test_without_a_gpu_two_devices_are_skipped_with_the_reason(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    path = shop.root / "configs/same.yaml"
    path.write_text(path.read_text().replace("[host]", "[cpu, cuda]"))
    result = shop.call(*workshop.RUN, "same")
    assert result.exit_code == 5, result.output
    assert "skip     same" in result.output
    assert "not compared with cuda: there is no GPU here" in result.output


@pytest.mark.gpu
def test_two_devices_agree_and_are_both_named(shop: Workshop) -> None:
    path = shop.root / "configs/same.yaml"
    path.write_text(path.read_text().replace("[host]", "[cpu, cuda]"))
    for device in ("cpu", "cuda:0"):
        result = shop.call("run", "--device", device, "same")
        assert result.exit_code == 0, result.output
        notes = " ".join(cases(shop)["same"]["notes"])
        assert "cpu (" in notes
        assert "cuda:0 (" in notes

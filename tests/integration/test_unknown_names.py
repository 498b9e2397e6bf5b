"""A kernel or variable that the source does not have is the job's error: exit 2, with line and key, nothing run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gpuregress.foundation.records import Source
from gpuregress.toolchain import programs
from tests import workshop


@pytest.mark.parametrize("command", [("run", "--device", "cpu"), ("check",)])
def test_a_kernel_that_is_not_there(tmp_path: Path, command: tuple[str, ...]) -> None:
    shop = workshop.make(tmp_path)
    shop.job(("kernel: scale", "kernel: scalle"))
    output = shop.fails(2, *command)
    assert "scale.yaml:8: launches[0].kernel: " in output
    assert "has no kernel 'scalle'; it has scale (did you mean 'scale'?)" in output
    assert not (tmp_path / "runs").exists()


def test_a_variable_that_is_not_there(tmp_path: Path) -> None:
    shop = workshop.make(tmp_path)
    shop.job(("buffers:\n", "buffers:\n  taps: {dtype: float32, shape: [4], fill: ones, symbol: d_taps}\n"))
    output = shop.fails(2, "run", "--device", "cpu")
    assert "scale.yaml:5: buffers.taps.symbol: " in output
    assert "has no variable 'd_taps'" in output


def test_a_gold_standards_kernel_that_is_not_there(tmp_path: Path) -> None:
    shop = workshop.make(tmp_path)
    gold = "reference:\n  out:\n    launches:\n      - {kernel: naive, grid: [1], block: [1], args: [out]}\nlaunches:\n"
    shop.job(("launches:\n", gold))
    assert "scale.yaml:10: reference.out.launches[0].kernel: " in shop.fails(2, "check")


def test_a_source_that_does_not_compile_is_still_a_verdict(tmp_path: Path) -> None:
    shop = workshop.make(tmp_path)
    shop.write("kernels/scale.cu", workshop.KERNEL.replace("int i =", "int i"))
    assert shop.call("run", "--device", "cpu").exit_code == 3


def test_a_name_that_the_text_does_not_hold_is_told_before_anything_is_compiled(tmp_path: Path) -> None:
    shop = workshop.make(tmp_path)
    shop.job(("kernel: scale", "kernel: scalle"))
    wrong = shop.call("run", "--device", "cpu", "-v")
    assert (wrong.exit_code, "compiling" in wrong.output) == (2, False)
    shop.job()
    assert "compiling scale.cu" in shop.call("run", "--device", "cpu", "-v").output


UNWRITTEN = "__global__ void other() {}\n"


@pytest.mark.parametrize(
    ("text", "kernel", "more"),
    [
        ("#define KERNEL(x) __global__ void sc##x() {}\nKERNEL(ale)\n", "scale", {}),
        ("__global__ void NAME() {}\n", "scale", {"defines": {"NAME": "scale"}}),
        ("__global__ void NAME() {}\n", "scale", {"options": ("-DNAME=scale",)}),
        ('#include "scale.cuh"\n', "scale<float>", {}),
        ("__global__ void sca\\\nle() {}\n", "scale", {}),
        ("__global__ void scale(float *x) {}\n", "scale(float*)", {}),
        (UNWRITTEN, "library::scale", {}),
        ("__global__ void scale(float *x) {}\n", "_Z5scalePf", {}),
        ("#include MACRO\n", "scale", {}),
    ],
)
def test_a_name_that_may_be_there_is_left_to_the_compiler(
    tmp_path: Path, text: str, kernel: str, more: dict[str, Any]
) -> None:
    path = tmp_path / "k.cu"
    path.write_text(text)
    (tmp_path / "scale.cuh").write_text("template <typename T> __global__ void scale(T *x) {}\n")
    assert not programs.unwritten_names(Source(str(path), kernels=(kernel,), **more))
    path.write_text(UNWRITTEN)
    assert programs.unwritten_names(Source(str(path), kernels=("scale",)))

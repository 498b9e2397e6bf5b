"""The text of a captured job."""

from __future__ import annotations

from pathlib import Path

from gpuregress.gpu.records import replace
from gpuregress.lab.capture import job_text
from gpuregress.lab.capture.buffers import JobBuffer, Layout
from gpuregress.lab.capture.job_text import JobParts
from tests.lab.capture.test_buffers import launch_of


def parts(folder: Path) -> JobParts:
    launch = replace(launch_of(folder, 0, 4096), grid=(4, 1, 1), block=(16, 2, 1), shared=256)
    layout = Layout((JobBuffer("x", "float32", 0, 0, 64), JobBuffer("y", "float32", 0, 64, 64, "", False, True)), ())
    return JobParts(
        launch, "a::k<float, 3>", "./app on a card", "k.ptx", "../captured/k", layout, ["x", "y"], {}, ["a remark"]
    )


def test_a_job_is_written(tmp_path: Path) -> None:
    assert "\n".join(job_text.lines(parts(tmp_path))) == (
        "# Captured by gpuregress capture: launch 1 of ./app on a card\n"
        "# a remark\n"
        "source: k.ptx\n"
        "buffers:\n"
        "  x: {dtype: float32, shape: [16], fill: {file: ../captured/k/x.bin}}\n"
        "  y: {dtype: float32, shape: [16]}\n"
        "launches:\n"
        "  - kernel: 'a::k<float, 3>'\n"
        "    grid: [4]\n"
        "    block: [16, 2]\n"
        "    shared: 256\n"
        "    args: [x, y]\n"
        "dump: [y]\n"
        "reference:                          # the result on the GPU; without a rule every bit must be equal\n"
        "  y: {file: ../captured/k/y.after.bin}\n"
        "inputs: unchanged\n"
        "tags: [captured]"
    )


def test_a_launch_that_failed_has_no_reference(tmp_path: Path) -> None:
    given = parts(tmp_path)
    text = "\n".join(job_text.lines(replace(given, launch=replace(given.launch, error="X"), on_gpu_only="no PTX")))
    assert "reference" not in text
    assert "devices: [cuda]                     # no PTX" in text


def test_a_job_without_an_output_dumps_its_first_buffer(tmp_path: Path) -> None:
    given = parts(tmp_path)
    layout = Layout((given.layout.buffers[0],), ())
    assert job_text.dumped(layout) == [layout.buffers[0]]
    text = "\n".join(job_text.lines(replace(given, layout=layout, arguments=["x" * 80, "y" * 80])))
    assert "dump: [x]\n" in text
    assert "inputs: unchanged" not in text
    assert f"    args:\n      - {'x' * 80}\n" in text


def test_a_command_of_several_lines_is_one_comment(tmp_path: Path) -> None:
    given = replace(
        parts(tmp_path), origin="python -c import x\n\tx.y()\x85\udcff on a card", source="../my file #1.cu"
    )
    text = "\n".join(job_text.lines(given))
    assert text.startswith(
        "# Captured by gpuregress capture: launch 1 of python -c import x x.y() ? on a card\n# a remark\n"
        "source: '../my file #1.cu'\n"
    )

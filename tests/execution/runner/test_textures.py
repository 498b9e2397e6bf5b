"""Jobs with textures and surfaces from their file to their dumps, on the CPU device."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gpuregress.execution.device_registry import open_device
from gpuregress.execution.runner.execution import run_case
from gpuregress.foundation.records import Case, Outcome, Task
from gpuregress.jobs import plan
from gpuregress.store.dumps import reader
from gpuregress.store.project import Project, find
from gpuregress.toolchain import programs

SOURCE = """
__global__ void step(cudaSurfaceObject_t to, cudaSurfaceObject_t from, cudaTextureObject_t by)
{
    int x = threadIdx.x, y = blockIdx.x;
    surf2Dwrite(2 * surf2Dread<int>(from, 4 * x, y) + tex2D<int>(by, x, y), to, 4 * x, y);
}
__global__ void plain(int* to, const int* from, cudaSurfaceObject_t) { to[threadIdx.x] = from[threadIdx.x]; }
__global__ void outside(cudaSurfaceObject_t to, cudaSurfaceObject_t, cudaTextureObject_t)
{
    surf2Dwrite(1, to, 4 * threadIdx.x, blockIdx.x);
}
"""
JOB = """
source: k.cu
buffers:
  a:  {dtype: int32, shape: [4, 8], fill: arange, surface: true}
  b:  {dtype: int32, shape: [4, 8], surface: true}
  by: {dtype: int32, shape: [4, 8], fill: ones, texture: {}}
dump: all
repeat: 2
launches:
  - kernel: KERNEL
    grid: [4]
    block: [BLOCK]
    args: ARGS
"""


def _project(folder: Path, kernel: str, args: str, more: str = "", block: int = 8) -> Project:
    (folder / "configs").mkdir()
    (folder / "configs" / "k.cu").write_text(SOURCE)
    text = JOB.replace("KERNEL", kernel).replace("ARGS", args).replace("BLOCK", str(block))
    (folder / "configs" / "job.yaml").write_text(text + more)
    return find(folder)


def _run(folder: Path, case: Case) -> Outcome:
    program = programs.compile(case.source)
    assert not plan.check_programs(case, [program])
    with open_device("cpu") as device:
        return run_case(device, Task(case, program, str(folder / "launch.log"), 1, str(folder / "dumps")))


def _plan(example: Project) -> Case:
    (case,) = plan.make(example, []).cases
    return case


def test_surfaces_swap_and_a_texture_stays(tmp_path: Path) -> None:
    more = "    repeat: 3\n    swap: [[a, b]]\n"
    outcome = _run(tmp_path, _plan(_project(tmp_path, "step", "[b, a, by]", more)))
    assert outcome.state == "done", outcome
    actual = {dump.buffer: reader.read(Path(dump.path)).array for dump in outcome.dumps}
    start = np.arange(32).reshape(4, 8)
    assert np.array_equal(actual["a"], 8 * start + 7)
    assert np.array_equal(actual["b"], 4 * start + 3)
    assert np.array_equal(actual["by"], np.ones((4, 8)))
    assert not any(run.dumps for run in outcome.observations.along("repeat"))


def test_a_write_outside_a_surface_is_the_case_s_fault(tmp_path: Path) -> None:
    outcome = _run(tmp_path, _plan(_project(tmp_path, "outside", "[b, a, by]", block=9)))
    assert outcome.state == "fault"
    assert outcome.fault is not None
    assert outcome.fault.kind == "out-of-bounds"
    assert "b(x = byte 32, y = 0) (b has 32 bytes x 4), thread (8,0,0)" in outcome.fault.message
    assert outcome.fault.message.endswith("k.cu:10")


def test_an_object_for_a_pointer_is_an_error_of_the_job(tmp_path: Path) -> None:
    case = _plan(_project(tmp_path, "plain", "[b, by, a]"))
    first, second = plan.check_programs(case, [programs.compile(case.source)])
    assert "the buffer b is a surface object and parameter 'to' is a pointer" in str(first)
    assert "the buffer by is a texture object and parameter 'from' is a pointer" in str(second)
    assert "job.yaml:13: launches[0].args[0]" in str(first)


LAYERS = """
__global__ void pick(cudaSurfaceObject_t to, cudaTextureObject_t layers, cudaTextureObject_t cube)
{
    int x = threadIdx.x, layer = blockIdx.x;
    float side[] = {1, -1};
    int value = tex1DLayered<int>(layers, x, layer) + texCubemap<int>(cube, side[layer % 2], 0, 0);
    surf1DLayeredwrite(value, to, 4 * x, layer);
}
"""
LAYERS_JOB = """
source: k.cu
buffers:
  to:     {dtype: int32, shape: [3, 8], surface: layered}
  layers: {dtype: int32, shape: [3, 8], fill: arange, texture: {kind: layered}}
  cube:   {dtype: int32, shape: [6, 2, 2], fill: arange, texture: {kind: cube}}
launches:
  - {kernel: pick, grid: [3], block: [8], args: [to, layers, cube]}
"""


def test_layers_and_the_faces_of_a_cube(tmp_path: Path) -> None:
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "k.cu").write_text(LAYERS)
    (tmp_path / "configs" / "job.yaml").write_text(LAYERS_JOB)
    outcome = _run(tmp_path, _plan(find(tmp_path)))
    assert outcome.state == "done", outcome
    (dump,) = outcome.dumps
    # The middle of a face of two by two is the corner of its fourth element: faces 0, 1, 0.
    faces = np.array([3, 7, 3])[:, None]
    assert np.array_equal(reader.read(Path(dump.path)).array, np.arange(24).reshape(3, 8) + faces)

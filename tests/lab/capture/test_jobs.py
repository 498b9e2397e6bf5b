"""Launches that a job cannot say are refused by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.gpu.records import replace
from gpuregress.lab.capture import jobs
from gpuregress.lab.capture.jobs import CannotCapture, Target
from gpuregress.lab.capture.records import CapturedLaunch, CapturedProcess
from tests.lab.capture.test_buffers import BASE, launch_of

PTX = """.version 8.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 a)
{{
.reg .b64 %rd<3>; .reg .b32 %r<3>; .reg .f32 %f<9>;
ld.param.u64 %rd1, [a];
{body}
ret;
}}
"""


def write(folder: Path, launch: CapturedLaunch, body: str = "", source: Path | None = None) -> str:
    """The text of the job of a launch."""
    given = folder / "given"
    given.write_text(PTX.format(body=body))
    launch = replace(launch, given=given if body is not None else None)
    process = CapturedProcess(1, ("app",), "a card", "sm_90", "13.0", (launch,), {}, (), ())
    target = Target(folder / "configs/k.yaml", folder / "captured/k")
    for path in (target.job.parent, target.folder):
        path.mkdir(parents=True, exist_ok=True)
    return jobs.write(launch, process, target, source, 0).path.read_text()


def test_handles_and_encoded_maps_are_refused(tmp_path: Path) -> None:
    launch = launch_of(tmp_path, 0)
    with pytest.raises(CannotCapture, match=r"texture or surface objects \(tex\)"):
        write(tmp_path, launch, "tex.1d.v4.f32.s32 {%f1,%f2,%f3,%f4}, [%rd1, {%r1}];")
    with pytest.raises(CannotCapture, match="tensor maps"):
        write(tmp_path, launch, "cp.async.bulk.tensor.1d.shared::cluster.global.tile [%r1], [%rd1, {%r2}], [%r2];")


def test_a_buffer_of_addresses_is_refused(tmp_path: Path) -> None:
    launch = launch_of(tmp_path, 0)
    (tmp_path / "before").write_bytes((BASE + 64).to_bytes(8, "little") + bytes(65528))
    region = replace(launch.regions[0], holds=BASE + 64)
    with pytest.raises(CannotCapture, match="holds addresses of device memory"):
        write(tmp_path, replace(launch, regions=(region,)))


def test_memory_that_could_not_be_read_is_refused(tmp_path: Path) -> None:
    launch = launch_of(tmp_path, 0)
    region = replace(launch.regions[0], before=None)
    with pytest.raises(CannotCapture, match="memory at 0x100000 could not be read"):
        write(tmp_path, replace(launch, regions=(region,)))


def test_a_cluster_of_the_launch_becomes_the_kernels_own(tmp_path: Path) -> None:
    launch = replace(launch_of(tmp_path, 0), cluster=(2, 1, 1))
    write(tmp_path, launch, "ld.global.u32 %r1, [%rd1];")
    assert ".explicitcluster\n.reqnctapercluster 2, 1, 1" in (tmp_path / "captured/k/kernel.ptx").read_text()


def test_the_users_source_gives_names(tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text('extern "C" __global__ void k(const float *input) {}\n')
    text = write(tmp_path, launch_of(tmp_path, 0), "ld.global.u32 %r1, [%rd1];", source)
    assert "source: ../k.cu" in text
    assert "  input: {dtype: float32" in text
    assert jobs.declares(launch_of(tmp_path, 0), source)


def test_parameters_that_the_driver_did_not_tell_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CannotCapture, match="reports 0, and its PTX has 1"):
        write(tmp_path, replace(launch_of(tmp_path, 0), parameters=(), pointers=()), "ret;")


def test_a_result_that_could_not_be_kept_is_refused(tmp_path: Path) -> None:
    launch = launch_of(tmp_path, 0)
    with pytest.raises(CannotCapture, match="its result could not be kept"):
        write(tmp_path, replace(launch, regions=(replace(launch.regions[0], after=None),)))

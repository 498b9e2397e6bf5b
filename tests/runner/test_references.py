from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gpuregress.launch_log import LaunchLog
from gpuregress.records import ReferenceKernel
from gpuregress.runner.dumps import DumpFolder
from gpuregress.runner.launcher import Launcher
from gpuregress.runner.references import ReferenceDumps
from tests import fakes

X = np.arange(8, dtype=np.float32)


@pytest.fixture
def log(tmp_path: Path) -> Iterator[LaunchLog]:
    with closing(LaunchLog(tmp_path / "launch.log")) as opened:
        yield opened


def kernel(name: str) -> ReferenceKernel:
    case = fakes.case(name)
    return ReferenceKernel(replace(case.source, path="/nowhere/gold.cu"), case.launches)


def references(log: LaunchLog, folder: Path, **kernels: ReferenceKernel) -> ReferenceDumps:
    case = fakes.case("double", reference_kernels=kernels)
    task = fakes.task(case, folder, references=dict.fromkeys(kernels, fakes.program()))
    launcher = Launcher(fakes.FakeDevice(), task, log, lambda _phase: None)
    return ReferenceDumps(launcher, DumpFolder(case, folder / "dumps"), ())


def test_trusted_kernels_run_once_for_all_their_buffers(log: LaunchLog, tmp_path: Path) -> None:
    actual = references(log, tmp_path, out=kernel("twice"), x=kernel("twice"))
    actual.write({"x": X})
    assert actual.launcher.current == 1
    assert Path(actual.rounded["out"].path).read_text().splitlines()[1:4] == ["0.0", "2.0", "4.0"]
    assert Path(actual.rounded["x"].path).read_text().splitlines()[1:4] == ["0.0", "1.0", "2.0"]
    assert Path(actual.rounded["out"].path).is_relative_to(tmp_path / "references")


def test_after_a_sticky_fault_no_further_kernel_runs(log: LaunchLog, tmp_path: Path) -> None:
    actual = references(log, tmp_path, out=kernel("fault"), x=kernel("twice"))
    actual.write({"x": X})
    assert actual.sticky
    assert actual.errors["out"].startswith("the reference's own kernel failed with out-of-bounds")
    assert not actual.rounded
    assert actual.launcher.current == 1

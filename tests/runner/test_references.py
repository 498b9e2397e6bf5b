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
    actual.write({"x": X}, {"x": "00"})
    assert actual.launcher.current == 1
    assert Path(actual.rounded["out"].path).read_text().splitlines()[1:4] == ["0.0", "2.0", "4.0"]
    assert Path(actual.rounded["x"].path).read_text().splitlines()[1:4] == ["0.0", "1.0", "2.0"]
    assert Path(actual.rounded["out"].path).is_relative_to(tmp_path / "references")


def test_after_a_sticky_fault_no_further_kernel_runs(log: LaunchLog, tmp_path: Path) -> None:
    actual = references(log, tmp_path, out=kernel("fault"), x=kernel("twice"))
    actual.write({"x": X}, {"x": "00"})
    assert actual.sticky
    assert actual.errors["out"].startswith("the reference's own kernel failed with out-of-bounds")
    assert not actual.rounded
    assert actual.launcher.current == 1


def shared(log: LaunchLog, folder: Path, name: str, device: fakes.FakeDevice, gold: str = "twice") -> ReferenceDumps:
    """The references of one of several cases that share what they can."""
    case = fakes.case("double", name=name, reference_kernels={"out": kernel(gold)})
    task = fakes.task(case, folder, references={"out": fakes.program()}, shared=str(folder / ".shared"))
    launcher = Launcher(device, task, log, lambda _phase: None)
    actual = ReferenceDumps(launcher, DumpFolder(case, folder / "dumps"), ())
    actual.write({"x": X}, {"x": "00"})
    return actual


def test_cases_share_what_a_trusted_kernel_stored(log: LaunchLog, tmp_path: Path) -> None:
    device = fakes.FakeDevice()
    first, second = shared(log, tmp_path, "fake/a", device), shared(log, tmp_path, "fake/b", device)
    assert device.launched == 1
    one, other = Path(first.rounded["out"].path), Path(second.rounded["out"].path)
    assert (one.parent.name, other.parent.name) == ("a", "b")
    assert one.samefile(other)
    assert replace(second.rounded["out"], path=str(one)) == first.rounded["out"]


def test_a_reference_that_was_edited_is_computed_again(log: LaunchLog, tmp_path: Path) -> None:
    device = fakes.FakeDevice()
    first = shared(log, tmp_path, "fake/a", device)
    Path(first.rounded["out"].path).write_text("edited")
    second = shared(log, tmp_path, "fake/b", device)
    assert device.launched == 2
    assert Path(second.rounded["out"].path).read_text().splitlines()[1:4] == ["0.0", "2.0", "4.0"]


def test_cases_share_the_fault_of_a_trusted_kernel_unless_it_lost_the_device(log: LaunchLog, tmp_path: Path) -> None:
    device = fakes.FakeDevice()
    shared(log, tmp_path, "fake/a", device, "fault")
    shared(log, tmp_path, "fake/b", device, "fault")
    assert device.launched == 2  # that fault is sticky

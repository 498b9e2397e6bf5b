from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from gpuregress.execution.runner.dumps import DumpFolder
from gpuregress.execution.runner.launcher import Launcher
from gpuregress.execution.runner.references import ReferenceDumps
from gpuregress.foundation.errors import LaunchRefused
from gpuregress.foundation.records import Buffer, Case, ReferenceKernel, Rule
from gpuregress.gpu.records import replace
from gpuregress.store.launch_log import LaunchLog
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
    return of_case(log, folder, fakes.case("double", reference_kernels=kernels))


def of_case(log: LaunchLog, folder: Path, case: Case) -> ReferenceDumps:
    task = fakes.task(case, folder, references=dict.fromkeys(case.reference_kernels, fakes.program()))
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


def test_a_launch_of_a_reference_that_is_refused_is_told_of_the_reference(
    log: LaunchLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_arguments: object) -> None:
        raise LaunchRefused("k cannot be launched")

    monkeypatch.setattr(fakes.FakeDevice, "launch", refuse)
    with pytest.raises(LaunchRefused, match="the reference of out: k cannot be launched"):
        references(log, tmp_path, out=kernel("twice")).write({"x": X}, {"x": "00"})


def test_cases_share_the_fault_of_a_trusted_kernel_unless_it_lost_the_device(log: LaunchLog, tmp_path: Path) -> None:
    device = fakes.FakeDevice()
    shared(log, tmp_path, "fake/a", device, "fault")
    shared(log, tmp_path, "fake/b", device, "fault")
    assert device.launched == 2  # that fault is sticky


def test_a_twin_of_the_same_launches_is_read_in_the_same_run(log: LaunchLog, tmp_path: Path) -> None:
    case = fakes.case("double", reference_kernels={"x": kernel("twice"), "out": replace(kernel("twice"), buffer="x")})
    actual = of_case(log, tmp_path, case)
    actual.write({"x": X}, {"x": "00"})
    assert actual.launcher.current == 1
    assert Path(actual.rounded["out"].path).read_text().splitlines()[1:4] == ["0.0", "1.0", "2.0"]
    assert (actual.rounded["out"].buffer, actual.errors) == ("out", {})


def test_a_twin_of_another_precision_is_also_kept_unrounded(log: LaunchLog, tmp_path: Path) -> None:
    case = fakes.case("double", reference_kernels={"out": replace(kernel("twice"), buffer="wide")})
    wide = Buffer("wide", "float64", (8,), case.buffers["x"].fill)
    case = replace(case, buffers={**case.buffers, "wide": wide})
    actual = of_case(log, tmp_path, case)
    actual.write({"x": X, "wide": np.arange(8) + 0.1}, {"x": "00", "wide": "01"})
    assert (actual.rounded["out"].dtype, actual.unrounded["out"].dtype) == ("float32", "float64")
    assert Path(actual.unrounded["out"].path).read_text().splitlines()[2] == "1.1"


def test_a_file_is_a_reference(log: LaunchLog, tmp_path: Path) -> None:
    np.save(tmp_path / "ans.npy", 2 * X)
    case = fakes.case("double", reference_files={"out": f"{tmp_path}/ans.npy", "x": f"{tmp_path}/none.npy"})
    actual = of_case(log, tmp_path, case)
    actual.write({"x": X}, {"x": "00"})
    assert Path(actual.rounded["out"].path).read_text().splitlines()[1:4] == ["0.0", "2.0", "4.0"]
    assert f"{tmp_path}/none.npy cannot be read" in actual.errors["x"]


def test_a_file_of_another_shape_is_for_verify(log: LaunchLog, tmp_path: Path) -> None:
    np.save(tmp_path / "ans.npy", np.array([56.0]))
    case = fakes.case("double", reference_files={"out": f"{tmp_path}/ans.npy"})
    actual = of_case(log, tmp_path, case)
    actual.write({"x": X}, {"x": "00"})
    assert actual.errors == {"out": "ans.npy holds shape [1]; out has [8]"}
    actual = of_case(log, tmp_path, replace(case, compare={"out": Rule(verify="/mine.py:f")}))
    actual.write({"x": X}, {"x": "00"})
    assert (actual.rounded["out"].dtype, actual.rounded["out"].shape) == ("float64", (1,))

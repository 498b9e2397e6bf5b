from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from gpuregress.execution.runner.axes import references
from gpuregress.execution.runner.execution import run_case
from gpuregress.foundation import dtypes
from gpuregress.foundation.errors import LaunchRefused
from gpuregress.foundation.records import (
    Buffer,
    Case,
    Dump,
    Fill,
    FurtherRun,
    Outcome,
    Progression,
    ReferenceKernel,
    Rule,
)
from gpuregress.gpu.base import DeviceModule, LaunchReport
from gpuregress.gpu.records import replace
from tests import fakes

X = np.arange(8, dtype=np.float32)


def kernel(name: str) -> ReferenceKernel:
    case = fakes.case(name)
    return ReferenceKernel(replace(case.source, path="/nowhere/gold.cu"), case.launches)


class Usual(fakes.FakeDevice):
    """It runs `double`, the case's own kernel, and counts the others; `fault` loses the device."""

    trusted = 0

    def launch(self, module: DeviceModule, kernel: str, *rest: Any) -> LaunchReport:
        self.trusted += kernel != "double"
        return super().launch(module, kernel, *rest)


def of_case(folder: Path, case: Case, device: fakes.FakeDevice | None = None, shared: str = "") -> Outcome:
    programs = dict.fromkeys(case.reference_kernels, fakes.program())
    task = fakes.task(case, folder, references=programs, shared=shared)
    return run_case(device or Usual(), task)


def lines(dump: Dump) -> list[str]:
    return Path(dump.path).read_text().splitlines()[1:4]


def test_trusted_kernels_run_once_for_all_their_buffers(tmp_path: Path) -> None:
    device = Usual()
    case = fakes.case("double", reference_kernels={"out": kernel("twice"), "x": kernel("twice")})
    actual = of_case(tmp_path, case, device).observations.reference
    assert device.trusted == 1
    assert lines(actual.dumps["out"]) == ["0.0", "2.0", "4.0"]
    assert lines(actual.dumps["x"]) == ["0.0", "1.0", "2.0"]
    assert Path(actual.dumps["out"].path).is_relative_to(tmp_path / "references")


def test_after_a_sticky_fault_no_further_kernel_runs(tmp_path: Path) -> None:
    device = Usual()
    case = fakes.case("double", reference_kernels={"out": kernel("fault"), "x": kernel("twice")})
    observed = of_case(tmp_path, case, device).observations
    assert observed.sticky
    assert observed.reference.facts.errors["out"].startswith("the reference's own kernel failed with out-of-bounds")
    assert not observed.reference.dumps
    assert device.trusted == 1


def shared(folder: Path, name: str, device: fakes.FakeDevice, gold: str = "twice") -> FurtherRun:
    """The references of one of several cases that share what they can."""
    case = fakes.case("double", name=name, reference_kernels={"out": kernel(gold)})
    return of_case(folder, case, device, str(folder / ".shared")).observations.reference


def test_cases_share_what_a_trusted_kernel_stored(tmp_path: Path) -> None:
    device = Usual()
    first, second = shared(tmp_path, "fake/a", device), shared(tmp_path, "fake/b", device)
    assert device.trusted == 1
    one, other = Path(first.dumps["out"].path), Path(second.dumps["out"].path)
    assert (one.parent.name, other.parent.name) == ("a", "b")
    assert one.samefile(other)
    assert replace(second.dumps["out"], path=str(one)) == first.dumps["out"]


def test_a_reference_that_was_edited_is_computed_again(tmp_path: Path) -> None:
    device = Usual()
    first = shared(tmp_path, "fake/a", device)
    Path(first.dumps["out"].path).write_text("edited")
    second = shared(tmp_path, "fake/b", device)
    assert device.trusted == 2
    assert lines(second.dumps["out"]) == ["0.0", "2.0", "4.0"]


def test_a_launch_of_a_reference_that_is_refused_is_told_of_the_reference(tmp_path: Path) -> None:
    class Refusing(fakes.FakeDevice):
        def launch(self, module: DeviceModule, kernel: str, *rest: Any) -> LaunchReport:
            if kernel == "twice":
                raise LaunchRefused("k cannot be launched")
            return super().launch(module, kernel, *rest)

    outcome = of_case(tmp_path, fakes.case("double", reference_kernels={"out": kernel("twice")}), Refusing())
    assert (outcome.state, outcome.message) == ("error", "the reference of out: k cannot be launched")


def test_cases_share_the_fault_of_a_trusted_kernel_unless_it_lost_the_device(tmp_path: Path) -> None:
    device = Usual()
    shared(tmp_path, "fake/a", device, "fault")
    shared(tmp_path, "fake/b", device, "fault")
    assert device.trusted == 2  # that fault is sticky


def test_a_twin_of_the_same_launches_is_read_in_the_same_run(tmp_path: Path) -> None:
    device = Usual()
    kernels = {"x": kernel("twice"), "out": replace(kernel("twice"), buffer="x")}
    actual = of_case(tmp_path, fakes.case("double", reference_kernels=kernels), device).observations.reference
    assert device.trusted == 1
    assert lines(actual.dumps["out"]) == ["0.0", "1.0", "2.0"]
    assert (actual.dumps["out"].buffer, actual.facts.errors) == ("out", {})


def test_a_twin_of_another_precision_is_also_kept_unrounded(tmp_path: Path) -> None:
    case = fakes.case("double", reference_kernels={"out": replace(kernel("twice"), buffer="wide")})
    wide = Buffer("wide", "float64", (8,), Fill("arange", Progression(0.1, 1), 1))
    actual = of_case(tmp_path, replace(case, buffers={**case.buffers, "wide": wide})).observations.reference
    unrounded = actual.facts.unrounded["out"]
    assert (actual.dumps["out"].dtype, unrounded.dtype) == ("float32", "float64")
    assert lines(unrounded)[1] == "1.1"


def test_a_file_is_a_reference(tmp_path: Path) -> None:
    np.save(tmp_path / "ans.npy", 2 * X)
    case = fakes.case("double", reference_files={"out": f"{tmp_path}/ans.npy", "x": f"{tmp_path}/none.npy"})
    actual = of_case(tmp_path, case).observations.reference
    assert lines(actual.dumps["out"]) == ["0.0", "2.0", "4.0"]
    assert f"{tmp_path}/none.npy cannot be read" in actual.facts.errors["x"]


def test_a_file_of_another_shape_is_for_verify(tmp_path: Path) -> None:
    np.save(tmp_path / "ans.npy", np.array([56.0]))
    case = fakes.case("double", reference_files={"out": f"{tmp_path}/ans.npy"})
    assert of_case(tmp_path, case).observations.reference.facts.errors == {
        "out": "ans.npy holds shape [1]; out has [8]"
    }
    verified = replace(case, compare={"out": Rule(verify="/mine.py:f")})
    actual = of_case(tmp_path, verified).observations.reference
    assert (actual.dumps["out"].dtype, actual.dumps["out"].shape) == ("float64", (1,))


MODULE = """
def twice(inputs, case):
    assert not inputs["x"].flags.writeable
    return inputs["x"] * 2
"""


def test_a_function_calculates_with_bfloat16_as_with_numbers(tmp_path: Path) -> None:
    module = tmp_path / "gold.py"
    module.write_text(MODULE)
    case = replace(fakes.case("double"), buffers={name: Buffer(name, "bfloat16", (3,)) for name in ("x", "y")})
    bits = dtypes.from_float32(np.array([1.5, -3.0, 0.0078125], np.float32))
    actual = references.compute(f"{module}:twice", case, "y", {"x": bits}).array
    assert actual.dtype == np.uint16
    assert actual.tolist() == dtypes.from_float32(np.array([3, -6, 0.015625], np.float32)).tolist()

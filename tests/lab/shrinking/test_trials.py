from __future__ import annotations

from pathlib import Path
from typing import Any

from gpuregress.foundation.document import reader
from gpuregress.foundation.errors import FaultLocation
from gpuregress.foundation.interrupts import StopSignal
from gpuregress.foundation.records import BufferVerdict, Comparison, Fault, Outcome, Verdict
from gpuregress.gpu.records import replace
from gpuregress.lab.experiment import RunOptions
from gpuregress.lab.shrinking.trials import Failure, JobFolder, Trials, failure_of
from gpuregress.store import project
from tests import fakes
from tests.lab.revisions.git_projects import everything
from tests.workshop import Workshop

CASE = fakes.case("double", "fault")


def faulted(kind: str, buffer: str, position: int | None = 1) -> Verdict:
    fault = Fault(kind, "x[1] and out[2] are words", position=position, location=FaultLocation(buffer, 8))
    outcome = Outcome(CASE.name, "fault", fault)
    return Verdict("fake", CASE.name, "fault", f"{kind}: at {buffer}", outcome=outcome)


def compared(*failing: tuple[str, str]) -> Verdict:
    buffers = tuple(
        BufferVerdict(name, "differ", comparisons=(Comparison(name, against, "", same=False, identical=False, of=1),))
        for name, against in failing
    )
    return Verdict("fake", CASE.name, "differ", "out: 1 of 1 differ", buffers=buffers)


def test_what_is_no_failure() -> None:
    assert failure_of(CASE, None) is None
    for status in ("pass", "new", "error", "skip"):
        assert failure_of(CASE, replace(compared(), status=status)) is None


def test_a_fault_is_of_a_kind_in_a_kernel_at_a_buffer() -> None:
    one = failure_of(CASE, faulted("out-of-bounds", "out"))
    assert one == Failure("fault", "out-of-bounds", "fault", frozenset({"out"}), message="out-of-bounds: at out")
    assert one.is_same(failure_of(CASE, faulted("out-of-bounds", "out")))
    assert not one.is_same(failure_of(CASE, faulted("out-of-bounds", "x")))
    assert not one.is_same(failure_of(CASE, faulted("out-of-bounds", "out", position=0)))
    assert not one.is_same(failure_of(CASE, faulted("misaligned", "out")))
    assert not one.is_same(failure_of(CASE, compared(("out", "reference"))))
    assert not one.is_same(None)
    assert one.without_baseline() == one


def test_a_difference_is_of_a_buffer_against_something() -> None:
    one = failure_of(CASE, compared(("out", "reference"), ("x", "check")))
    assert one is not None
    assert one.is_same(failure_of(CASE, compared(("x", "check"), ("out", "reference"))))
    assert not one.is_same(failure_of(CASE, compared(("x", "check"))))
    assert not one.is_same(failure_of(CASE, compared(("out", "baseline"))))


def test_without_the_baseline_the_other_comparisons_are_left() -> None:
    one = failure_of(CASE, compared(("out", "baseline"), ("x", "check")))
    assert one is not None
    left = one.without_baseline()
    assert left is not None
    assert left.sides == (("x", "check"),)
    only = failure_of(CASE, compared(("out", "baseline"), ("out", "first"), ("out", "agree")))
    assert only is not None
    assert only.without_baseline() is None


def trials(shop: Workshop, scratch: Path) -> tuple[Trials, dict[str, Any]]:
    path = shop.root / "configs/scale.yaml"
    text = path.read_text() + "checks: {out: [{range: [0, 100]}]}\n"
    folder = JobFolder(project.find(shop.root), path, RunOptions("cpu"), scratch / "runs")
    return Trials(folder, scratch, StopSignal()), {"job": "t", **reader.parse(text.encode(), path).data}


def test_candidates_run_together_and_a_wrong_one_ends_no_other(fake_shop: Workshop, tmp_path_factory: Any) -> None:
    runner, job = trials(fake_shop, tmp_path_factory.mktemp("scratch"))
    before = everything(fake_shop.root)
    values = (100, 0, 8, "nonsense +", 60)
    found = runner.run([{**job, "parameters": {"n": [value]}} for value in values])
    assert [trial.failure is not None for trial in found] == [True, False, False, False, True]
    assert [trial.case is not None for trial in found] == [True, False, True, False, True]
    assert found[0].job["job"] == "t"
    assert found[0].failure is not None
    assert found[0].failure.sides == (("out", "check"),)
    assert runner.count == 3
    assert everything(fake_shop.root) == before


def test_candidates_that_are_all_wrong_are_not_run(fake_shop: Workshop, tmp_path_factory: Any) -> None:
    runner, job = trials(fake_shop, tmp_path_factory.mktemp("scratch"))
    missing = {**job, "source": "nowhere.cu"}
    two = {**job, "parameters": {"n": [1, 2]}}
    assert [trial.case for trial in runner.run([missing, two])] == [None, None]
    assert runner.count == 0


def test_results_of_a_trusted_project_decide(fake_shop: Workshop, tmp_path_factory: Any) -> None:
    scratch = tmp_path_factory.mktemp("scratch")
    _, job = trials(fake_shop, scratch)
    del job["checks"]
    here = project.find(fake_shop.root)
    other = Workshop(tmp_path_factory.mktemp("other"))
    other.write("kernels/scale.cu", (fake_shop.root / "kernels/scale.cu").read_text())
    other.write("configs/scale.yaml", (fake_shop.root / "configs/scale.yaml").read_text())
    other.write("configs/two.bin", "")
    options = RunOptions("cpu")
    folders = [
        JobFolder(one, one.configs / "scale.yaml", options, scratch / name)
        for name, one in (("here", here), ("trusted", project.find(other.root)))
    ]
    runner = Trials(folders[0], scratch, StopSignal(), folders[1])
    (same,) = runner.run([job])
    assert same.failure is None
    (fake_shop.root / "configs/x.bin").write_bytes(bytes(400))
    (other.root / "configs/x.bin").write_bytes(b"\0\0\0@" * 100)
    job["buffers"]["x"]["fill"] = {"file": "x.bin"}
    (differs,) = runner.run([job])
    assert differs.failure is not None
    assert differs.failure.sides == (("out", "baseline"),)

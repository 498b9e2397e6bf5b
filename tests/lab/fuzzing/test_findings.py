from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from gpuregress.foundation.errors import FaultLocation, Interrupted
from gpuregress.foundation.interrupts import StopSignal
from gpuregress.foundation.records import Fault, Outcome, Verdict
from gpuregress.jobs import plan
from gpuregress.jobs.spec import load
from gpuregress.lab.experiment import RunOptions
from gpuregress.lab.fuzzing import findings
from gpuregress.lab.fuzzing.candidates import Candidate, EdgeContents, Space
from gpuregress.lab.fuzzing.findings import FindingWriter, FuzzTrials, PlannedInput, Tried
from gpuregress.lab.shrinking.trials import Failure, JobFolder, failure_of
from gpuregress.store import project
from gpuregress.store.project import find
from tests import fakes
from tests.workshop import Workshop


@pytest.fixture
def scratch(tmp_path_factory: Any) -> Path:
    return Path(tmp_path_factory.mktemp("scratch"))


def trials(shop: Workshop, scratch: Path, more: str) -> FuzzTrials:
    path = shop.root / "configs/scale.yaml"
    path.write_text(path.read_text() + more)
    here = project.find(shop.root)
    space = Space(load.load_file(path).document.data, plan.make(here, ["scale"]).cases)
    return FuzzTrials(space, JobFolder(here, path, RunOptions("cpu"), scratch / "runs"))


def test_candidates_are_judged_by_the_job_itself(fake_shop: Workshop, scratch: Path) -> None:
    made = trials(fake_shop, scratch, "checks: {out: [{range: [0, 198]}]}\n")
    own = Candidate(0)
    assert made.plan(own.with_parameter("n", 0)) is None, "a buffer has one element at least"
    planned = [made.plan(one) for one in (own, own.with_parameter("n", 33), own.with_parameter("n", 101))]
    found = made.run([one for one in planned if one is not None])
    assert [one.state for one in found] == ["passed", "passed", "failed"]
    assert found[2].failure is not None
    assert found[2].failure.sides == (("out", "check"),)
    assert not (scratch / "runs").exists()
    assert made.run([]) == []


@pytest.mark.parametrize(
    ("kernel", "result", "reason"),
    [("scale", "inputs['x'][40:] * 0 + 1 / 0", "ZeroDivisionError"), ("idle", "inputs['x'] * float('nan')", "nothing")],
)
def test_a_reference_without_results_blames_no_kernel(
    fake_shop: Workshop, scratch: Path, kernel: str, result: str, reason: str
) -> None:
    source = fake_shop.root / "kernels/scale.cu"
    source.write_text(source.read_text().replace("void scale(", f"void {kernel}("))
    fake_shop.job(("kernel: scale", f"kernel: {kernel}"))
    fake_shop.write("configs/r.py", f"def f(inputs, case):\n    return {result}\n")
    made = trials(fake_shop, scratch, "reference: {out: 'r.py:f'}\n")
    planned = made.plan(Candidate(0))
    assert planned is not None
    (found,) = made.run([planned])
    assert found.state == "not run"
    assert reason in found.reason


def test_only_the_same_kind_of_failure_confirms(fake_shop: Workshop, tmp_path_factory: Any) -> None:
    path = fake_shop.job()
    scratch = Path(tmp_path_factory.mktemp("scratch"))
    folder = JobFolder(find(fake_shop.root), path, RunOptions("cpu"), scratch / "runs", coverage=True)
    target = fake_shop.root / "configs/fuzz"
    job = {**load.load_file(path).document.data, "job": "scale-fuzz-1", "source": "../../kernels/scale.cu"}
    again = partial(findings.fails_again, folder, target)
    kind = Failure("differ", sides=(("out", "check"),))
    assert again({**job, "checks": {"out": [{"range": [0, 1]}]}}, kind)
    assert not again({**job, "checks": {"out": [{"range": [0, 1]}]}}, Failure("fault", "trap"))
    assert not again(job, kind)
    assert not again({**job, "source": 3}, kind)
    assert not target.exists()
    assert not folder.runs.exists()


NAN = EdgeContents("x", "all NaN", {"value": float("nan")}, "special")
INFINITE = EdgeContents("x", "infinities", {"choice": [1.0, float("-inf")]}, "special")
ZEROS = EdgeContents("x", "0 and -0", {"choice": [0.0, -0.0]}, "special")
ORDINARY = EdgeContents("y", "all equal", {"value": 1.0}, "ordinary")
JOB: dict[str, Any] = {"job": "j-fuzz", "source": "../kernels/scale.cu", "buffers": {"x": {"fill": NAN.fill}}}


def failed(candidate: Candidate, failure: Failure) -> Tried:
    return Tried(PlannedInput(candidate, JOB, fakes.case("double")), "failed", failure.message, failure)


def test_one_finding_for_each_kind() -> None:
    differs, case = Failure("differ", sides=(("out", "reference"),)), fakes.case("double")
    outcome = Outcome(case.name, "fault", Fault("out-of-bounds", "", position=0, location=FaultLocation("out", 8)))
    fault = failure_of(case, Verdict("fake", case.name, "fault", "", outcome=outcome))
    assert fault is not None
    own, special = Candidate(0).with_parameter("n", 1), Candidate(0).with_contents(NAN)
    some = [failed(own, differs), failed(special, differs), failed(own, fault), failed(Candidate(1), differs)]
    assert [(one.planned.candidate, also) for one, also in findings.grouped(some)] == [
        (own, 1),
        (special, 0),
        (own, 0),
    ]


def test_failures_with_other_special_values_are_other_kinds() -> None:
    differs = Failure("differ", sides=(("out", "reference"),))
    tried = [
        failed(candidate, differs)
        for one in (ZEROS, NAN, INFINITE)
        for candidate in (Candidate(0).with_contents(one), Candidate(0).with_contents(one).with_contents(ORDINARY))
    ]
    found = [(one.planned.candidate.words, also) for one, also in findings.grouped(tried)]
    assert found == [("x: 0 and -0", 1), ("x: all NaN", 1), ("x: infinities", 1)]


def test_a_job_is_written_once_and_never_overwritten(shop: Workshop, tmp_path_factory: Any) -> None:
    scratch = Path(tmp_path_factory.mktemp("scratch"))
    folder = JobFolder(find(shop.root), shop.root / "configs/j.yaml", RunOptions("cpu"), scratch / "runs")
    target = shop.root / "configs/fuzz"
    target.mkdir()
    (target / "j-1.yaml").write_text("# mine\n")
    writer = FindingWriter(folder, scratch, target, StopSignal(), lambda _job, _kind: True)
    one = failed(Candidate(0).with_contents(NAN), Failure("timeout", message="over its limit"))
    done = writer.write("j", one, 2, 0.0, 7)
    assert (done.path, done.also, done.is_known) == ("configs/fuzz/j-2.yaml", 2, False)
    assert (target / "j-1.yaml").read_text() == "# mine\n"
    assert (target / "j-2.yaml").read_text() == done.text
    assert done.text.startswith("# Found by `gpuregress fuzz j --seed 7`.\n# over its limit\n# Inputs: x: all NaN\n")
    assert (
        "# Run it: gpuregress run configs/fuzz/j-2.yaml\njob: j-fuzz-2\nsource: ../../kernels/scale.cu\n" in done.text
    )
    again = writer.write("j", one, 0, 0.0, 8)
    assert (again.path, again.is_known) == ("configs/fuzz/j-2.yaml", True)
    assert len(list(target.iterdir())) == 2


def test_a_failure_that_does_not_come_again_is_told_and_not_written(shop: Workshop, tmp_path_factory: Any) -> None:
    scratch = Path(tmp_path_factory.mktemp("scratch"))
    folder = JobFolder(find(shop.root), shop.root / "configs/j.yaml", RunOptions("cpu"), scratch / "runs")
    target = shop.root / "configs/fuzz"
    writer = FindingWriter(folder, scratch, target, StopSignal(), lambda _job, _kind: False)
    done = writer.write("j", failed(Candidate(0), Failure("timeout", message="over its limit")), 0, 0.0, 7)
    assert (done.path, done.text, done.stopped) == ("", "", findings.NOT_AGAIN)
    assert not target.exists()

    def interrupted(_job: Any, _kind: Failure) -> bool:
        raise Interrupted("interrupted")

    writer = FindingWriter(folder, scratch, target, StopSignal(), interrupted)
    done = writer.write("j", failed(Candidate(0), Failure("timeout", message="over its limit")), 0, 0.0, 7)
    assert "# Not confirmed: interrupted\n" in done.text


def test_a_failure_is_told_where_its_job_cannot_be_written(shop: Workshop, tmp_path_factory: Any) -> None:
    scratch = Path(tmp_path_factory.mktemp("scratch"))
    folder = JobFolder(find(shop.root), shop.root / "configs/j.yaml", RunOptions("cpu"), scratch / "runs")
    (shop.root / "file").touch()
    writer = FindingWriter(folder, scratch, shop.root / "file/fuzz", StopSignal(), lambda _job, _kind: True)
    done = writer.write("j", failed(Candidate(0), Failure("timeout", message="over its limit")), 0, 0.0, 7)
    assert (done.path, done.message) == ("", "over its limit")
    assert done.stopped.startswith("cannot write")

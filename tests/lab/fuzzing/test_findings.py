from __future__ import annotations

from pathlib import Path
from typing import Any

from gpuregress.foundation.errors import Interrupted
from gpuregress.foundation.interrupts import StopSignal
from gpuregress.lab.experiment import RunOptions
from gpuregress.lab.fuzzing import findings
from gpuregress.lab.fuzzing.candidates import Candidate
from gpuregress.lab.fuzzing.data import EdgeContents
from gpuregress.lab.fuzzing.findings import FindingWriter, PlannedInput, Tried
from gpuregress.lab.shrinking.trials import Failure, JobFolder
from gpuregress.store.project import find
from tests import fakes
from tests.workshop import Workshop

NAN = EdgeContents("x", "all NaN", {"value": float("nan")}, "special")
INFINITE = EdgeContents("x", "infinities", {"choice": [1.0, float("-inf")]}, "special")
ZEROS = EdgeContents("x", "0 and -0", {"choice": [0.0, -0.0]}, "special")
ORDINARY = EdgeContents("y", "all equal", {"value": 1.0}, "ordinary")
JOB: dict[str, Any] = {"job": "j-fuzz", "source": "../kernels/scale.cu", "buffers": {"x": {"fill": NAN.fill}}}


def failed(candidate: Candidate, failure: Failure) -> Tried:
    return Tried(PlannedInput(candidate, JOB, fakes.case("double")), "failed", failure.message, failure)


def test_one_finding_for_each_kind() -> None:
    differs, fault = Failure("differ", sides=(("out", "reference"),)), Failure("fault", "out-of-bounds", "k")
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

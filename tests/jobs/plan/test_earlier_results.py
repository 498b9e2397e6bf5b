"""Earlier results as inputs: found by name, and an error lists what there is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpuregress.foundation import dtypes
from gpuregress.foundation.errors import GpuregressError, JobErrors, UsageError
from gpuregress.foundation.records import InputFile, MadeOf, Outcome
from gpuregress.jobs import plan
from gpuregress.jobs.plan import references
from gpuregress.store.baselines import BaselineStore
from gpuregress.store.dumps import writer
from gpuregress.store.project import Project
from tests import fakes
from tests.jobs.plan.projects import JOB, project

RUN = "20261120T020000Z-0001"


def dumped(folder: Path, case: str, name: str, count: int = 8) -> Path:
    path = folder / case / name
    array = np.arange(count, dtype="<f4")
    writer.write(path, array, dtypes.parse("float32"), array.shape)
    return path


def accept(place: Project, name: str, arch: str = "") -> None:
    case = fakes.case("double", name=name)
    array = np.arange(8, dtype="<f4")
    made = writer.write(place.root / "made" / "out.1.4", array, dtypes.parse("float32"), (8,))
    with BaselineStore(place.baselines).accepting() as batch:
        batch.add(case, Outcome(name, "done", dumps=(made,)), MadeOf("00"), arch=arch)


@pytest.fixture
def place(tmp_path: Path) -> Project:
    return project(tmp_path, reduce=JOB)


def test_a_run_by_its_name_or_as_the_latest(place: Project) -> None:
    path = dumped(place.runs / RUN / "dumps", "reduce/n=8", "sum.1.4")
    (place.runs / "latest").symlink_to(RUN)
    for run in ("latest", RUN, "0001"):
        found = references.find_earlier(place, f"run:{run}/reduce/n=8/sum")
        assert found.path == str(path)
        assert found.digest


def test_the_latest_run_is_the_last_one_that_has_the_case(place: Project) -> None:
    path = dumped(place.runs / RUN / "dumps", "reduce/n=8", "sum.1.4")
    dumped(place.runs / "20261120T010000Z-0000" / "dumps", "reduce/n=8", "sum.1.4")
    dumped(place.runs / "20261121T020000Z-0002" / "dumps", "other", "sum.1.4")
    (place.runs / "latest").symlink_to("20261121T020000Z-0002")
    for where in (place, place.with_runs(place.root / "scratch").with_runs(place.root / "other")):
        assert references.find_earlier(where, "run:latest/reduce/n=8/sum").path == str(path)
    with pytest.raises(UsageError, match="run 20261121T020000Z-0002 has no dumps of case 'reduce/n=9'"):
        references.find_earlier(place, "run:latest/reduce/n=9/sum")


def test_a_baseline_by_its_case(place: Project) -> None:
    accept(place, "reduce/n=8")
    assert references.find_earlier(place, "baseline:reduce/n=8/out").path.endswith("/out.1.4")


def test_a_baseline_of_one_device_or_architecture(place: Project) -> None:
    accept(place, "reduce", "sm_80")
    only = references.find_earlier(place, "baseline:reduce/out").path
    accept(place, "reduce", "cuda")
    assert references.find_earlier(place, "baseline:reduce/sm_80/out").path == only
    with pytest.raises(UsageError, match="only those of cuda, sm_80; name one, such as baseline:reduce/cuda/BUFFER"):
        references.find_earlier(place, "baseline:reduce/out")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("baseline:sum", "expected baseline:CASE/BUFFER"),
        ("baseline:reduce/n=9/out", "no baseline of case 'reduce/n=9' was accepted; did you mean 'reduce/n=8'?"),
        ("baseline:reduce/n=8/sum", "the baseline of reduce/n=8 has no buffer 'sum'; there are: out"),
        ("run:latest", "expected run:NAME/CASE/BUFFER"),
        ("run:older/reduce/n=8/sum", "there is no run 'older'"),
        ("run:latest/reduce/n=9/sum", f"run {RUN} has no dumps of case 'reduce/n=9'; did you mean 'reduce/n=8'?"),
        ("run:latest/reduce/n=8/sun", "has no dump of buffer 'sun' of reduce/n=8; did you mean 'sum'?"),
        ("run:latest/../../configs/sum", "is not a path inside"),
    ],
)
def test_what_is_not_there(place: Project, text: str, message: str) -> None:
    dumped(place.runs / RUN / "dumps", "reduce/n=8", "sum.1.4")
    accept(place, "reduce/n=8")
    with pytest.raises(GpuregressError) as caught:
        references.find_earlier(place, text)
    assert message in str(caught.value)


def test_nothing_is_there_yet(place: Project) -> None:
    with pytest.raises(UsageError, match="there is none"):
        references.find_earlier(place, "baseline:reduce/out")
    with pytest.raises(UsageError, match="there is no run in"):
        references.find_earlier(place, "run:latest/reduce/out")


def test_a_job_reads_an_earlier_result_of_each_case(place: Project) -> None:
    for n in (1000, 8):
        dumped(place.runs / RUN / "dumps", f"other/n={n}", "x.1.4", n)
    text = JOB.replace("{normal: {std: 2.0}}", '{file: "run:latest/other/n={n}/x"}').replace("65536", "8")
    (place.root / "configs" / "reduce.yaml").write_text(text)
    options = [fill.options for case in plan.make(place, []).cases if (fill := case.buffers["x"].fill) is not None]
    origins = {one.origin for one in options if isinstance(one, InputFile) and one.digest}
    assert origins == {"run:latest/other/n=1000/x", "run:latest/other/n=8/x"}


def test_an_earlier_result_that_is_missing_is_an_error_of_the_job(place: Project) -> None:
    dumped(place.runs / RUN / "dumps", "other/n=1000", "x.1.4", 1000)
    text = JOB.replace("{normal: {std: 2.0}}", '{file: "run:latest/other/n={n}/x"}')
    (place.root / "configs" / "reduce.yaml").write_text(text)
    with pytest.raises(JobErrors) as caught:
        plan.make(place, [])
    (error,) = caught.value.errors
    assert (error.key, error.line) == ("buffers.x.fill.file", 6)
    assert "has no dumps of case 'other/n=65536'; did you mean 'other/n=1000'?" in error.message
    assert "(in case n=65536,tile=128)" in error.message

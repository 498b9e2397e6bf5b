from __future__ import annotations

import re
import struct
from pathlib import Path

import numpy as np
import pytest

from gpuregress.foundation import records
from gpuregress.foundation.errors import JobErrors
from gpuregress.foundation.records import (
    Argument,
    Case,
    CaseSettings,
    Check,
    ExpectedSum,
    Limits,
    ResourceLimits,
    Rule,
    TimingLoop,
)
from gpuregress.jobs import plan
from tests.jobs.plan.projects import FULL, JOB, only, project


def test_kernels_may_stand_in_a_header(tmp_path: Path) -> None:
    example = project(tmp_path, reduce=JOB.replace("reduce.cu", "reduce.cuh"))
    source = tmp_path / "kernels" / "reduce.cuh"
    (tmp_path / "kernels" / "reduce.cu").rename(source)
    assert {case.source.path for case in plan.make(example, []).cases} == {str(source)}


def test_the_example_of_the_contract(tmp_path: Path) -> None:
    example = project(tmp_path, reduce=FULL)
    cases = plan.make(example, []).cases
    assert [case.name for case in cases] == [
        "reduce/n=1000,tile=128",
        "reduce/n=1000,tile=256",
        "reduce/n=65536,tile=128",
    ]
    case = cases[0]
    assert case.job == "reduce"
    assert case.path == str(tmp_path / "configs" / "reduce.yaml")
    assert case.source.path == str(tmp_path / "kernels" / "reduce.cu")
    assert case.source.include == (str(tmp_path / "kernels" / "include"),)
    assert case.source.defines == {"TILE": "128", "HALF": "500.0", "REAL": "float", "ON": ""}
    assert case.source.kernels == ("block_sum<float>",)
    assert case.source.symbols == ("d_status",)
    assert case.buffers["x"].shape == (1000,)
    assert case.buffers["sum"].shape == (8,)
    assert case.buffers["sum"].fill is None
    status = case.buffers["d_status"]
    assert (status.dtype, status.shape, status.symbol) == ("int32", (2,), "d_status")
    launch = case.launches[0]
    assert (launch.grid, launch.block, launch.shared) == ((8, 1, 1), (128, 1, 1), 512)
    assert launch.args[:2] == (Argument("buffer", buffer="sum"), Argument("buffer", buffer="x"))
    number = Argument("scalar", dtype="int32", data=struct.pack("<i", 1000).hex(), text="1000", label="n")
    assert launch.args[2] == number
    assert case.dump == ("sum",)
    verify = f"{tmp_path}/configs/reference.py:totals_agree"
    assert case.compare == {"sum": Rule(rtol=1e-5, atol=0.0, verify=verify)}
    assert case.checks["sum"][1:3] == (Check("nonzero", 8), Check("range", (-1000.0, float("inf"))))
    assert case.checks["sum"][3].setting == ExpectedSum(1000, 1e-3, 0.0)
    assert case.reference == {"sum": f"{tmp_path}/configs/reference.py:block_sums"}
    assert (case.repeat, case.limits) == (3, Limits(120.0, 4 << 30))
    assert (case.tags, case.expect_fault) == (("quick", "1.10"), "out-of-bounds")
    settings = CaseSettings(timing=TimingLoop(1, 5, 1.1), resources=ResourceLimits(64, 0))
    assert case.settings == settings
    assert records.from_json(Case, records.to_json(case)) == case


def test_a_job_without_parameters_has_no_case_folder(tmp_path: Path) -> None:
    text = (
        JOB.replace("parameters:\n  n: [1000, 65536]\n  tile: [128, 256]\n", "")
        .replace("tile", "64")
        .replace("[n]", "[100]")
    )
    case = only(project(tmp_path, solo=text.replace("n / 64", "100 / 64").replace("int32: n", "int32: 100")))
    assert case.name == "solo"
    assert case.launches[0].grid == (2, 1, 1)
    assert case.compare == {"sum": Rule()}


def test_a_status_buffer_without_a_fill_is_zeroed(tmp_path: Path) -> None:
    text = JOB.replace("launches:", "  codes: {dtype: int32, shape: [4]}\nlaunches:") + "status: codes\n"
    case = only(project(tmp_path, reduce=text), "reduce/n=1000,tile=128")
    fill = case.buffers["codes"].fill
    assert fill is not None
    assert fill.kind == "zeros"
    assert case.dump == ("sum", "codes")


def test_project_settings_are_defaults(tmp_path: Path) -> None:
    example = project(tmp_path, reduce=JOB)
    (tmp_path / "gpuregress.yaml").write_text("compare: {float32: {rtol: 1e-6}}\nlimits: {timeout: 5, memory: 1MiB}\n")
    from gpuregress.store.project import find  # noqa: PLC0415 - after the file was written

    case = only(find(tmp_path), "reduce/n=1000,tile=128")
    assert case.compare["sum"] == Rule(rtol=1e-6, atol=0.0)
    assert case.limits == Limits(5.0, 1 << 20)
    assert example.settings.limits.timeout == 30


def test_a_dump_as_input_must_fit(tmp_path: Path) -> None:
    text = JOB.replace("{normal: {std: 2.0}}", "{file: data.1}").replace("[1000, 65536]", "[4]")
    example = project(tmp_path, reduce=text.replace("[128, 256]", "[2]"))
    (tmp_path / "configs" / "data.1").write_text("# gpuregress 1 float32 [2,2]\n1.0\n2.0\n3.0\n4.0\n")
    assert len(plan.make(example, []).cases) == 1
    (tmp_path / "configs" / "data.1").write_text("# gpuregress 1 float32 [3]\n1.0\n2.0\n3.0\n")
    with pytest.raises(JobErrors, match=r"buffers.x.fill: .*data.1 holds float32 \[3\]; expected \[4\] of float32"):
        plan.make(example, [])


def test_cases_have_names_of_their_own(tmp_path: Path) -> None:
    text = JOB.replace("[1000, 65536]", "[1000, -1, 0.5, 1e-5, 2**40]").replace("shape: [n]", "shape: [4]")
    text = text.replace("ceil(n / tile)", "4").replace("int32: n", "float64: n")
    names = [case.name for case in plan.make(project(tmp_path, reduce=text), []).cases]
    assert names[::2] == [f"reduce/n={n},tile=128" for n in ("1000", "-1", "0.5", "1e-05", str(2**40))]
    assert len(set(names)) == len(names) == 10
    assert np.all([set(name) & set(' \\:*?"<>|') == set() for name in names])


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        ("1", "timing.limit: is 1: it must be above 1 and at most 1e+06"),
        ("0.9", "is 0.9: it must be above 1"),
        ("n / n", "'n / n' is 1"),
        (".inf", "limit"),
        ("2 %", "limit"),
    ],
)
def test_a_limit_that_no_case_could_keep_is_refused(tmp_path: Path, limit: str, said: str) -> None:
    with pytest.raises(JobErrors) as caught:
        plan.make(project(tmp_path, reduce=f"{JOB}timing: {{limit: {limit}}}\n"), ())
    assert said in str(caught.value)
    assert "reduce.yaml:" in str(caught.value)


def test_a_known_failure_is_that_of_the_cases_it_names(tmp_path: Path) -> None:
    known = "{until: 2026-12-24, why: the card, where: [n > 1000]}"
    job = f"{JOB}known_failing: {known}\nretries: 2\nlimits: {{timeouts: 5}}\n"
    cases = plan.make(project(tmp_path, reduce=job), []).cases
    expected = records.KnownFailing("2026-12-24", "the card")
    assert [case.settings.known_failing for case in cases] == [None, None, expected, expected]
    assert {(case.settings.retries, case.limits.timeouts) for case in cases} == {(2, 5)}
    wrong = project(tmp_path / "wrong", reduce=job.replace("n > 1000", "m > 1000"))
    with pytest.raises(JobErrors, match=r"known_failing.where\[0\]"):
        plan.make(wrong, [])


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("where: [n > 1000000]", "known_failing.where: selects none of the job's cases"),
        ("kernel: add", "known_failing.kernel: no launch is of a kernel 'add'"),
        ("buffer: none", "known_failing.buffer: unknown buffer 'none'; there are: "),
    ],
)
def test_a_known_failure_that_no_case_can_have_is_refused(tmp_path: Path, keys: str, message: str) -> None:
    job = f"{JOB}known_failing: {{until: 2026-12-24, why: the card, {keys}}}\n"
    with pytest.raises(JobErrors, match=re.escape(message)):
        plan.make(project(tmp_path, reduce=job), [])


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ("", {"status": "differ"}),
        (", status: error", {"status": "error"}),
        (", fault: timeout", {"status": "timeout", "fault": "timeout"}),
        (", kernel: block_sum<float>", {"status": "fault", "kernel": "block_sum<float>"}),
    ],
)
def test_the_status_of_a_known_failure_follows_from_its_keys(
    tmp_path: Path, keys: str, expected: dict[str, str]
) -> None:
    job = f"{JOB}known_failing: {{until: 2026-12-24, why: the card{keys}}}\n"
    (case, *_) = plan.make(project(tmp_path, reduce=job), []).cases
    assert case.settings.known_failing == records.KnownFailing("2026-12-24", "the card", **expected)


def test_devices_that_a_job_names_are_kept_apart_from_those_that_can_run_it(tmp_path: Path) -> None:
    example = project(tmp_path, one=JOB, two=f"{JOB}devices: [cpu]\n")
    devices = [(case.job, case.devices, case.settings.on) for case in plan.make(example, []).cases]
    assert {*devices} == {("one", ("cpu", "cuda"), ()), ("two", ("cpu",), ("cpu",))}

from __future__ import annotations

from dataclasses import replace

import pytest

from gpuregress.operations import accept
from gpuregress.records import CaseSettings, Source
from tests import fakes
from tests.session.bench import Bench, words


def test_a_source_that_does_not_compile_stops_only_its_own_cases(bench: Bench) -> None:
    broken = replace(fakes.case("double", name="fake/broken"), source=Source("/nowhere/broken.cu"))
    summary = bench.run(broken, fakes.case("double"))
    assert words(summary) == {"fake/broken": "error", "fake/double": "new"}
    assert summary.verdicts[0].reason == "broken.cu(3): error: expected a ';'"
    assert summary.exit_code == 3


@pytest.mark.parametrize(
    ("kernel", "status", "code"),
    [("fault", "fault", 3), ("crash", "fault", 3), ("sleep", "timeout", 3), ("bug", "error", 4)],
)
def test_what_goes_wrong_is_a_verdict(bench: Bench, kernel: str, status: str, code: int) -> None:
    summary = bench.run(fakes.case(kernel, timeout=0.2), fakes.case("double"))
    assert words(summary) == {f"fake/{kernel}": status, "fake/double": "new"}
    assert summary.exit_code == code


def test_the_last_words_of_a_worker_that_ran_out_of_memory_are_told(bench: Bench) -> None:
    summary = bench.run(fakes.case("no_memory"))
    (verdict,) = summary.verdicts
    assert (verdict.status, summary.exit_code) == ("error", 4)
    assert "LLVM ERROR: out of memory" in verdict.notes


def test_a_status_that_is_not_zero_is_a_fault_with_its_code(bench: Bench) -> None:
    summary = bench.run(fakes.case("status", status="out"))
    assert summary.verdicts[0].status == "fault"
    assert "status: out[2] = " in summary.verdicts[0].reason


def test_an_expected_fault_passes(bench: Bench) -> None:
    assert words(bench.run(fakes.case("fault", expect_fault="out-of-bounds"))) == {"fake/fault": "pass"}


def test_a_case_for_another_device_is_skipped_aloud(bench: Bench) -> None:
    summary = bench.run(fakes.case("double", devices=("cuda",)))
    assert summary.verdicts[0].status == "skip"
    assert "cuda" in summary.verdicts[0].reason
    assert summary.exit_code == 5


@pytest.mark.parametrize("kernel", ["sleep", "crash"])
def test_a_kernel_that_did_not_come_back_names_its_launch_once(bench: Bench, kernel: str) -> None:
    (verdict,) = bench.run(fakes.case(kernel, timeout=0.2)).verdicts
    assert f" in {kernel}<<<" in verdict.reason
    assert verdict.reason.count("launch 1") == 1


def test_a_refused_case_is_skipped_unless_it_has_a_baseline(bench: Bench) -> None:
    case = fakes.case("double", settings=CaseSettings(infeasible="skip"))
    bench.run(case)
    accept.accept(bench.project)
    refused = replace(case, settings=CaseSettings(infeasible="skip", refused="2048 threads"))
    other = replace(refused, name="fake/other")
    summary = bench.run(refused, other)
    assert words(summary) == {"fake/double": "error", "fake/other": "skip"}
    assert [verdict.infeasible for verdict in summary.verdicts] == [False, True]
    assert summary.verdicts[0].reason == "infeasible: 2048 threads"
    assert "it ran when 1.4 was accepted" in summary.verdicts[0].notes[0]
    assert summary.exit_code == 4

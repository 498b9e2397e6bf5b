from __future__ import annotations

import pytest

from gpuregress.foundation.errors import NothingToDo
from gpuregress.foundation.records import CaseSettings
from gpuregress.gpu.records import replace
from gpuregress.session.accepting import accept
from tests import fakes
from tests.session.bench import Bench, words


def test_rerun_failed_takes_only_what_did_not_pass(bench: Bench) -> None:
    bench.run(fakes.case("double"), fakes.case("count"))
    accept.accept(bench.project, ["fake/double"])
    bench.run(fakes.case("double"), fakes.case("count"))
    assert words(bench.run(fakes.case("double"), fakes.case("count"), rerun_failed=True)) == {"fake/count": "new"}


def test_rerun_failed_runs_what_fail_fast_left_out(bench: Bench) -> None:
    cases = [fakes.case("fault"), fakes.case("double"), fakes.case("twice")]
    bench.run(*cases, fail_fast=True)
    again = bench.run(*cases, rerun_failed=True)
    assert words(again) == {"fake/fault": "fault", "fake/double": "new", "fake/twice": "new"}


def test_rerun_failed_keeps_what_a_narrower_one_did_not_run(bench: Bench) -> None:
    cases = [fakes.case("fault"), fakes.case("double"), fakes.case("twice")]
    bench.run(*cases)
    accept.accept(bench.project)
    bench.run(cases[1], rerun_failed=True, selectors=("fake/double",))
    assert set(words(bench.run(*cases, rerun_failed=True))) == {"fake/fault", "fake/twice"}
    gone = bench.run(cases[0], rerun_failed=True)
    assert set(words(gone)) == {"fake/fault"}


def test_a_case_that_failed_stays_due_where_a_rerun_leaves_it_out_for_its_device(bench: Bench) -> None:
    case = fakes.case("fault")
    bench.run(case, fakes.case("double"))
    bench.run(replace(case, devices=("cuda",)), fakes.case("double"), rerun_failed=True)
    assert "fake/fault" in words(bench.run(case, fakes.case("double"), rerun_failed=True))


def test_rerun_failed_with_nothing_failed_is_nothing_to_do(bench: Bench) -> None:
    bench.run(fakes.case("double"))
    accept.accept(bench.project)
    bench.run(fakes.case("double"))
    with pytest.raises(NothingToDo, match="passed"):
        bench.run(fakes.case("double"), rerun_failed=True)


def test_rerun_failed_names_the_failures_that_are_not_asked_for(bench: Bench) -> None:
    bench.run(fakes.case("double"), fakes.case("count"))
    with pytest.raises(NothingToDo, match="fake/double and 1 more did not pass in the last run, but"):
        bench.run(fakes.case("fault"), rerun_failed=True)


def test_rerun_failed_takes_the_group_of_a_case_as_far_as_the_last_run_had_it(bench: Bench) -> None:
    agreeing = CaseSettings(agree=("block",))
    cases = [fakes.case(kernel, settings=agreeing) for kernel in ("double", "twice", "idle", "fault")]
    bench.run(cases[0], cases[1], fakes.case("count"))
    accept.accept(bench.project, ["fake/double", "fake/count"])
    bench.run(cases[0], cases[1], fakes.case("count"))
    again = bench.run(*cases, fakes.case("count"), rerun_failed=True)
    assert set(words(again)) == {"fake/double", "fake/twice"}

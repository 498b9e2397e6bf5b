from __future__ import annotations

import pytest

from gpuregress.foundation.errors import NothingToDo
from gpuregress.foundation.records import Case, RunSummary
from gpuregress.gpu.records import replace
from gpuregress.session import accepting, missing_cases, nightly
from gpuregress.session.missing_cases import LastNight
from gpuregress.session.run_request import RunRequest
from gpuregress.store.baselines import BaselineStore, expected_cases
from tests import fakes
from tests.session.bench import Bench


def night(bench: Bench, *cases: Case) -> RunSummary:
    bench.cases = cases
    with bench.machinery():
        return nightly.run(bench.project, RunRequest(device="cpu", jobs=1))


def named(case: Case, *devices: str) -> Case:
    """The case of a job that names its devices."""
    return replace(case, devices=devices, settings=replace(case.settings, on=devices))


def test_a_baseline_without_a_case_is_said(bench: Bench) -> None:
    bench.run(fakes.case("double"))
    accepting.accept(bench.project)
    summary = bench.run(fakes.case("count"))
    assert any("fake/double has no case any more" in note for note in (*summary.notes, *summary.remarks))


def test_accept_lists_the_cases_that_ran_and_a_night_leaves_the_list_alone(bench: Bench) -> None:
    double, count = fakes.case("double"), named(fakes.case("count"), "cpu", "cuda")
    bench.run(double, count)
    accepting.accept(bench.project, ["fake/double"])
    listed = BaselineStore(bench.project.baselines).expected()
    assert listed == {"fake/count": ("cpu", "cuda"), "fake/double": ()}
    before = (bench.project.baselines / expected_cases.FILE).read_bytes()
    night(bench, double, count, fakes.case("twice"))
    assert (bench.project.baselines / expected_cases.FILE).read_bytes() == before
    assert missing_cases.last_night(bench.project).cases == ("fake/twice",)


def test_an_older_run_lists_only_what_was_accepted_of_it(bench: Bench) -> None:
    older = bench.run(fakes.case("double"), fakes.case("count"))
    bench.run(fakes.case("double"))
    accepting.accept(bench.project, ["fake/double"], run=older.run)
    assert BaselineStore(bench.project.baselines).expected() == {"fake/double": ()}


def test_a_clone_expects_the_listed_cases_without_having_run_a_night(bench: Bench) -> None:
    BaselineStore(bench.project.baselines).expect({"fake/count": (), "fake/double": ()})
    (gone,) = night(bench, fakes.case("double")).missing
    assert gone.lines[0] == "fake/count vanished since it was accepted"


def test_a_device_that_a_job_no_longer_names_is_missed(bench: Bench) -> None:
    double = fakes.case("double")
    BaselineStore(bench.project.baselines).expect({"fake/double": ("cpu", "cuda")})
    assert night(bench, double).missing == ()
    (gone,) = night(bench, named(double, "cpu")).missing
    assert gone.lines[0] == "fake/double no longer runs on cuda: the `devices` of its job have changed"
    missing_cases.forget(bench.project, BaselineStore(bench.project.baselines), [named(double, "cpu")])
    assert night(bench, named(double, "cpu")).missing == ()


def test_what_a_colleague_pruned_is_not_expected_here(bench: Bench) -> None:
    double, count = fakes.case("double"), fakes.case("count")
    store = BaselineStore(bench.project.baselines)
    store.expect({"fake/count": (), "fake/double": ()})
    assert night(bench, double, count).missing == ()
    store.expect({}, forget=["fake/count"])
    assert night(bench, double).missing == ()


def test_the_cases_of_an_earlier_gpuregress_go_to_the_first_list(bench: Bench) -> None:
    missing_cases.record_night(bench.project, LastNight("20261119T020000Z-0000", ("fake/count", "fake/double")))
    assert [one.case for one in night(bench, fakes.case("double")).missing] == ["fake/count"]
    bench.run(fakes.case("double"))
    accepting.accept(bench.project)
    assert set(BaselineStore(bench.project.baselines).expected() or ()) == {"fake/count", "fake/double"}


def test_a_list_with_a_conflict_fails_the_night_and_hides_no_verdict(bench: Bench) -> None:
    bench.project.baselines.mkdir()
    (bench.project.baselines / expected_cases.FILE).write_text("<<<<<<< HEAD\n")
    summary = night(bench, fakes.case("double"))
    assert (len(summary.verdicts), summary.exit_code) == (1, 1)
    (problem,) = summary.missing
    assert problem.case == expected_cases.FILE
    assert "edited or cut short" in problem.lines[0]


def test_where_nothing_is_left_to_accept_the_list_is_written_nevertheless(bench: Bench) -> None:
    bench.run(fakes.case("double"))
    accepting.accept(bench.project)
    (bench.project.baselines / expected_cases.FILE).unlink()
    bench.run(fakes.case("double"))
    with pytest.raises(NothingToDo, match="nightly runs expect its cases from now on"):
        accepting.accept(bench.project)
    assert BaselineStore(bench.project.baselines).expected() == {"fake/double": ()}

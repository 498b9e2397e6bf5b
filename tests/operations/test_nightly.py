from __future__ import annotations

from dataclasses import replace

import pytest

from gpuregress import storage
from gpuregress.baselines import BaselineStore
from gpuregress.errors import RunLocked
from gpuregress.operations import nightly
from gpuregress.records import Case, RunSummary
from gpuregress.session import missing_cases
from gpuregress.session.run_request import Machinery, RunRequest
from tests import fakes
from tests.session.bench import FAKE, Bench
from tests.session.compilation.crews import in_process


def night(bench: Bench, *cases: Case, **request: object) -> RunSummary:
    bench.cases = cases
    machinery = Machinery(FAKE, in_process(bench.compile), bench.plan)
    return nightly.run(bench.project, RunRequest(device="cpu", jobs=1, **request), machinery)  # type: ignore[arg-type]


def test_a_case_that_vanished_fails_every_night(bench: Bench) -> None:
    double, count = fakes.case("double"), fakes.case("count")
    assert night(bench, double, count).missing == ()
    for _ in range(2):
        gone = night(bench, double)
        assert [one.case for one in gone.missing] == ["fake/count"]
        assert gone.exit_code == 1
    assert night(bench, double, tags=("some",)).missing == ()


def test_a_case_that_ran_and_is_infeasible_now_fails_until_it_is_forgotten(bench: Bench) -> None:
    double, count = fakes.case("double"), fakes.case("count")
    refused = replace(count, settings=replace(count.settings, infeasible="skip", refused="2048 threads"))
    assert night(bench, double, refused).missing == ()
    assert night(bench, double, count).missing == ()
    for _ in range(2):
        gone = night(bench, double, refused)
        assert [one.lines[0] for one in gone.missing] == ["fake/count ran on an earlier night and is infeasible now"]
        assert gone.exit_code == 1
    store = BaselineStore(bench.project.baselines)
    assert missing_cases.forget(bench.project, store, [count, double]) == ("fake/count",)
    assert night(bench, double, refused).missing == ()


def test_one_night_at_a_time(bench: Bench) -> None:
    with storage.lock(bench.project.runs / nightly.LOCK), pytest.raises(RunLocked):
        night(bench, fakes.case("double"))

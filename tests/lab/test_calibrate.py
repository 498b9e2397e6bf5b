from __future__ import annotations

import pytest

from gpuregress.foundation.errors import HarnessError, UsageError
from gpuregress.foundation.records import Case
from gpuregress.lab import calibrate
from gpuregress.lab.calibrate import Calibration, Proposal
from gpuregress.session import accepting
from tests import fakes
from tests.session.bench import Bench


def run(bench: Bench, *cases: Case) -> Calibration:
    bench.cases = cases
    with bench.machinery():
        return calibrate.calibrate(bench.project, "fake", repeat=2, devices=["cpu"])


def test_a_deterministic_case_needs_no_rule(bench: Bench) -> None:
    actual = run(bench, fakes.case("double"))
    assert (actual.cases, actual.devices, actual.baselines) == (("fake/double",), ("cpu",), 0)
    assert actual.proposals == (Proposal("out", "", holds=True, distinct=1, evidence="every bit equal"),)


def test_the_accepted_results_count(bench: Bench) -> None:
    case = fakes.case("double")
    bench.run(fakes.case("twice_and_a_bit", name=case.name))
    accepting.accept(bench.project)
    actual = run(bench, case)
    assert (actual.baselines, actual.proposals[0].distinct, actual.proposals[0].holds) == (1, 2, False)


def test_cases_of_several_jobs_and_faults_are_refused(bench: Bench) -> None:
    with pytest.raises(UsageError, match="several jobs"):
        run(bench, fakes.case("double"), fakes.case("double", job="other", name="other/double"))
    with pytest.raises(HarnessError, match="fake/fault cannot be calibrated, it ended with fault"):
        run(bench, fakes.case("fault"))

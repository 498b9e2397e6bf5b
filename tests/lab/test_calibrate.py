"""The tightest rule: planted errors of each kind, and that the bound is no wider than it says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.foundation import dtypes
from gpuregress.foundation.errors import HarnessError, UsageError
from gpuregress.foundation.records import Case, Rule
from gpuregress.judge import compare
from gpuregress.lab import calibrate
from gpuregress.lab.calibrate import Calibration, Proposal
from gpuregress.session import accepting
from tests import fakes
from tests.session.bench import Bench

F32, I32 = dtypes.parse("float32"), dtypes.parse("int32")
X = np.random.default_rng(1).normal(size=100).astype(np.float32)


class Given(calibrate.BufferResults):
    """Results of a case that are in memory."""

    def __init__(self, *results: object, kind: dtypes.ElementType = F32) -> None:
        self.arrays = [np.asarray(result, kind.storage) for result in results]
        super().__init__(kind.name, self.arrays[0].shape)

    def read(self) -> list[calibrate.Array]:
        return list(self.arrays)


def fitted(*results: object, kind: dtypes.ElementType = F32) -> calibrate.RuleFit:
    return calibrate.fit_rule([Given(*results, kind=kind)])


def test_equal_bits_need_no_rule() -> None:
    assert fitted(X, X.copy()).rule == Rule()


def test_other_places_need_any_order() -> None:
    actual = fitted(X, X[::-1])
    assert (actual.rule, actual.text) == (Rule(order="any"), "{order: any}")


def test_steps_between_floats() -> None:
    actual = fitted(X, np.nextafter(np.nextafter(X, np.float32(9)), np.float32(9)))
    assert actual.text == "{ulp: 4}"
    assert "2 ulp at most" in actual.evidence


def test_a_relative_error() -> None:
    actual = fitted(X, X * np.float32(1.001))
    assert actual.rule is not None
    assert actual.rule.atol == 0
    assert actual.rule.rtol == pytest.approx(3e-3, rel=0.01)


def test_an_absolute_error_where_values_are_near_zero() -> None:
    other = X.copy()
    other[3] = 0.0
    first = X.copy()
    first[3] = 0.9e-7
    assert fitted(first, other).text == "{rtol: 0, atol: 2.0e-07}"


def test_in_any_order_with_rounding() -> None:
    actual = fitted(X, np.nextafter(X, np.float32(9))[::-1])
    assert actual.text == "{ulp: 2, order: any}"


@pytest.mark.parametrize(
    ("second", "text"),
    [
        (X * np.float32(1.001), "{rtol: 3.0e-03, atol: 0}"),
        (np.nextafter(X, np.float32(9))[::-1], "{ulp: 4, order: any}"),
        (X[::-1], "{ulp: 4, order: any}"),
        (X, "{ulp: 4}"),
    ],
)
def test_the_rule_of_a_buffer_holds_in_each_case(second: calibrate.Array, text: str) -> None:
    """One case is off by two steps between floats, the other by something else."""
    two_steps = np.nextafter(np.nextafter(X, np.float32(9)), np.float32(9))
    actual = calibrate.fit_rule([Given(X, two_steps), Given(X, second)])
    assert actual.text == text
    assert actual.rule is not None
    for other in (two_steps, second):
        request = compare.ComparisonRequest("x", F32, X.shape, actual.rule)
        assert compare.compare(request, X, np.ascontiguousarray(other)).same


@pytest.mark.parametrize("error", [1.0, 1e-6])
def test_large_values_of_one_case_allow_no_error_as_large_as_the_values_of_another(error: float) -> None:
    large = 1e6 * X
    assert calibrate.fit_rule([Given(large, large + 10), Given(X, X + error)]).rule is None


def test_integers_have_no_steps() -> None:
    values = np.arange(1000, 1100)
    assert fitted(values, values + 1, kind=I32).text == "{rtol: 0, atol: 2.0e+00}"


def test_random_values_get_none() -> None:
    other = np.random.default_rng(2).normal(size=100)
    assert fitted(X, other).rule is None
    spoilt = X.copy()
    spoilt[0] = np.nan
    assert fitted(X, spoilt).rule is None


@given(st.lists(st.floats(2**-10, 1024, width=32), min_size=1, max_size=20), st.integers(1, 40))
def test_the_rule_holds_for_every_pair_both_ways(values: list[float], steps: int) -> None:
    first = np.array(values, np.float32)
    second = (first.view(np.int32) + np.arange(len(first), dtype=np.int32) % (steps + 1)).view(np.float32)
    actual = fitted(first, second)
    assert actual.rule is not None
    request = compare.ComparisonRequest("x", F32, first.shape, actual.rule)
    assert compare.compare(request, first, second).same
    assert compare.compare(request, second, first).same


def test_a_rule_that_a_job_may_not_have_is_not_proposed() -> None:
    assert fitted([1.0, 3.0], [1.0, 5.0], kind=dtypes.parse("float16")).rule is None


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

"""What a baseline remembers: how deterministic a case was."""

from __future__ import annotations

import pytest

from gpuregress.foundation.records import Case, Fill, Outliers, Progression, Rule, StatisticLimits
from gpuregress.gpu.records import replace
from gpuregress.judge import drift_and_determinism
from gpuregress.session import accepting
from gpuregress.store.baselines import BaselineStore
from tests import fakes
from tests.session.bench import Bench, words

LOOSE = {"out": Rule(atol=1e6, rtol=0.0)}


def test_the_class_is_recorded_and_a_change_of_it_is_a_difference(bench: Bench) -> None:
    varying = fakes.case("count", name="fake/x", repeat=3, compare=LOOSE)
    steady = fakes.case("twice", name="fake/x", repeat=3, compare=LOOSE)
    assert words(bench.run(varying)) == {"fake/x": "new"}
    accepting.accept(bench.project)
    accepted = BaselineStore(bench.project.baselines).load("fake/x")
    assert accepted is not None
    assert accepted.made_of.determinism == {"out": "values vary"}
    assert words(bench.run(varying)) == {"fake/x": "pass"}
    (verdict,) = bench.run(steady).verdicts
    assert verdict.status == "differ"
    assert "over 3 runs: bitwise; the baseline: values vary" in verdict.reason
    accepting.accept(bench.project)
    assert words(bench.run(steady)) == {"fake/x": "pass"}
    assert words(bench.run(varying)) == {"fake/x": "differ"}


def test_a_single_run_says_nothing_of_the_class(bench: Bench) -> None:
    bench.run(fakes.case("count", name="fake/x", repeat=2, compare=LOOSE))
    accepting.accept(bench.project)
    assert words(bench.run(fakes.case("count", name="fake/x", compare=LOOSE))) == {"fake/x": "pass"}


@pytest.mark.parametrize(
    ("rule", "watched"),
    [
        (Rule(), False),
        (Rule(order="any"), False),
        (Rule(ulp=1), True),
        (Rule(rtol=1e-6), True),
        (Rule(metric={"rms": 1.0}), True),
        (Rule(rtol=0.0, atol=1.0, outliers=Outliers(0.1, 1.0)), True),
        (Rule(statistics=StatisticLimits(ks=0.01)), False),
    ],
)
def test_what_can_drift(rule: Rule, *, watched: bool) -> None:
    assert drift_and_determinism.has_tolerance(rule) is watched


@pytest.mark.parametrize(("rule", "step"), [(Rule(ulp=5), 2.0**-22), (Rule(metric={"rms": 1.2}), 0.1)])
def test_small_changes_add_up_under_every_tolerance(bench: Bench, rule: Rule, step: float) -> None:
    def scaled(factor: float) -> Case:
        case = fakes.case("double", name="fake/x", compare={"out": rule})
        x = replace(case.buffers["x"], fill=Fill("arange", Progression(0, factor), 1))
        return replace(case, buffers={**case.buffers, "x": x})

    assert words(bench.run(scaled(1.0))) == {"fake/x": "new"}
    accepting.accept(bench.project)
    assert words(bench.run(scaled(1.0 + step))) == {"fake/x": "pass"}
    accepting.accept(bench.project, ["fake/x"])
    (verdict,) = bench.run(scaled(1.0 + 2 * step)).verdicts
    assert verdict.status == "differ"
    assert "out: drift: " in verdict.reason

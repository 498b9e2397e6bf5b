"""The comparisons of a case, each with what it is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from gpuregress.foundation.records import (
    Baseline,
    Case,
    Check,
    Comparison,
    Dump,
    Fill,
    FurtherRun,
    MadeOf,
    NoOptions,
    Observations,
    Outcome,
    Outliers,
    Progression,
    Rule,
    RunFacts,
    StatisticLimits,
    Timing,
)
from gpuregress.gpu.records import replace
from gpuregress.judge import case_comparisons, diagnosis
from gpuregress.judge.case_comparisons import CaseComparisons
from gpuregress.session import accepting
from gpuregress.store.baselines import BaselineStore
from tests import fakes
from tests.judge.dumps import dump
from tests.session.bench import Bench, words


def baseline(out: Dump) -> Baseline:
    return Baseline("fake/double", out.path, "1", MadeOf(""), {"out": out}, ())


def compared(case: Case, outcome: Outcome, accepted: Dump | None = None) -> list[Comparison]:
    return CaseComparisons(case, outcome, baseline(accepted) if accepted else None).by_buffer()["out"]


def outcome(
    *dumps: Dump,
    reference: Dump | None = None,
    unrounded: Dump | None = None,
    errors: dict[str, str] | None = None,
    orders: Sequence[str] = (),
    **observed: Any,
) -> Outcome:
    """The outcome of a case; each dump but the first one is that of a repeat."""
    runs = []
    for number, (one, order) in enumerate(zip(dumps[1:], orders or [""] * len(dumps), strict=False), 2):
        differing = {} if one.digest == dumps[0].digest else {"out": one}
        facts = RunFacts(label=order, digests={"out": one.digest})
        runs.append(FurtherRun("repeat", str(number), dumps=differing, facts=facts))
    computed = {} if reference is None else {"out": reference}
    facts = RunFacts(errors=errors or {}, unrounded={} if unrounded is None else {"out": unrounded})
    runs.append(FurtherRun("reference", "", dumps=computed, facts=facts))
    return Outcome("fake/double", "done", dumps=dumps[:1], observations=Observations(runs=tuple(runs), **observed))


def test_all_that_a_buffer_is_compared_with(tmp_path: Path) -> None:
    case = fakes.case("double", reference={"out": "/gold.py:f"}, checks={"out": (Check("finite"),)}, repeat=2)
    actual, accepted = dump(tmp_path / "a", "out.1", [1, 2]), dump(tmp_path / "b", "out.1", [1, 3])
    comparisons = compared(case, outcome(actual, actual, reference=actual), accepted)
    assert [(one.against, one.same) for one in comparisons] == [
        ("baseline", False),
        ("reference", True),
        ("check", True),
        ("repeat", True),
    ]
    assert comparisons[0].findings is not None
    assert comparisons[0].figures.error_maps is not None
    assert comparisons[3].rule == "2 runs, 1 different results, all the same under the buffer's rule"


def test_a_reference_equal_to_the_baseline_is_compared_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    compare = diagnosis.compare

    def counted(pair: Any, *rest: Any) -> Comparison:
        calls.append(pair.against)
        return compare(pair, *rest)

    monkeypatch.setattr(diagnosis, "compare", counted)
    actual, accepted = dump(tmp_path / "a", "out.1", [1, 2]), dump(tmp_path / "b", "out.1", [1, 3])
    case = fakes.case("double", reference={"out": "/gold.py:f"})
    first, second = compared(case, outcome(actual, reference=accepted), accepted)
    assert (calls, first.against, second.against) == (["baseline"], "baseline", "reference")
    assert first.first == second.first
    looser = fakes.case("double", reference={"out": "/gold.py:f"}, reference_rules={"out": Rule(atol=2)})
    assert [one.same for one in compared(looser, outcome(actual, reference=accepted), accepted)] == [
        False,
        True,
    ]
    assert calls == ["baseline", "baseline", "reference"]


def test_the_unrounded_reference_decides(tmp_path: Path) -> None:
    case = fakes.case("double", reference={"out": "/gold.py:f"}, compare={"out": Rule(atol=0.01)})
    actual, rounded = dump(tmp_path / "a", "out.1", [1, 2]), dump(tmp_path / "b", "out.1", [1, 2.25])
    for value, same in ((2.005, True), (2.25 + 1e-12, False)):
        wide = dump(tmp_path / str(value), "out.1", [1, value], "float64")
        observed = outcome(actual, reference=rounded, unrounded=wide)
        (comparison,) = compared(case, observed)
        assert (comparison.same, comparison.figures.compared_as) == (same, "float64")
        assert (comparison.figures.error_maps is None) == same


def test_a_reference_that_was_not_computed_fails(tmp_path: Path) -> None:
    case = fakes.case("double", reference={"out": "/gold.py:f"})
    (comparison,) = compared(case, outcome(dump(tmp_path, "out.1", [1]), errors={"out": "raised KeyError"}))
    assert (comparison.same, comparison.message) == (False, "raised KeyError")


def test_the_first_repeat_that_differs_is_named(tmp_path: Path) -> None:
    first, other = dump(tmp_path / "1", "out.1", [1, 2]), dump(tmp_path / "3", "out.1", [1, 4])
    case = fakes.case("double", repeat=3)
    orders = ("blocks reversed", "blocks random:1")
    (comparison,) = compared(case, outcome(first, first, other, orders=orders))
    assert comparison.message == "run 3 of 3 (blocks random:1) is not the first one: 1 of 2 differ"
    timing = Timing("clock", 0, (1.0,), 1.0, {}, 3)
    (comparison,) = compared(case, outcome(first, first, other, timing=timing))
    assert comparison.message == "the last run of the timing loop is not the first one: 1 of 2 differ"
    tolerant = fakes.case("double", repeat=3, compare={"out": Rule(atol=2)})
    (comparison,) = compared(tolerant, outcome(first, first, other))
    assert (comparison.same, comparison.identical) == (True, False)
    assert comparison.rule == "3 runs, 2 different results, all the same under the buffer's rule"


def test_a_dump_is_checked(tmp_path: Path) -> None:
    compared = case_comparisons.check(fakes.case("double"), dump(tmp_path, "out.1", [1, 0, 3]), Check("nonzero", 3))
    assert (compared.buffer, compared.against, compared.same, compared.of) == ("out", "check", False, 3)
    assert compared.message == "nonzero: 2 of 3 are not 0, at least 3 must be"


def test_inputs_are_filled_when_a_check_needs_them(tmp_path: Path) -> None:
    case = fakes.case("double")
    x = replace(case.buffers["x"], fill=Fill("ones", NoOptions(), 1))
    case = replace(case, buffers={**case.buffers, "x": x})
    ones = dump(tmp_path, "out.1", [1] * 8)
    assert case_comparisons.check(case, ones, Check("equals", "x")).same
    assert "there is no input 'out'" in case_comparisons.check(case, ones, Check("equals", "out")).message


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
    assert case_comparisons.has_tolerance(rule) is watched


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

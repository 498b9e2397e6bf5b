from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpuregress.foundation.records import (
    Case,
    Check,
    Comparison,
    Dump,
    Fill,
    Interval,
    Observations,
    Outcome,
    Rule,
    Seeded,
    SeedRun,
    Sigmas,
    StatisticLimits,
)
from gpuregress.judge import buffer_checks, seeds
from tests import fakes
from tests.judge.dumps import dump

COUNT = 400
RULE = Rule(statistics=StatisticLimits(mean=Sigmas(4.0), ks=0.001))


def case(*checks: Check, rule: Rule = RULE) -> Case:
    further = tuple(Seeded(seed, {"x": Fill("uniform", Interval(0, 1), seed)}) for seed in (43, 44, 45))
    return fakes.case("double", seeds=further, compare={"out": rule}, checks={"out": checks}, count=COUNT)


def sample(folder: Path, seed: int, shift: float = 0.0) -> Dump:
    return dump(folder / str(seed), "out.1", np.random.default_rng(seed).normal(shift, 1, COUNT))


def judged(folder: Path, wanted: Case, *shifts: float) -> list[Comparison]:
    own, baseline = sample(folder, 42), sample(folder, 1)
    runs = tuple(SeedRun(43 + at, dumps={"out": sample(folder, 43 + at, shift)}) for at, shift in enumerate(shifts))
    outcome = Outcome("fake/double", "done", dumps=(own,), observations=Observations(seeds=runs))

    def check(check: Check, case: Case, actual: Dump) -> Comparison:
        return buffer_checks.check(case, actual, check)

    return list(seeds.comparisons(wanted, outcome, own, baseline, check))


def test_all_seeds_of_one_distribution_pass_in_one_comparison(tmp_path: Path) -> None:
    (compared,) = judged(tmp_path, case(), 0, 0, 0)
    assert (compared.same, compared.against) == (True, "seeds")
    assert compared.rule == "4 seeds, 4 different results, limits corrected for the number of tests"


def test_a_seed_of_another_distribution_fails_and_is_named(tmp_path: Path) -> None:
    (compared,) = judged(tmp_path, case(), 0, 1, 0)
    assert not compared.same
    assert compared.message.startswith("1 of 3 other seeds fail; seed 44: mean ")


def test_the_limits_are_those_of_one_of_four_tests() -> None:
    rule = seeds.rule_of(case(), "out")
    assert rule is not None
    assert rule.statistics.ks == pytest.approx(0.00025)
    assert seeds.rule_of(case(rule=Rule(ulp=1)), "out") is None
    assert seeds.rule_of(fakes.case("double", compare={"out": RULE}), "out") is None


def test_checks_hold_under_every_seed(tmp_path: Path) -> None:
    _, passed = judged(tmp_path, case(Check("range", (-9, 9))), 0, 0, 0)
    assert passed.same
    _, failed = judged(tmp_path, case(Check("range", (-9, 9))), 0, 0, 20)
    assert failed.message.startswith("1 of 3 other seeds fail; seed 45: range: ")


def test_a_fault_under_a_seed_fails(tmp_path: Path) -> None:
    own = sample(tmp_path, 42)
    observed = Observations(seeds=(SeedRun(43, "trap: it stopped"),))
    outcome = Outcome("fake/double", "done", dumps=(own,), observations=observed)
    compared, *_ = seeds.comparisons(case(), outcome, own, None, lambda *_: pytest.fail("nothing to check"))
    assert (compared.same, compared.message) == (False, "seed 43: trap: it stopped")

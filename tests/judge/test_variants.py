from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.foundation.records import Case, Observations, Outcome, Rule, UlpFigures, VariantRun, Variants
from gpuregress.judge import variants
from tests import fakes
from tests.judge.dumps import dump

SOURCE = fakes.case("double").source


def case(*, must_agree: bool = False, rule: Rule | None = None) -> Case:
    varied = Variants("fmad=on", {"fmad=off": (SOURCE,), "arch=sm_80": (SOURCE,)}, must_agree)
    return fakes.case("double", variants=varied, compare={"out": rule or Rule()})


def outcome(folder: Path, *runs: VariantRun) -> Outcome:
    own = dump(folder, "out.1", [1.0, 2.0, 3.0])
    return Outcome("fake/double", "done", dumps=(own,), observations=Observations(variants=runs))


@pytest.fixture
def changed(tmp_path: Path) -> Outcome:
    other = dump(tmp_path / "variant", "out.1", [1.0, 2.0000002384185791015625, 3.0])
    return outcome(tmp_path, VariantRun("fmad=off", dumps={"out": other}), VariantRun("arch=sm_80"))


def test_a_changed_buffer_is_counted_in_ulp_whatever_its_rule(changed: Outcome) -> None:
    for rule, same in ((Rule(), False), (Rule(rtol=1e-3, atol=0.0), True), (Rule(order="any"), False)):
        first, second = variants.verdicts(case(rule=rule), changed)
        (compared,) = first.buffers
        assert isinstance(compared.figures, UlpFigures)
        assert (compared.changed, compared.figures.max_ulp, compared.same) == (1, 1, same)
        assert (first.name, first.first, second.buffers) == ("fmad=off", "fmad=on", ())


def test_a_difference_fails_the_case_only_where_the_job_says_so(changed: Outcome) -> None:
    told, strict = case(), case(must_agree=True)
    assert not list(variants.failures(told, changed, variants.verdicts(told, changed)))
    (failure,) = variants.failures(strict, changed, variants.verdicts(strict, changed))
    assert (failure.buffer, failure.same, failure.against) == ("out", False, "variant")
    assert failure.message == "fmad=off: 1 of 3 differ"


def test_a_fault_always_fails_and_what_was_not_run_only_where_all_must_agree(tmp_path: Path) -> None:
    broken = outcome(tmp_path, VariantRun("fmad=off", fault="trap: x"), VariantRun("arch=sm_80", problem="too new"))
    told, strict = case(), case(must_agree=True)
    assert [one.message for one in variants.failures(told, broken, variants.verdicts(told, broken))] == [
        "fmad=off: trap: x"
    ]
    assert [one.message for one in variants.failures(strict, broken, variants.verdicts(strict, broken))] == [
        "fmad=off: trap: x",
        "arch=sm_80: not run: too new",
    ]


def test_the_same_program_is_told_and_a_case_that_failed_has_none(tmp_path: Path) -> None:
    alike = outcome(tmp_path, VariantRun("fmad=off", same_as="fmad=on"))
    assert variants.verdicts(case(), alike)[0].same_as == "fmad=on"
    assert variants.verdicts(case(), Outcome("fake/double", "fault")) == ()
    assert variants.verdicts(fakes.case("double"), alike) == ()

"""Judgement of the further runs of a case: schedules, seeds and variants."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from gpuregress.foundation.records import (
    Case,
    CaseSettings,
    Check,
    Comparison,
    ConflictSurvey,
    DeviceInfo,
    Dump,
    Fill,
    Finding,
    FurtherRun,
    InstrumentReports,
    Interval,
    Observations,
    Outcome,
    Rule,
    RunFacts,
    Seeded,
    Sigmas,
    StatisticLimits,
    UlpFigures,
    Variants,
)
from gpuregress.gpu.records import replace
from gpuregress.judge import case_comparisons, further_runs
from gpuregress.judge.buffer_pairs import BufferPair
from gpuregress.judge.further_runs import JudgedBuffer
from tests import fakes
from tests.judge.dumps import dump


def check(check: Check, case: Case, actual: Dump) -> Comparison:
    return case_comparisons.check(case, actual, check)


def judged(case: Case, outcome: Outcome, own: Dump, baseline: Dump | None = None) -> JudgedBuffer:
    return JudgedBuffer(case, outcome, own, baseline, BufferPair.compare, check)


# --- runs that are compared with the first one ------------------------------------------------------------------------


def repeated(name: str, digest: str, dumps: Mapping[str, Dump] | None = None) -> FurtherRun:
    return FurtherRun("repeat", name, dumps=dumps or {}, facts=RunFacts(label="reverse", digests={"out": digest}))


def test_runs_of_an_axis_are_reported_in_one_comparison(tmp_path: Path) -> None:
    case, done = fakes.case("double"), ended(tmp_path, repeated("2", "x"), repeated("3", "y"))
    (passed,) = further_runs.with_first_run(judged(case, done, done.dumps[0]), "repeat")
    assert passed.same
    assert passed.rule.startswith("3 runs (reverse; reverse), 3 different results, all the same")


def test_the_first_run_that_differs_is_named(tmp_path: Path) -> None:
    other = dump(tmp_path / "repeat-3", "out.1", [1.0, 2.0, 4.0])
    done = ended(tmp_path, repeated("2", "x"), repeated("3", other.digest, {"out": other}))
    (failed,) = further_runs.with_first_run(judged(fakes.case("double"), done, done.dumps[0]), "repeat")
    assert not failed.same
    assert failed.message.startswith("run 3 of 3 (reverse) is not the first one: ")


def test_a_run_with_a_fault_fails_and_one_that_was_left_out_is_a_note(tmp_path: Path) -> None:
    done = ended(tmp_path, FurtherRun("repeat", "2", fault="trap"), FurtherRun("repeat", "3", left_out="no memory"))
    (failed,) = further_runs.with_first_run(judged(fakes.case("double"), done, done.dumps[0]), "repeat")
    assert (failed.same, failed.message) == (False, "the repeat run 2: trap")
    assert list(further_runs.left_out_runs(done)) == ["the repeat run 3 was left out: no memory"]


# --- schedules --------------------------------------------------------------------------------------------------------

NAMES = ("forward", "reverse", "shuffled:1")


def under_schedules(rule: Rule | None = None) -> Case:
    return fakes.case("double", settings=CaseSettings(schedules=NAMES), compare={"out": rule or Rule()})


def ended(folder: Path, *runs: FurtherRun) -> Outcome:
    own = dump(folder, "out.1", [1.0, 2.0, 3.0])
    return Outcome("fake/double", "done", dumps=(own,), observations=Observations(runs=runs))


def under(name: str, digests: Mapping[str, str], dumps: Mapping[str, Dump] | None = None) -> FurtherRun:
    return FurtherRun("schedule", name, dumps=dumps or {}, facts=RunFacts(digests=digests))


@pytest.fixture
def changed(tmp_path: Path) -> Outcome:
    other = dump(tmp_path / "schedule", "out.1", [1.0, 2.0000002384185791015625, 3.0])
    same = under("reverse", {"out": "x"})
    return ended(tmp_path, same, under("shuffled:1", {"out": other.digest}, {"out": other}))


def test_a_difference_names_both_schedules_and_the_first_element(changed: Outcome) -> None:
    (failed,) = further_runs.schedules(judged(under_schedules(), changed, changed.dumps[0]))
    assert (failed.same, failed.against) == (False, "schedule")
    assert failed.message.startswith(
        "the schedules forward and shuffled:1 give different results: out[1] is 2.0 and 2.0"
    )
    assert not list(further_runs.schedule_notes(under_schedules(), changed, BufferPair.compare))


def test_a_difference_within_the_rule_is_a_note_with_its_size(changed: Outcome) -> None:
    near = under_schedules(Rule(ulp=1))
    (passed,) = further_runs.schedules(judged(near, changed, changed.dumps[0]))
    assert (passed.same, passed.identical) == (True, False)
    (note,) = further_runs.schedule_notes(near, changed, BufferPair.compare)
    assert note.startswith("out: forward and shuffled:1 differ within the buffer's rule in 1 of 3 elements, at most by")


def test_two_results_within_the_rule_of_the_first_may_differ_from_each_other(tmp_path: Path) -> None:
    below, above = (dump(tmp_path / str(value), "out.1", [1.0, value, 3.0]) for value in (1.75, 2.25))
    results = {"reverse": below, "by-warp": above}
    runs = (under(name, {"out": one.digest}, {"out": one}) for name, one in results.items())
    done = ended(tmp_path, *runs)
    (failed,) = further_runs.schedules(judged(under_schedules(Rule(atol=0.25)), done, done.dumps[0]))
    assert failed.message.startswith("the schedules reverse and by-warp give different results: out[1] is 1.75 and")
    (passed,) = further_runs.schedules(judged(under_schedules(Rule(atol=0.5)), done, done.dumps[0]))
    assert passed.rule.startswith("3 schedules (forward, reverse, by-warp), 3 different results")


def test_the_smallest_switch_is_told_with_its_schedule_and_accesses(tmp_path: Path) -> None:
    other = dump(tmp_path / "schedule", "out.1", [2.0, 1.0, 3.0])
    words, name = "running block 1 before block 0 is enough", "blocks:1,0"
    accesses = {buffer: (Finding("order of accesses", text),) for buffer, text in (("out", "a and b"), ("z", "c"))}
    facts = RunFacts(switches={"out": words}, replays={"out": name}, findings=accesses)
    run = FurtherRun("schedule", "reverse", dumps={"out": other}, facts=facts)
    changed = ended(tmp_path, run)
    (failed,) = further_runs.schedules(judged(under_schedules(), changed, changed.dumps[0]))
    assert failed.message.endswith(f"; {words}: --schedule {name}")
    assert [one.message for one in failed.findings if one.pattern == "order of accesses"] == ["a and b"]


def test_conflicting_accesses_are_a_note(tmp_path: Path) -> None:
    def noted(survey: ConflictSurvey) -> str:
        own = dump(tmp_path, "out.1", [1.0])
        seen = Observations(instruments=InstrumentReports(conflicts=survey))
        (note,) = further_runs.schedule_notes(
            under_schedules(), Outcome("fake/double", "done", dumps=(own,), observations=seen), BufferPair.compare
        )
        return note

    assert noted(ConflictSurvey(0)) == "no two accesses conflict: no schedule can change the result"
    text = "races of textures are not watched"
    assert noted(ConflictSurvey(0, (text,))) == f"no two accesses that were watched conflict; {text}"
    assert noted(ConflictSurvey(2, (), "a and b", 2)) == (
        "2 pairs of accesses conflict, as a and b; the adversarial schedule exchanges all of them"
    )
    assert noted(ConflictSurvey(1, (text,), "a and b")) == (
        f"1 pair of accesses conflicts, as a and b; the adversarial schedule exchanges none of them; {text}"
    )


def test_a_schedule_that_was_left_out_is_a_note_and_not_counted(tmp_path: Path) -> None:
    own = dump(tmp_path, "out.1", [1.0])
    runs = (under("reverse", {"out": own.digest}), FurtherRun("schedule", "adversarial", left_out="it is slow"))
    ended = Outcome("fake/double", "done", dumps=(own,), observations=Observations(runs=runs))
    (passed,) = further_runs.schedules(judged(under_schedules(), ended, own))
    assert passed.rule.startswith("2 schedules (forward, reverse), 1 different results")
    assert list(further_runs.schedule_notes(under_schedules(), ended, BufferPair.compare)) == [
        "the adversarial schedule was left out: it is slow"
    ]


def test_a_switch_that_no_launch_has_is_a_note(tmp_path: Path) -> None:
    own = dump(tmp_path, "out.1", [1.0])
    ended = Outcome("fake/double", "done", dumps=(own,), observations=Observations())

    def noted(name: str) -> list[str]:
        one = fakes.case("double", settings=CaseSettings(schedules=(name,)))
        return list(further_runs.schedule_notes(one, ended, BufferPair.compare))

    assert noted("warps:99,0+copies:issue") == [
        "the switch warps:99,0 changes nothing beside by-warp: no launch has a warp 99"
    ]
    assert noted("copies:issue") == noted("reverse") == []


def test_results_of_another_order_are_called_so(tmp_path: Path) -> None:
    own, seen = dump(tmp_path, "out.1", [1.0]), Observations(schedule="reverse")
    (note,) = further_runs.schedule_notes(
        under_schedules(), Outcome("fake/double", "done", dumps=(own,), observations=seen), BufferPair.compare
    )
    assert note == "the results are those of the schedule reverse, not of the usual order"


def test_a_fault_under_one_schedule_fails(tmp_path: Path) -> None:
    broken = ended(tmp_path, FurtherRun("schedule", "reverse", fault="trap: x"))
    for one in (broken, replace(broken, dumps=())):
        (failed,) = further_runs.schedule_faults(under_schedules(), one)
        assert failed.buffer in under_schedules().buffers
        assert (failed.same, failed.message) == (False, "forward runs to its end, reverse does not: trap: x")
    assert not [*further_runs.schedules(judged(under_schedules(), broken, broken.dumps[0]))]
    assert not list(further_runs.schedule_faults(under_schedules(), ended(tmp_path)))


def test_a_device_without_a_choice_is_told(tmp_path: Path) -> None:
    own = dump(tmp_path, "out.1", [1.0])
    there = Outcome("fake/double", "done", dumps=(own,), device=DeviceInfo("cuda:0", "H200", "sm_90", "", 1))
    assert not [*further_runs.schedules(judged(under_schedules(), there, own))]
    (note,) = further_runs.schedule_notes(under_schedules(), there, BufferPair.compare)
    assert "on a GPU the hardware decides" in note
    assert not list(further_runs.schedule_notes(fakes.case("double"), there, BufferPair.compare))


# --- seeds ------------------------------------------------------------------------------------------------------------

COUNT = 400
RULE = Rule(statistics=StatisticLimits(mean=Sigmas(4.0), ks=0.001))


def with_seeds(*checks: Check, rule: Rule = RULE) -> Case:
    further = tuple(Seeded(seed, {"x": Fill("uniform", Interval(0, 1), seed)}) for seed in (43, 44, 45))
    return fakes.case("double", seeds=further, compare={"out": rule}, checks={"out": checks}, count=COUNT)


def sample(folder: Path, seed: int, shift: float = 0.0) -> Dump:
    return dump(folder / str(seed), "out.1", np.random.default_rng(seed).normal(shift, 1, COUNT))


def of_seeds(folder: Path, wanted: Case, *shifts: float) -> list[Comparison]:
    own, baseline = sample(folder, 42), sample(folder, 1)
    runs = tuple(
        FurtherRun("seed", str(43 + at), dumps={"out": sample(folder, 43 + at, shift)})
        for at, shift in enumerate(shifts)
    )
    outcome = Outcome("fake/double", "done", dumps=(own,), observations=Observations(runs=runs))
    return list(further_runs.seeds(judged(wanted, outcome, own, baseline)))


def test_all_seeds_of_one_distribution_pass_in_one_comparison(tmp_path: Path) -> None:
    (compared,) = of_seeds(tmp_path, with_seeds(), 0, 0, 0)
    assert (compared.same, compared.against) == (True, "seeds")
    assert compared.rule == "4 seeds, 4 different results, limits corrected for the number of tests"


def test_a_seed_of_another_distribution_fails_and_is_named(tmp_path: Path) -> None:
    (compared,) = of_seeds(tmp_path, with_seeds(), 0, 1, 0)
    assert not compared.same
    assert compared.message.startswith("1 of 3 other seeds fail; seed 44: mean ")


def test_the_limits_are_those_of_one_of_four_tests() -> None:
    rule = further_runs.rule_for_seeds(with_seeds(), "out")
    assert rule is not None
    assert rule.statistics.ks == pytest.approx(0.00025)
    assert further_runs.rule_for_seeds(with_seeds(rule=Rule(ulp=1)), "out") is None
    assert further_runs.rule_for_seeds(fakes.case("double", compare={"out": RULE}), "out") is None


def test_checks_hold_under_every_seed(tmp_path: Path) -> None:
    _, passed = of_seeds(tmp_path, with_seeds(Check("range", (-9, 9))), 0, 0, 0)
    assert passed.same
    _, failed = of_seeds(tmp_path, with_seeds(Check("range", (-9, 9))), 0, 0, 20)
    assert failed.message.startswith("1 of 3 other seeds fail; seed 45: range: ")


def test_a_fault_under_a_seed_fails(tmp_path: Path) -> None:
    own = sample(tmp_path, 42)
    observed = Observations(runs=(FurtherRun("seed", "43", fault="trap: it stopped"),))
    outcome = Outcome("fake/double", "done", dumps=(own,), observations=observed)
    compared, *_ = further_runs.seeds(judged(with_seeds(), outcome, own))
    assert (compared.same, compared.message) == (False, "seed 43: trap: it stopped")


# --- variants ---------------------------------------------------------------------------------------------------------

SOURCE = fakes.case("double").source


def with_variants(*, must_agree: bool = False, rule: Rule | None = None) -> Case:
    varied = Variants("fmad=on", {"fmad=off": (SOURCE,), "arch=sm_80": (SOURCE,)}, must_agree)
    return fakes.case("double", variants=varied, compare={"out": rule or Rule()})


def built(folder: Path, *runs: FurtherRun) -> Outcome:
    own = dump(folder, "out.1", [1.0, 2.0, 3.0])
    return Outcome("fake/double", "done", dumps=(own,), observations=Observations(runs=runs))


@pytest.fixture
def rebuilt(tmp_path: Path) -> Outcome:
    other = dump(tmp_path / "variant", "out.1", [1.0, 2.0000002384185791015625, 3.0])
    return built(tmp_path, FurtherRun("variant", "fmad=off", dumps={"out": other}), FurtherRun("variant", "arch=sm_80"))


def test_a_changed_buffer_is_counted_in_ulp_whatever_its_rule(rebuilt: Outcome) -> None:
    for rule, same in ((Rule(), False), (Rule(rtol=1e-3, atol=0.0), True), (Rule(order="any"), False)):
        first, second = further_runs.variant_verdicts(with_variants(rule=rule), rebuilt)
        (compared,) = first.buffers
        assert isinstance(compared.figures, UlpFigures)
        assert (compared.changed, compared.figures.max_ulp, compared.same) == (1, 1, same)
        assert (first.name, first.first, second.buffers) == ("fmad=off", "fmad=on", ())


def test_a_difference_fails_the_case_only_where_the_job_says_so(rebuilt: Outcome) -> None:
    told, strict = with_variants(), with_variants(must_agree=True)
    assert not list(further_runs.variant_failures(told, rebuilt, further_runs.variant_verdicts(told, rebuilt)))
    (failure,) = further_runs.variant_failures(strict, rebuilt, further_runs.variant_verdicts(strict, rebuilt))
    assert (failure.buffer, failure.same, failure.against) == ("out", False, "variant")
    assert failure.message == "fmad=off: 1 of 3 differ"


def messages(case: Case, outcome: Outcome) -> list[str]:
    verdicts = further_runs.variant_verdicts(case, outcome)
    return [failure.message for failure in further_runs.variant_failures(case, outcome, verdicts)]


def test_a_fault_always_fails_and_what_was_not_run_only_where_all_must_agree(tmp_path: Path) -> None:
    faulted = FurtherRun("variant", "fmad=off", fault="trap: x")
    broken = built(tmp_path, faulted, FurtherRun("variant", "arch=sm_80", left_out="too new"))
    assert messages(with_variants(), broken) == ["fmad=off: trap: x"]
    strict = with_variants(must_agree=True)
    assert messages(strict, broken) == ["fmad=off: trap: x", "arch=sm_80: not run: too new"]


def test_the_same_program_is_told_and_a_case_that_failed_has_none(tmp_path: Path) -> None:
    alike = built(tmp_path, FurtherRun("variant", "fmad=off", facts=RunFacts(same_as="fmad=on")))
    assert further_runs.variant_verdicts(with_variants(), alike)[0].same_as == "fmad=on"
    assert further_runs.variant_verdicts(with_variants(), Outcome("fake/double", "fault")) == ()
    assert further_runs.variant_verdicts(fakes.case("double"), alike) == ()

from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.foundation.records import Case, CaseSettings, ConflictSurvey, Observations, Outcome, Rule, ScheduleRun
from gpuregress.gpu.records import replace
from gpuregress.judge.buffer_pairs import BufferPair
from gpuregress.judge.launches import schedules
from tests import fakes
from tests.judge.dumps import dump

NAMES = ("forward", "reverse", "shuffled:1")


def case(rule: Rule | None = None) -> Case:
    return fakes.case("double", settings=CaseSettings(schedules=NAMES), compare={"out": rule or Rule()})


def outcome(folder: Path, *runs: ScheduleRun) -> Outcome:
    own = dump(folder, "out.1", [1.0, 2.0, 3.0])
    return Outcome("fake/double", "done", dumps=(own,), observations=Observations(schedules=runs))


@pytest.fixture
def changed(tmp_path: Path) -> Outcome:
    other = dump(tmp_path / "schedule", "out.1", [1.0, 2.0000002384185791015625, 3.0])
    same = ScheduleRun("reverse", {"out": "x"})
    return outcome(tmp_path, same, ScheduleRun("shuffled:1", {"out": other.digest}, {"out": other}))


def test_a_difference_names_both_schedules_and_the_first_element(changed: Outcome) -> None:
    (failed,) = schedules.comparisons(case(), changed, changed.dumps[0], BufferPair.compare)
    assert (failed.same, failed.against) == (False, "schedule")
    assert failed.message.startswith(
        "the schedules forward and shuffled:1 give different results: out[1] is 2.0 and 2.0"
    )
    assert not list(schedules.notes(case(), changed, BufferPair.compare))


def test_a_difference_within_the_rule_is_a_note_with_its_size(changed: Outcome) -> None:
    near = case(Rule(ulp=1))
    (passed,) = schedules.comparisons(near, changed, changed.dumps[0], BufferPair.compare)
    assert (passed.same, passed.identical) == (True, False)
    (note,) = schedules.notes(near, changed, BufferPair.compare)
    assert note.startswith("out: forward and shuffled:1 differ within the buffer's rule in 1 of 3 elements, at most by")


def test_two_results_within_the_rule_of_the_first_may_differ_from_each_other(tmp_path: Path) -> None:
    below, above = (dump(tmp_path / str(value), "out.1", [1.0, value, 3.0]) for value in (1.75, 2.25))
    results = {"reverse": below, "by-warp": above}
    runs = (ScheduleRun(name, {"out": one.digest}, {"out": one}) for name, one in results.items())
    ended = outcome(tmp_path, *runs)
    (failed,) = schedules.comparisons(case(Rule(atol=0.25)), ended, ended.dumps[0], BufferPair.compare)
    assert failed.message.startswith("the schedules reverse and by-warp give different results: out[1] is 1.75 and")
    (passed,) = schedules.comparisons(case(Rule(atol=0.5)), ended, ended.dumps[0], BufferPair.compare)
    assert passed.rule.startswith("3 schedules (forward, reverse, by-warp), 3 different results")


def test_the_smallest_switch_is_told_with_its_schedule_and_accesses(tmp_path: Path) -> None:
    other = dump(tmp_path / "schedule", "out.1", [2.0, 1.0, 3.0])
    words, name = "running block 1 before block 0 is enough", "blocks:1,0"
    accesses = {"out": ("a and b",), "else": ("c and d",)}
    run = ScheduleRun("reverse", {"out": "x"}, {"out": other}, "", {"out": words}, {"out": name}, accesses)
    changed = outcome(tmp_path, run)
    (failed,) = schedules.comparisons(case(), changed, changed.dumps[0], BufferPair.compare)
    assert failed.message.endswith(f"; {words}: --schedule {name}")
    assert [one.message for one in failed.findings if one.pattern == "order of accesses"] == ["a and b"]


def test_conflicting_accesses_are_a_note(tmp_path: Path) -> None:
    def noted(survey: ConflictSurvey) -> str:
        own = dump(tmp_path, "out.1", [1.0])
        seen = Observations(schedules=(), conflicts=survey)
        (note,) = schedules.notes(
            case(), Outcome("fake/double", "done", dumps=(own,), observations=seen), BufferPair.compare
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
    runs = (ScheduleRun("reverse", {"out": own.digest}), ScheduleRun("adversarial", left_out="it is slow"))
    ended = Outcome("fake/double", "done", dumps=(own,), observations=Observations(schedules=runs))
    (passed,) = schedules.comparisons(case(), ended, own, BufferPair.compare)
    assert passed.rule.startswith("2 schedules (forward, reverse), 1 different results")
    assert list(schedules.notes(case(), ended, BufferPair.compare)) == [
        "the adversarial schedule was left out: it is slow"
    ]


def test_a_switch_that_no_launch_has_is_a_note(tmp_path: Path) -> None:
    own = dump(tmp_path, "out.1", [1.0])
    ended = Outcome("fake/double", "done", dumps=(own,), observations=Observations(schedules=()))

    def noted(name: str) -> list[str]:
        one = fakes.case("double", settings=CaseSettings(schedules=(name,)))
        return list(schedules.notes(one, ended, BufferPair.compare))

    assert noted("warps:99,0+copies:issue") == [
        "the switch warps:99,0 changes nothing beside by-warp: no launch has a warp 99"
    ]
    assert noted("copies:issue") == noted("reverse") == []


def test_results_of_another_order_are_called_so(tmp_path: Path) -> None:
    own, seen = dump(tmp_path, "out.1", [1.0]), Observations(schedule="reverse", schedules=())
    (note,) = schedules.notes(
        case(), Outcome("fake/double", "done", dumps=(own,), observations=seen), BufferPair.compare
    )
    assert note == "the results are those of the schedule reverse, not of the usual order"


def test_a_fault_under_one_schedule_fails(tmp_path: Path) -> None:
    broken = outcome(tmp_path, ScheduleRun("reverse", fault="trap: x"))
    for one in (broken, replace(broken, dumps=())):
        (failed,) = schedules.faults(case(), one)
        assert failed.buffer in case().buffers
        assert (failed.same, failed.message) == (False, "forward runs to its end, reverse does not: trap: x")
    assert not schedules.comparisons(case(), broken, broken.dumps[0], BufferPair.compare)
    assert not list(schedules.faults(case(), outcome(tmp_path)))


def test_a_device_without_a_choice_is_told(tmp_path: Path) -> None:
    own = dump(tmp_path, "out.1", [1.0])
    there = Outcome("fake/double", "done", dumps=(own,))
    assert schedules.comparisons(case(), there, own, BufferPair.compare) == []
    (note,) = schedules.notes(case(), there, BufferPair.compare)
    assert "on a GPU the hardware decides" in note
    assert not list(schedules.notes(fakes.case("double"), there, BufferPair.compare))

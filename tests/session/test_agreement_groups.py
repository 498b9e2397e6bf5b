from __future__ import annotations

from collections.abc import Sequence

from gpuregress.foundation.records import Case, CaseSettings, Outcome, Status, Task, Verdict
from gpuregress.gpu.records import replace
from gpuregress.session.agreement_groups import AgreementGroups
from tests import fakes

PLANNED: list[int] = []


def case(name: str, group: int = 1) -> Case:
    made = fakes.case("double", name=name)
    return replace(made, parameters={"n": group, "block": name}, settings=CaseSettings(agree=("block",)))


def task(one: Case) -> Task:
    return Task(one, fakes.program(), "/log", 1, "/dumps")


def reached(one: Case, status: Status = "new") -> Verdict:
    outcome = Outcome(one.name, "done")
    return replace(Verdict(one.job, one.name, "new", outcome=outcome), status=status)


def judge(_tasks: Sequence[Task], verdicts: Sequence[Verdict], planned: int) -> list[Verdict]:
    PLANNED.append(planned)
    return [replace(one, reason="judged") for one in verdicts]


def names(settled: Sequence[tuple[Verdict, Task | None]]) -> list[tuple[str, str]]:
    return [(verdict.case, verdict.reason) for verdict, _ in settled]


def test_a_verdict_waits_for_its_group() -> None:
    cases = [case("a"), case("b"), case("c", 2), case("d")]
    groups = AgreementGroups(cases, judge)
    assert groups.settle(reached(cases[0]), task(cases[0])) == []
    assert names(groups.settle(reached(cases[2]), task(cases[2]))) == [("c", "judged")]
    assert names(groups.settle(reached(cases[3], "fault"), task(cases[3]))) == [("d", "")]
    assert names(groups.settle(reached(cases[1]), task(cases[1]))) == [("a", "judged"), ("b", "judged")]
    assert PLANNED[-2:] == [1, 3]
    assert groups.close(judged=True) == []


def test_a_group_is_judged_in_the_order_of_the_plan() -> None:
    cases = [case("a"), case("b"), case("c")]
    groups = AgreementGroups(cases, judge)
    for one in (cases[2], cases[0]):
        assert groups.settle(reached(one), task(one)) == []
    assert [name for name, _ in names(groups.settle(reached(cases[1]), task(cases[1])))] == ["a", "b", "c"]


def test_a_case_without_a_group_does_not_wait() -> None:
    alone = fakes.case("double", name="alone")
    groups = AgreementGroups([alone], judge)
    assert names(groups.settle(reached(alone), task(alone))) == [("alone", "")]


def test_a_skip_completes_a_group() -> None:
    cases = [case("a"), case("b")]
    groups = AgreementGroups(cases, judge)
    assert groups.settle(reached(cases[0], "pass"), task(cases[0])) == []
    assert names(groups.settle(reached(cases[1], "skip"), None)) == [("b", ""), ("a", "judged")]


def test_what_is_held_at_the_end_is_released_once() -> None:
    cases = [case("a"), case("b")]
    groups = AgreementGroups(cases, judge)
    groups.settle(reached(cases[0]), task(cases[0]))
    assert names(groups.close(judged=False)) == [("a", "")]
    assert groups.close(judged=True) == []

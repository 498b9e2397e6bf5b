from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from gpuregress.judging import agreement
from gpuregress.judging.agreement import GroupMember
from gpuregress.records import BufferVerdict, CaseSettings, Outcome, Rule, Verdict
from tests import fakes
from tests.judging.dumps import dump


def member(folder: Path, block: int, values: Any, rule: Rule | None = None, **more: Any) -> GroupMember:
    case = fakes.case("double", name=f"fake/n=8,block={block}", count=len(values), compare={"out": rule or Rule()})
    case = dataclasses.replace(case, settings=CaseSettings(agree=("block",)))
    (folder / str(block)).mkdir()
    dumps = (dump(folder / str(block), "out.1", values),)
    outcome = Outcome(case.name, "done", dumps=dumps)
    own = Verdict(case.job, case.name, "new", "no baseline yet", buffers=(BufferVerdict("out", "new"),), exit_code=1)
    return GroupMember(case, outcome, dataclasses.replace(own, outcome=outcome, **more))


def words(members: list[GroupMember], planned: int = 0) -> list[tuple[str, str]]:
    judged = agreement.verdicts(members, planned or len(members))
    return [(one.status, one.reason) for one in judged]


def test_the_odd_one_out_differs_from_the_majority(tmp_path: Path) -> None:
    members = [member(tmp_path, 32, [1, 9, 3]), *(member(tmp_path, block, [1, 2, 3]) for block in (64, 128))]
    odd = ("differ", "out: agree: 1 of 3 differ from block=64, whose result 2 of 3 cases have")
    assert words(members) == [odd, ("pass", ""), ("pass", "")]
    judged = agreement.verdicts(members, 3)
    assert [one.exit_code for one in judged] == [1, 0, 0]
    assert judged[1].against == ("agree",)
    assert judged[0].buffers[0].comparisons[0].figures.worst_thread


def test_without_a_majority_nobody_is_right(tmp_path: Path) -> None:
    members = [member(tmp_path, 32, [1, 2]), member(tmp_path, 64, [1, 3])]
    text = "of 2 cases 1 has that result and 1 this one, so it cannot be told which is wrong"
    assert words(members) == [
        ("differ", f"out: agree: 1 of 2 differ from block=64; {text}"),
        ("differ", f"out: agree: 1 of 2 differ from block=32; {text}"),
    ]


def test_the_rule_of_the_buffer_applies(tmp_path: Path) -> None:
    rule = Rule(rtol=1e-3, atol=0.0)
    results = {32: [1.0, 2.0], 64: [1.0001, 2.0], 128: [1.0, 2.0001], 256: [1.0, 3.0]}
    members = [member(tmp_path, block, values, rule) for block, values in results.items()]
    assert [status for status, _ in words(members)] == ["pass", "pass", "pass", "differ"]


def test_nan_never_agrees_where_the_rule_says_so(tmp_path: Path) -> None:
    rule = Rule(rtol=1e-3, atol=0.0, nan="never")
    members = [member(tmp_path, block, [1.0, float("nan")], rule) for block in (32, 64)]
    assert {status for status, _ in words(members)} == {"differ"}


def test_one_case_alone_has_nothing_to_agree_with(tmp_path: Path) -> None:
    alone = member(tmp_path, 32, [1, 2])
    assert words([alone]) == [("new", "no baseline yet; nothing to agree with: it is alone in this run")]
    rest = "none of the 3 others of its group ran to its end"
    assert words([alone], 4) == [("new", f"no baseline yet; nothing to agree with: {rest}")]
    accepted = dataclasses.replace(alone, verdict=dataclasses.replace(alone.verdict, status="pass", reason=""))
    (judged,) = agreement.verdicts([accepted], 2)
    assert judged.status == "pass"
    assert "nothing to agree with: the other one of its group did not run to its end" in judged.notes


def test_absent_cases_are_told(tmp_path: Path) -> None:
    members = [member(tmp_path, block, [1, 2]) for block in (32, 64)]
    judged = agreement.verdicts(members, 3)
    assert [one.status for one in judged] == ["pass", "pass"]
    assert judged[0].notes == ("1 case of its group was not compared: skipped, failed or not run to the end",)


def test_buffers_of_different_shapes_are_left_out(tmp_path: Path) -> None:
    members = [member(tmp_path, 32, [1, 2]), member(tmp_path, 64, [1, 2, 3])]
    assert [status for status, _ in words(members)] == ["new", "new"]


def test_a_dump_that_cannot_be_read_is_an_error_of_its_case(tmp_path: Path) -> None:
    members = [member(tmp_path, block, [1, 2, block]) for block in (32, 64, 128)]
    Path(members[2].outcome.dumps[0].path).unlink()
    assert words(members)[2][0] == "error"

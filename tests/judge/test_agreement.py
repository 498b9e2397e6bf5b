from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpuregress.execution.runner.poison import poison, survey
from gpuregress.foundation import dtypes
from gpuregress.foundation.records import (
    Buffer,
    BufferVerdict,
    CaseSettings,
    FurtherRun,
    Observations,
    Outcome,
    PoisonComparison,
    Rule,
    RunFacts,
    UnwrittenElements,
    Verdict,
    WriteSurvey,
)
from gpuregress.gpu.records import replace
from gpuregress.judge import agreement
from gpuregress.judge.agreement import GroupMember
from gpuregress.store.dumps import writer
from tests import fakes
from tests.judge.dumps import dump


def member(folder: Path, block: int, values: Any, rule: Rule | None = None, **more: Any) -> GroupMember:
    case = fakes.case("double", name=f"fake/n=8,block={block}", count=len(values), compare={"out": rule or Rule()})
    case = replace(case, settings=CaseSettings(agree=("block",)))
    (folder / str(block)).mkdir()
    dumps = (dump(folder / str(block), "out.1", values),)
    outcome = Outcome(case.name, "done", dumps=dumps)
    own = Verdict(case.job, case.name, "new", "no baseline yet", buffers=(BufferVerdict("out", "new"),), exit_code=1)
    return GroupMember(case, outcome, replace(own, outcome=outcome, **more))


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


def overridden(made: GroupMember) -> GroupMember:
    verdict = replace(made.verdict, overridden=("block",))
    return replace(made, case=made.case.with_settings(overridden=("block",)), verdict=verdict)


def test_cases_of_the_command_line_are_compared_with_those_of_the_job_and_have_no_vote(tmp_path: Path) -> None:
    others = [overridden(member(tmp_path, block, [1, 9])) for block in (96, 160)]
    job = member(tmp_path, 32, [1, 2])
    message = "out: agree: 1 of 2 differ from block=32, a case of the job"
    alone = ("new", "no baseline yet; out: nothing to agree with: the cases of --set differ")
    assert words([*others, job]) == [("differ", message), ("differ", message), alone]
    same = overridden(member(tmp_path, 64, [1, 2]))
    assert words([*others, same, job]) == [("differ", message), ("differ", message), ("pass", ""), ("pass", "")]
    another = member(tmp_path, 128, [1, 2])
    two = "out: agree: 1 of 2 differ from block=32, whose result 2 of 2 cases have"
    assert words([*others, job, another]) == [("differ", two), ("differ", two), ("pass", ""), ("pass", "")]
    odd = member(tmp_path, 256, [1, 9])
    assert [status for status, _ in words([*others, job, odd])] == ["differ"] * 4  # two cases of the job differ
    assert [status for status, _ in words(others)] == ["pass", "pass"]  # where the job's own did not run


def test_a_case_of_the_command_line_alone_that_wrote_all_has_nothing_to_agree_with(tmp_path: Path) -> None:
    rule = Rule(verify="anything.py:check")
    job = [wrote(tmp_path, 0, HALF, rule), wrote(tmp_path, 1, [LEFT, LEFT, 3.0, 4.0], rule)]
    *parts, (status, reason) = words([*job, overridden(wrote(tmp_path, 2, WHOLE, rule))])
    assert [status for status, _ in parts] == ["differ", "differ"]
    assert (status, reason.rpartition(": ")[2]) == ("new", "no other case wrote all that this one writes")


def test_without_a_majority_nobody_is_right(tmp_path: Path) -> None:
    members = [member(tmp_path, 32, [1, 2]), member(tmp_path, 64, [1, 3])]
    text = "of 2 cases 1 has that result and 1 this one, so it is not known which is wrong"
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
    accepted = replace(alone, verdict=replace(alone.verdict, status="pass", reason=""))
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


LEFT = object()
"""An element that a case never wrote."""


def wrote(folder: Path, block: int, values: list[Any], rule: Rule | None = None, dtype: str = "float32") -> GroupMember:
    """A case that wrote these elements; a list in an element of two parts may leave out either."""
    one, element = member(folder, block, [0] * len(values), rule), dtypes.parse(dtype)
    array = poison(len(values) * element.size).view(element.storage).copy()
    for number, value in enumerate(values):
        if dtype == "float2":
            for part, own in zip("xy", value, strict=True):
                if own is not LEFT:
                    array[part][number] = own
        elif value is not LEFT:
            array[number] = value
    path = folder / str(block) / "out.2.4"
    dumps = (writer.write(path, array, element, (len(values),)),)
    writes = survey([array], element).added_to(WriteSurvey(), "out", is_unchanged=False)
    observed = Observations(writes=writes)
    outcome = replace(one.outcome, dumps=dumps, observations=observed)
    case = replace(one.case, buffers={"out": Buffer("out", dtype, (len(values),))})
    return replace(one, case=case, outcome=outcome)


ALONE = "out: 2 of 4 elements were written by this case alone"
WHOLE, HALF = [1.0, 2.0, 3.0, 4.0], [1.0, 2.0, LEFT, LEFT]
SHORT = "out: agree: 2 of 4 elements were never written; other cases write them, for example block=0"


@pytest.mark.parametrize("rule", [None, Rule(rtol=1e-3), Rule(order="any")])
@pytest.mark.parametrize(
    ("results", "expected"),
    [
        ([WHOLE, HALF, HALF, HALF], [("pass", ALONE), *[("differ", SHORT)] * 3]),
        ([WHOLE, HALF], [("pass", ALONE), ("differ", SHORT)]),
        ([HALF, HALF], [("pass", "out: 2 of 4 elements were never written ([2] to [3]); 0 NaN")] * 2),
        ([[9.0, 2.0, 3.0, 4.0], HALF, HALF], ["2 of 3 cases", "2 of 4 elements were never", "2 of 4 elements were"]),
        # those that left out the element in question are no votes for either value
        ([WHOLE, [1.0, 2.0, 3.0, 9.0], HALF, HALF], ["it is not known", "it is not known", "2 of 4", "2 of 4"]),
        ([[LEFT] * 4, [LEFT] * 4], ["nothing was written", "nothing was written"]),
        ([WHOLE, [LEFT] * 4], ["nothing to agree with", "nothing was written"]),
        ([WHOLE, WHOLE, [LEFT] * 4], [("pass", ""), ("pass", ""), "nothing was written"]),
        ([[1.0, LEFT], [LEFT, 2.0]], ["1 of 2 elements were never", "1 of 2 elements were never"]),
    ],
)
def test_an_element_that_was_never_written_is_no_vote(
    tmp_path: Path, rule: Rule | None, results: list[list[Any]], expected: list[tuple[str, str] | str]
) -> None:
    found = words([wrote(tmp_path, block, values, rule) for block, values in enumerate(results)])
    assert len(found) == len(expected)
    for (status, reason), one in zip(found, expected, strict=True):
        if isinstance(one, tuple):
            assert (status, reason) == one
        else:
            assert status != "pass"
            assert one in reason


def test_what_another_case_left_out_is_no_difference(tmp_path: Path) -> None:
    results: list[list[Any]] = [[1.0, LEFT, 3.0], [LEFT, 2.0, 3.0], [LEFT, LEFT, 4.0]]
    judged = agreement.verdicts([wrote(tmp_path, block, values) for block, values in enumerate(results)], 3)
    compared = [one.buffers[0].comparisons[0] for one in judged]
    assert [one.differing for one in compared] == [1, 1, 2]
    assert [one.worst.index for one in compared[:2] if one.worst] == [1, 0]


def test_a_part_of_an_element_that_was_never_written_is_no_vote(tmp_path: Path) -> None:
    results: list[list[Any]] = [[(1.0, 2.0)], [(1.0, LEFT)], [(1.0, LEFT)]]
    found = words([wrote(tmp_path, block, values, dtype="float2") for block, values in enumerate(results)])
    others = "other cases write them, for example block=0"
    text = f"out: agree: 1 of 1 elements were never written, or in part only; {others}"
    assert found == [("pass", "out: 1 of 1 elements were written by this case alone"), *[("differ", text)] * 2]


def test_narrow_integers_may_hold_the_poison_by_chance(tmp_path: Path) -> None:
    values = np.arange(64)
    results = [[*values[:60], LEFT, *values[61:]], [*values[:60], 0xFC, *values[61:]]]
    members = [wrote(tmp_path, block, some, Rule(atol=1.0), "uint8") for block, some in enumerate(results)]
    assert [status for status, _ in words(members)] == ["pass", "pass"]


@pytest.mark.parametrize("dtype", ["uint8", "int16"])
def test_a_majority_that_may_hold_the_poison_by_chance_is_none(tmp_path: Path, dtype: str) -> None:
    values: list[Any] = list(range(64))
    short = [*values[:60], LEFT, *values[61:]]
    members = [wrote(tmp_path, block, some, dtype=dtype) for block, some in enumerate([short, short, values])]
    judged = words(members)
    assert [status for status, _ in judged] == ["differ"] * 3
    assert all("it is not known which is wrong; the elements of block=0 may never have" in text for _, text in judged)
    proven = PoisonComparison(UnwrittenElements(1, 64, ((60, 61),)), None)
    for number, twice in enumerate((proven, proven, PoisonComparison(None, None))):
        run = FurtherRun("poison", "complement", facts=RunFacts(poisons={"out": twice}))
        seen = replace(members[number].outcome.observations, runs=(run,))
        outcome = replace(members[number].outcome, observations=seen)
        members[number] = replace(members[number], outcome=outcome)
    assert [status for status, _ in words(members)] == ["differ", "differ", "pass"]
    odd = wrote(tmp_path, 3, [9, *short[1:]], dtype=dtype)
    members = [wrote(tmp_path, block, short, dtype=dtype) for block in (4, 5)]
    assert [status for status, _ in words([*members, odd])] == ["pass", "pass", "differ"]


def test_cases_that_change_nothing_are_no_votes(tmp_path: Path) -> None:
    untouched = WriteSurvey(nan={}, unchanged=("out",))

    def idle(one: GroupMember) -> GroupMember:
        return replace(
            one,
            outcome=replace(one.outcome, observations=Observations(writes=untouched)),
        )

    fills = [idle(member(tmp_path, block, [0, 0])) for block in (1, 2)]
    text = "no baseline yet; out: nothing to agree with: the case changed no buffer that it dumps"
    assert words(fills) == [("new", text)] * 2
    found = words([*fills, member(tmp_path, 3, [1, 0])])
    assert [status for status, _ in found] == ["differ", "differ", "new"]
    assert "1 of 2 differ from block=3: this case changed no buffer" in found[0][1]


def test_an_unwritten_output_that_was_accepted_passes(tmp_path: Path) -> None:
    own = Verdict("fake", "", "pass", buffers=(BufferVerdict("out", "pass"),))
    members = [replace(wrote(tmp_path, block, [LEFT] * 4), verdict=own) for block in (1, 2)]
    assert words(members) == [("pass", "")] * 2

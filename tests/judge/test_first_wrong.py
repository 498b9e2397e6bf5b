from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from gpuregress.foundation.records import (
    Baseline,
    Case,
    Comparison,
    Dump,
    FirstWrong,
    FurtherRun,
    LaunchDigests,
    MadeOf,
    Observations,
    Outcome,
    Rule,
    RunFacts,
)
from gpuregress.gpu.records import replace
from gpuregress.judge import first_wrong
from gpuregress.judge.launch_slice import Timeline
from tests.judge.test_launch_slice import chain

CHAIN = chain(("t", "x"), ("y", "t"), ("y", "x"))
Rows = Mapping[str, Mapping[str, str]]
GOOD: dict[str, dict[str, str]] = {"1": {"t": "t1"}, "2": {"y": "y2"}, "3": {"y": "y3"}}


def found(
    actual: Rows, *, case: Case = CHAIN, expected: Rows = GOOD, launches: int = 3, **observed: Any
) -> FirstWrong | None:
    """Search for the first wrong launch of `y`, whose dump has the last digest of each side."""
    case = replace(case, dump=("y",))

    def dump(rows: Rows) -> Dump:
        last = next((rows[number]["y"] for number in sorted(rows, reverse=True) if "y" in rows[number]), "")
        return Dump("y", "/nowhere/y", "float32", (8,), last, "")

    accepted = Baseline(
        case.name,
        "/b",
        "1.4",
        MadeOf("00"),
        {"y": dump(expected)},
        (),
        launch_digests=LaunchDigests(launches, expected),
    )
    observations = Observations(launch_digests=LaunchDigests(3, actual), **observed)
    outcome = Outcome(case.name, "done", dumps=(dump(actual),), observations=observations)
    failed = Comparison("y", "baseline", "", same=False, identical=False, of=8, differing=1)
    other = replace(failed, against="reference")
    result = first_wrong.added(case, (), outcome, accepted, {"y": [failed, other]})["y"]
    assert result[1] == other, "only the baseline has digests"
    return result[0].first_wrong


def test_the_launch_is_named_with_its_kernel_and_source() -> None:
    named = found(GOOD | {"2": {"y": "bad"}, "3": {"y": "worse"}})
    assert named is not None
    assert named.message == "first wrong after launch 2 (double, fake.cu); the buffers it was given were the same"
    assert (named.launch, named.number, named.step, named.decided_by) == (2, 2, None, "rule")


def test_a_difference_of_another_buffer_is_named() -> None:
    named = found(GOOD | {"1": {"t": "bad"}, "2": {"y": "worse"}, "3": {"y": "worst"}})
    assert named is not None
    assert named.message == (
        "first wrong after launch 1 (double, fake.cu); the buffers it was given were the same"
        "; the difference is in t, which y may not depend on; y differs since launch 2 (double, fake.cu)"
    )


def test_a_repeated_step_is_named() -> None:
    launches = (CHAIN.launches[0], CHAIN.launches[1], replace(CHAIN.launches[1]))
    named = found(GOOD | {"3": {"y": "bad"}}, case=replace(CHAIN, launches=launches))
    assert named is not None
    assert named.message.startswith("first wrong after launch 2 (double, fake.cu) at step 1; ")


TOLERANT = replace(CHAIN, compare={"y": Rule(rtol=1e-3)})


def test_bits_do_not_decide_for_a_tolerance() -> None:
    named = found(GOOD | {"2": {"y": "bad"}, "3": {"y": "worse"}}, case=TOLERANT)
    assert named is not None
    assert named.message.startswith("first bit difference after launch 2 (double, fake.cu); ")
    assert named.decided_by == "bits"


def test_the_last_write_is_what_the_rule_was_applied_to() -> None:
    named = found(GOOD | {"3": {"y": "bad"}}, case=TOLERANT)
    assert named is not None
    assert named.message.startswith("first wrong after launch 3 ")


def test_a_buffer_that_varies_from_run_to_run_blames_no_launch_for_its_bits() -> None:
    wrong = GOOD | {"1": {"t": "bad"}, "2": {"y": "worse"}, "3": {"y": "worst"}}
    named = found(wrong, runs=(FurtherRun("repeat", "2", facts=RunFacts(determinism={"t": "order varies"})),))
    assert named is not None
    assert named.message.startswith("first bit difference after launch 1 ")


@pytest.mark.parametrize(
    "changes",
    [
        {"launches": 4},
        {"expected": {"1": {"t": "t1"}, "2": {"y": "y2"}}},
    ],
    ids=["another number of launches", "the last launch is not recorded"],
)
def test_other_launches_say_nothing(changes: dict[str, Any]) -> None:
    assert found(GOOD | {"2": {"y": "bad"}, "3": {"y": "bad"}}, **changes) is None


def test_a_write_that_no_digest_shows_says_nothing() -> None:
    case = replace(CHAIN, dump=("y",))
    side = first_wrong.RecordedSide(
        LaunchDigests(3, GOOD), {}, {"y": Dump("y", "/nowhere/y", "float32", (8,), "another digest", "")}
    )
    good = first_wrong.RecordedSide(LaunchDigests(3, GOOD), {}, {})
    evidence = first_wrong.DigestEvidence(case, good, side)
    assert first_wrong.find(case, Timeline(case, ()), evidence, "y") is None


def test_digests_are_taken_where_there_are_some() -> None:
    assert first_wrong.of_baseline(None) is None
    assert first_wrong.of_outcome(Outcome("c", "done")) is None
    assert first_wrong.of_outcome(Outcome("c", "done", observations=Observations(launch_digests=LaunchDigests(2))))

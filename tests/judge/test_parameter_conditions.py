from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.judge import parameter_spaces
from gpuregress.judge.parameter_spaces import Conditions

Bug = Callable[[Mapping[str, Any]], bool]
SPACE: dict[str, list[Any]] = {
    "tile_x": [4, 8, 16],
    "block_x": [16, 32, 64, 128],
    "real": ["float", "double", "half"],
    "pad": [False, True],
}


def cases(space: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(space, values, strict=True)) for values in itertools.product(*space.values())]


def found(bug: Bug, space: Mapping[str, Sequence[Any]] = SPACE) -> Conditions | None:
    fails = [(case, bug(case)) for case in cases(space)]
    failing, passing = ([case for case, fail in fails if fail == wanted] for wanted in (True, False))
    return parameter_spaces.find(failing, passing)


def texts(conditions: Conditions | None) -> list[list[str]]:
    return [[one.text for one in alternative] for alternative in conditions.alternatives] if conditions else []


@pytest.mark.parametrize(
    ("bug", "expected"),
    [
        (lambda case: case["tile_x"] == 4, ["tile_x = 4"]),
        (lambda case: case["tile_x"] == 4 and case["block_x"] > 32, ["tile_x = 4", "block_x > 32"]),
        (lambda case: case["block_x"] <= 32, ["block_x <= 32"]),
        (lambda case: case["block_x"] in (32, 64), ["16 < block_x <= 64"]),
        (lambda case: case["block_x"] == 128, ["block_x = 128"]),
        (lambda case: case["block_x"] in (16, 64), ["block_x in {16, 64}"]),
        (lambda case: case["block_x"] != 64, ["block_x != 64"]),
        (lambda case: case["real"] == "half", ["real = half"]),
        (lambda case: case["real"] != "float", ["real != float"]),
        (lambda case: case["pad"], ["pad = true"]),
        (
            lambda case: case["pad"] and case["real"] == "double" and case["block_x"] > 32,
            ["block_x > 32", "real = double", "pad = true"],
        ),
    ],
)
def test_the_values_of_a_planted_bug_are_named(bug: Bug, expected: list[str]) -> None:
    known = found(bug)
    assert known is not None
    assert texts(known) == [expected]
    assert known.exceptions == 0


@pytest.mark.parametrize(
    ("bug", "expected"),
    [
        (lambda case: case["tile_x"] == 4 or case["block_x"] > 32, [["tile_x = 4"], ["block_x > 32"]]),
        (
            lambda case: (case["pad"] and case["tile_x"] == 16) or (case["real"] == "half" and case["block_x"] == 16),
            [["tile_x = 16", "pad = true"], ["block_x = 16", "real = half"]],
        ),
    ],
)
def test_two_bugs_are_two_alternatives(bug: Bug, expected: list[list[str]]) -> None:
    known = found(bug)
    assert known is not None
    assert sorted(texts(known)) == sorted(expected)
    assert known.exceptions == 0


def test_a_bug_that_shows_now_and_then_is_named_with_its_exceptions() -> None:
    chance = random.Random(3)
    known = found(lambda case: case["tile_x"] == 8 and chance.random() < 0.8)
    assert known is not None
    assert texts(known) == [["tile_x = 8"]]
    assert known.exceptions > 0
    assert known.covered + known.exceptions == len(cases(SPACE)) / 3


def test_one_failure_of_another_cause_does_not_hide_the_values_of_the_others() -> None:
    odd = {"tile_x": 16, "block_x": 128, "real": "half", "pad": True}
    known = found(lambda case: case["tile_x"] == 4 or case == odd)
    assert known is not None
    assert texts(known) == [["tile_x = 4"]]
    assert (known.covered, known.exceptions) == (24, 0)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("share", [0.04, 0.15, 0.5])
def test_no_cause_is_invented_for_failures_at_random(seed: int, share: float) -> None:
    chance = random.Random(f"{seed}:{share}")
    assert found(lambda _case: chance.random() < share) is None


@pytest.mark.parametrize("count", [1, 2])
def test_a_few_cases_of_one_value_are_no_evidence(count: int) -> None:
    space = {"tile": [4, 8, 16], "block": [16, 32]}
    few = [case for case in cases(space) if case["tile"] == 4][:count]
    assert found(lambda case: case in few, space) is None


def test_without_failing_or_passing_cases_nothing_is_known() -> None:
    assert found(lambda _case: True) is None
    assert found(lambda _case: False) is None
    assert parameter_spaces.find([], []) is None


@given(
    st.dictionaries(
        st.sampled_from("abcd"),
        st.lists(st.integers(-3, 9), min_size=1, max_size=4, unique=True)
        | st.lists(st.sampled_from(["float", "double", "half"]), min_size=1, max_size=3, unique=True),
        min_size=1,
    ),
    st.randoms(use_true_random=False),
)
def test_what_is_said_is_true(space: dict[str, list[Any]], chance: random.Random) -> None:
    every = cases(space)
    picked = dict.fromkeys(space, None) | {name: chance.choice(values) for name, values in space.items()}
    names = chance.sample(sorted(space), chance.randint(1, len(space)))
    failing = [case for case in every if all(case[name] == picked[name] for name in names) or chance.random() < 0.02]
    passing = [case for case in every if case not in failing]
    known = parameter_spaces.find(failing, passing)
    assert known == parameter_spaces.find(failing, passing)
    if known is None:
        return

    def fulfils(case: Mapping[str, Any]) -> bool:
        return any(all(case[one.parameter] in one.values for one in box) for box in known.alternatives)

    assert sum(map(fulfils, failing)) == known.covered
    assert sum(map(fulfils, passing)) == known.exceptions
    assert all(box for box in known.alternatives)


def test_numbers_are_in_order_and_texts_as_they_come() -> None:
    assert parameter_spaces.ordered([16, 4, 8, 4]) == [4, 8, 16]
    assert parameter_spaces.ordered(["half", "float", "half"]) == ["half", "float"]
    assert parameter_spaces.ordered([True, False]) == [True, False]


def test_thousands_of_values_are_no_error_and_take_no_time() -> None:
    """2^4000 conditions of the form `k in {…}` are no float; with bounds as lists of values this took minutes."""
    space: dict[str, list[Any]] = {"k": list(range(4000)), "real": ["float", "double"]}
    assert found(lambda case: case["k"] % 10 > 0, space) is None
    assert texts(found(lambda case: case["k"] > 1500, space)) == [["k > 1500"]]
    assert texts(found(lambda case: case["k"] > 1500 and case["k"] != 1700, space)) == [["k > 1500"]]

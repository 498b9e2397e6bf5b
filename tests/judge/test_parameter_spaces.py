from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from gpuregress.foundation.records import Fault, Outcome, ParameterSpace, Verdict, from_json, to_json
from gpuregress.judge import parameter_spaces

TILES, BLOCKS = (4, 8, 16, 32), (16, 32, 64, 128)


def verdict(status: str, tile: int, block: int, **changes: Any) -> Verdict:
    name = f"conv/tile={tile},block={block}"
    values: dict[str, Any] = {"job": "conv", "case": name, "status": status, "exit_code": int(status != "pass")}
    return Verdict(**{**values, "parameters": {"tile": tile, "block": block}, **changes})


def space(status: Callable[[int, int], str], **changes: Any) -> ParameterSpace:
    verdicts = [
        verdict(status(tile, block), tile, block, **changes) for tile, block in itertools.product(TILES, BLOCKS)
    ]
    (made,) = parameter_spaces.summarize(verdicts)
    return made


def test_the_values_that_failures_share_are_in_one_line_and_the_simplest_case_comes_first() -> None:
    (group,) = space(lambda tile, block: "differ" if tile > 8 and block > 32 else "pass").failures
    assert group.text == "every failing case has tile > 8 and block > 32"
    assert group.cases[0] == "conv/tile=16,block=64"
    assert (len(group.cases), group.covered, group.exceptions, group.compared) == (4, 4, 0, 12)


def test_passing_cases_with_these_values_are_told() -> None:
    (group,) = space(lambda tile, block: "differ" if tile > 8 and block != 128 else "pass").failures
    assert group.text == "every failing case has tile > 8 and block <= 64"
    (group,) = space(lambda tile, block: "differ" if tile > 8 and (tile, block) != (16, 32) else "pass").failures
    assert group.text == "every failing case has tile > 8; 1 of 8 such cases passes"


@pytest.mark.parametrize("failing", [1, 2, 3])
def test_a_few_failures_are_not_summarized(failing: int) -> None:
    assert not space(lambda tile, block: "differ" if tile == 4 and block < 16 << failing else "pass").failures


def test_cases_that_failed_in_another_way_are_not_among_such_cases() -> None:
    fault = Outcome("", "fault", Fault("trap", "x"))
    values = list(itertools.product((*TILES, 64), (*BLOCKS, 256)))
    verdicts = [
        verdict("fault", tile, block, outcome=fault, exit_code=3)
        if (tile, block) == (64, 256)
        else verdict("differ" if tile > 8 and (tile, block) != (16, 32) else "pass", tile, block)
        for tile, block in values
    ]
    (made,) = parameter_spaces.summarize(verdicts)
    assert made.failures[0].text == "every failing case has tile > 8; 1 such case passes"


def test_true_is_another_value_than_1() -> None:
    values = [(flag, block) for flag in (1, True) for block in (*BLOCKS, 256, 512)]
    verdicts = [
        verdict("differ" if flag is True else "pass", flag, block, parameters={"flag": flag, "block": block})
        for flag, block in values
    ]
    (made,) = parameter_spaces.summarize(verdicts)
    assert made.failures[0].text == "every failing case has flag = true"
    assert made.parameters["flag"] == ("1", "true")


def test_a_few_failures_of_another_kind_make_a_group_not_the_only_one() -> None:
    fault = Outcome("", "fault", Fault("trap", "x"))
    cases = [
        verdict("differ" if tile == 4 else "pass", tile, block) for tile, block in itertools.product(TILES, BLOCKS)
    ]
    assert parameter_spaces.summarize(cases)[0].failures[0].is_only
    cases[-1] = verdict("fault", 32, 128, outcome=fault, exit_code=3)
    (group,) = parameter_spaces.summarize(cases)[0].failures
    assert (group.is_only, group.way) == (False, "differ")


def test_faults_and_differences_are_groups_of_their_own() -> None:
    fault = Outcome("", "fault", Fault("out-of-bounds", "x"))
    verdicts = [
        verdict("fault", tile, block, outcome=fault, exit_code=3)
        if block == 128
        else verdict("differ" if tile == 4 else "pass", tile, block)
        for tile, block in itertools.product((*TILES, 64), (*BLOCKS, 256))
    ]
    (made,) = parameter_spaces.summarize(verdicts)
    assert [(one.status, one.fault, one.text) for one in made.failures] == [
        ("fault", "out-of-bounds", "every failing case has block = 128"),
        ("differ", "", "every failing case has tile = 4"),
    ]


def test_a_new_case_is_no_passing_one_for_differences() -> None:
    (group,) = space(lambda tile, _block: "differ" if tile == 4 else "new").failures
    assert group.text == "no case passes that the failing ones could be compared with"
    (group,) = space(lambda tile, _block: "fault" if tile == 4 else "new").failures
    assert group.text == "every failing case has tile = 4"


def test_where_all_fail_no_parameter_is_blamed() -> None:
    (group,) = space(lambda tile, _block: "skip" if tile == 4 else "error").failures
    assert group.text == "all 12 cases fail, so no parameter explains it"


def test_where_nothing_tells_them_apart_no_parameter_is_blamed() -> None:
    (group,) = space(
        lambda tile, block: "differ" if (tile // 4).bit_length() == (block // 16).bit_length() else "pass"
    ).failures
    assert group.text == "no parameter values distinguish the 4 failing cases from the 12 others"
    assert group.alternatives == ()


def test_faults_among_cases_that_differ() -> None:
    (group, _) = space(
        lambda tile, block: "fault" if (tile == 4 and block != 64) or (tile == 8 and block == 16) else "differ"
    ).failures[::-1]
    assert group.status == "fault"
    assert "cases do not fail in this way" in group.text or "distinguish" in group.text


def test_the_grid_adds_up_the_other_parameters() -> None:
    grid = space(lambda tile, block: "differ" if tile == 4 and block > 32 else "pass").grid
    assert grid is not None
    assert (grid.x, grid.y, grid.x_values, grid.y_values) == ("tile", "block", TILES, BLOCKS)
    assert grid.rows[0][0] == {"pass": 1}
    assert grid.rows[3][0] == {"differ": 1}
    verdicts = [
        verdict("pass", tile, 16, case=f"c{tile}{pad}{n}", parameters={"n": n, "tile": tile, "pad": pad})
        for tile, pad, n in itertools.product(TILES, (0, 1), range(100))
    ]
    (made,) = parameter_spaces.summarize(verdicts)
    assert made.grid is not None
    assert (made.grid.x, made.grid.y) == ("tile", "pad")  # n has too many values
    assert made.grid.rows[0][0] == {"pass": 100}


def test_a_job_without_a_choice_has_no_space() -> None:
    assert parameter_spaces.summarize([verdict("pass", 4, 16), verdict("error", 4, 16, parameters={})]) == ()
    (made,) = parameter_spaces.summarize([verdict("pass", 4, 16), verdict("pass", 8, 16)])
    assert made.parameters == {"tile": (4, 8)}
    assert made.grid is None


def test_a_space_has_a_json_form() -> None:
    made = space(lambda tile, block: "differ" if tile > 8 and block > 32 else "pass")
    assert from_json(ParameterSpace, to_json(made)) == made

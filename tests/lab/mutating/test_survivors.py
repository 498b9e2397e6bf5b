"""Checks of races: only on cases that pass them unchanged, which are tried once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pytest

from gpuregress.foundation.records import Case
from gpuregress.gpu.records import replace
from gpuregress.lab.mutating.mutants import Edit, Mutant
from gpuregress.lab.mutating.programs import Variation
from gpuregress.lab.mutating.survivors import RaceChecks, SurvivorProbes
from gpuregress.lab.mutating.trials import TrialResult, TrialState
from tests import fakes

CASES = [fakes.case("double", name=f"job/{n}") for n in (1, 2)]
MUTANTS = [Variation(name, files={"/k.cu": name}, is_compared=True) for name in ("m1", "m2")]


def checked(
    racing: tuple[str, ...], cases: Sequence[Case] = CASES, late: tuple[str, ...] = ()
) -> tuple[list[Variation], list[TrialResult | None]]:
    """The trials of two mutants, and what was told of them, where these unchanged cases have a race."""
    tried: list[Variation] = []

    def attempt(variation: Variation, listen: Callable[[TrialResult], None]) -> None:
        tried.append(variation)
        is_race = not variation.is_unchanged or variation.cases[0] in racing
        if variation.is_unchanged and variation.cases[0] in late:
            listen(TrialResult("timed out"))
        else:
            listen(TrialResult("killed", fault="race") if is_race else TrialResult("survived"))

    results: list[TrialResult | None] = []
    races = RaceChecks(cases, attempt)
    for mutant in MUTANTS:
        races.check(mutant, results.append)
    return tried, results


def test_unchanged_cases_are_tried_once_and_those_with_a_race_are_left_out() -> None:
    tried, results = checked(("job/1",))
    assert [(one.is_unchanged, one.checks, one.cases) for one in tried] == [
        (True, ("races",), ("job/1",)),
        (True, ("races",), ("job/2",)),
        (False, ("races",), ("job/2",)),
        (False, ("races",), ("job/2",)),
    ]
    assert results == [TrialResult("killed", fault="race")] * 2
    assert not any(one.is_compared for one in tried)


def test_where_every_unchanged_case_has_a_race_no_mutant_is_tried() -> None:
    tried, results = checked(("job/1", "job/2"))
    assert all(one.is_unchanged for one in tried)
    assert results == [None, None]


def test_a_case_that_expects_a_fault_or_is_too_slow_with_the_check_is_left_out() -> None:
    faulty = replace(fakes.case("double", name="job/3"), expect_fault="trap")
    tried, _ = checked((), [*CASES, faulty], late=("job/2",))
    assert [one.cases for one in tried] == [("job/1",), ("job/2",), ("job/1",), ("job/1",)]


INFECTION, EXACT, ROUGH = ((Edit(0, 0, text),) for text in ("infection", "exact", "rough"))


TRAPPED = TrialResult("killed", fault="trap")


def probed(states: Mapping[str, TrialState | TrialResult], *, has_infection: bool = True) -> tuple[list[str], str]:
    """The probes that are run, and the reason, where each has a result."""
    tried: list[str] = []

    def attempt(_name: str, _mutant: Mutant, edits: Sequence[Edit], listen: Callable[[TrialResult], None]) -> None:
        tried.append(edits[0].text)
        result = states[edits[0].text]
        listen(result if isinstance(result, TrialResult) else TrialResult(result))

    probes = SurvivorProbes(attempt)
    infection = INFECTION if has_infection else ()
    probes.probe(7, Mutant("constant", "k.ptx", 1, "1", "2", (Edit(0, 1, "2"),), (EXACT, ROUGH), infection))
    return tried, probes.reason(7)


@pytest.mark.parametrize(
    ("states", "tried", "reason"),
    [
        ({"infection": TRAPPED}, ["infection"], "another value, same results"),
        ({"infection": "survived", "exact": TRAPPED}, ["infection", "exact"], "same value in every case"),
        ({"infection": "survived", "exact": "survived"}, ["infection", "exact"], "never executed"),
        ({"infection": "not valid", "exact": TRAPPED}, ["infection", "exact"], "no case noticed"),
        (
            {"infection": "trouble", "exact": "not valid", "rough": "survived"},
            ["infection", "exact", "rough"],
            "never executed",
        ),
        (
            {"infection": "timed out", "exact": "killed", "rough": TRAPPED},
            ["infection", "exact", "rough"],
            "no case noticed",
        ),
        (
            {"infection": "killed", "exact": "timed out", "rough": "survived"},
            ["infection", "exact", "rough"],
            "never executed",
        ),
        ({"infection": "trouble", "exact": "equal"}, ["infection", "exact"], "never executed"),
        ({"infection": "cut", "exact": "cut", "rough": "cut"}, ["infection", "exact", "rough"], "no case noticed"),
    ],
)
def test_the_reason_of_a_survivor(
    states: Mapping[str, TrialState | TrialResult], tried: list[str], reason: str
) -> None:
    assert probed(states) == (tried, reason)


def test_a_change_whose_effect_cannot_be_compared_is_only_looked_for() -> None:
    assert probed({"exact": TRAPPED}, has_infection=False) == (["exact"], "no case noticed")
    assert probed({"exact": "survived"}, has_infection=False) == (["exact"], "never executed")

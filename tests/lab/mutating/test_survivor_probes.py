"""Probes of survivors: an infection tells that the place is reached; what cannot be run says nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pytest

from gpuregress.lab.mutating.mutants import Edit, Mutant
from gpuregress.lab.mutating.survivors import SurvivorProbes
from gpuregress.lab.mutating.trials import TrialResult, TrialState

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

"""States of trials, with what each means for the score, and reasons why mutants survive."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from gpuregress.foundation.errors import CompileError, CompilerStopped, GpuregressError, LaunchRefused, UnsupportedError
from gpuregress.foundation.records import Outcome, Verdict

TrialState = Literal["killed", "survived", "timed out", "equal", "equivalent", "not valid", "trouble", "cut"]
"""`equal`: the same PTX; `equivalent`: the same optimised code; `not valid`: the compiler or the device refuses it;
`trouble`: it could not be run for another reason, such as a full disk; `cut`: the time was over before all cases had
run, and those that ran passed."""

Listed = Literal["killed", "survived", "timed out", "not valid"]
"""A list of the report."""

LISTS: Mapping[TrialState, Listed] = {
    "killed": "killed",
    "survived": "survived",
    "timed out": "timed out",
    "equal": "survived",
    "equivalent": "survived",
    "not valid": "not valid",
    "trouble": "not valid",
    "cut": "survived",
}
"""State of a trial → the list of the report that has its mutant."""

NOTICED: tuple[TrialState, ...] = ("killed", "timed out")
"""The states of mutants that a case noticed."""

ALIVE: tuple[TrialState, ...] = ("survived", "cut")
"""The states of mutants that count, and that no case noticed."""

SAME: tuple[TrialState, ...] = ("equal", "equivalent")
"""The states of mutants that are the same program, and do not count."""

UNUSABLE: tuple[TrialState, ...] = ("not valid", "trouble", "cut")
"""The states of variations other than mutants that say nothing."""

REPRODUCIBLE: tuple[TrialState, ...] = ("killed", "survived", "equal", "equivalent", "not valid")
"""The states that the content alone decides: neither the load of the machine nor trouble with it."""

Reason = Literal[
    "never executed",
    "equal PTX",
    "equal optimised code",
    "same value in every case",
    "another value, same results",
    "within the tolerance",
    "only --check races notices it",
    "no case noticed",
    "time was over",
]
"""The reason why a mutant lives."""

EQUIVALENT: tuple[Reason, ...] = ("equal PTX", "equal optimised code")
"""The reasons of mutants that are the same program, and do not count."""

ONLY_CHECKED: Reason = "only --check races notices it"
"""The reason of a data race whose results are right: the job does not run the check, and so would not notice it."""

_OF_ERROR: Mapping[str, TrialState] = {LaunchRefused.__name__: "killed", UnsupportedError.__name__: "not valid"}
"""Error of a case → the state; others are trouble of the machine, the device or the job's functions."""


def of_error(error: GpuregressError) -> TrialState:
    """Return the state of a variation that has no program."""
    is_refusal = isinstance(error, CompileError | UnsupportedError) and not isinstance(error, CompilerStopped)
    return "not valid" if is_refusal else "trouble"


def of_verdict(reached: Verdict, outcome: Outcome) -> TrialState:
    """Return the state of a variation that did not pass a case."""
    if outcome.state == "error":
        return _OF_ERROR.get(outcome.observations.error, "trouble")
    is_crash = outcome.fault is not None and outcome.fault.kind == "crash"  # lack of memory may be its cause
    if reached.status == "error" or is_crash:  # a comparison fails where a dump cannot be read
        return "trouble"
    return "timed out" if reached.status == "timeout" else "killed"

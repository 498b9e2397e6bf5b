"""Order of the cases of a night: recent failures, cases that never ran, those that waited longest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpuregress.foundation.records import Case, EarlierVerdict


def ordered(cases: Sequence[Case], last: Mapping[str, EarlierVerdict]) -> tuple[Case, ...]:
    """Order the cases of a night; equal ones stay as they are.

    Args:
        cases: in the order of the plan.
        last: case → its last verdict; a case without one has never run, or not for some nights.
    """

    def rank(case: Case) -> tuple[int, int, str]:
        verdict = last.get(case.name)
        if verdict is None:
            return 1, 0, ""
        return (0, 0, "") if verdict.has_failed else (2, verdict.number, verdict.started)

    return tuple(sorted(cases, key=rank))

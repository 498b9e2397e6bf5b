"""Repeated timeouts of one kernel, after which its other cases are skipped."""

from __future__ import annotations

from collections import defaultdict

from gpuregress.foundation.records import Case, Outcome, RunKind

AT_NIGHT = 3
"""Timeouts of one kernel at night, where neither job nor project say."""
_NAMED = 3

_Kernel = tuple[str, str]


class RepeatedTimeouts:
    """The kernels that timed out in a run.

    Args:
        kind: of the run: an attended run has no limit of its own.
    """

    def __init__(self, kind: RunKind) -> None:
        self._default = AT_NIGHT if kind == "nightly" else 0
        self._cases: defaultdict[_Kernel, list[str]] = defaultdict(list)

    def note(self, case: Case, outcome: Outcome | None) -> None:
        """Count the timeout of a case.

        Args:
            case: that timed out.
            outcome: names the launch. Where it is none of the case's own, a case of one kernel counts for that.
        """
        position = outcome.fault.position if outcome is not None and outcome.fault is not None else None
        kernels = list(dict.fromkeys(_kernels(case)))
        if position is not None and position < len(case.launches):
            kernels = [list(_kernels(case))[position]]
        if len(kernels) == 1:
            self._cases[kernels[0]].append(case.name)

    def reason(self, case: Case) -> str:
        """Say why a case should not run; "" where it should."""
        limit = case.limits.timeouts or self._default
        for source, kernel in dict.fromkeys(_kernels(case)) if limit else ():
            cases = self._cases.get((source, kernel), [])
            if len(cases) >= limit:
                named = ", ".join(cases[:_NAMED])
                more = f" and {len(cases) - _NAMED} more" if len(cases) > _NAMED else ""
                return (
                    f"not run: {kernel} timed out {len(cases)} times, in {named}{more} (limits: {{timeouts: {limit}}})"
                )
        return ""


def _kernels(case: Case) -> list[_Kernel]:
    """The kernel of each launch, with its source."""
    return [(case.sources[launch.source].path, launch.kernel) for launch in case.launches]

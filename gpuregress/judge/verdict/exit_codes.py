"""Exit codes of verdicts and of runs."""

from __future__ import annotations

from collections.abc import Iterable

from gpuregress.foundation import errors
from gpuregress.foundation.records import Outcome, Status, Verdict

EXIT_CODES: dict[Status, int] = {"pass": 0, "differ": 1, "new": 1, "fault": 3, "timeout": 3, "error": 4, "skip": 0}
_USERS = errors.CompileError.exit_code
EXIT_PRECEDENCE = (4, 3, 2, 1, 5, 0)
"""Exit codes, the most severe first."""


def exit_code(verdicts: Iterable[Verdict], *, vanished: bool = False, has_lost_device: bool = False) -> int:
    """The run's exit code: the most severe of its cases'; 5 where nothing was run.

    Args:
        verdicts: on its cases.
        vanished: whether a case is missing, had no turn or was held back, which counts as 1.
        has_lost_device: whether a device is gone, which counts as 4.
    """
    ran = [verdict for verdict in verdicts if verdict.status != "skip" or verdict.known is not None]
    codes = {verdict.exit_code for verdict in ran} or {5}
    codes |= {1} if vanished else set()
    codes |= {EXIT_CODES["error"]} if has_lost_device else set()
    return next((code for code in EXIT_PRECEDENCE if code in codes), max(codes))


def exit_code_of(status: Status, outcome: Outcome) -> int:
    """The status's; 3 where the user's own code could not be run, as for a kernel that the device cannot compile."""
    kind = getattr(errors, outcome.observations.error, None) if status == "error" else None
    is_users = kind is not None and issubclass(kind, errors.GpuregressError) and kind.exit_code == _USERS
    return _USERS if is_users else EXIT_CODES[status]

"""Watchdog of one worker: its phase, the deadline of that phase, and the steps that end it.

A job's `limits.timeout` covers its launches and nothing else: compiling, translating, filling, reading and dumping have
one large limit of their own, so that a cold cache or a slow disk is never taken for a kernel that hangs. Each Python
function of the job (a fill, a reference) has the case's limit again.

Launches of code that is not optimised are tried for a moment. Where that is too short, the case is run again with
optimised code, under its own limit.
"""

from __future__ import annotations

import enum
import time

from gpuregress.gpu.records import MutableRecord

STARTING_S = 120.0
TRYING_S = 2.0
PREPARING_S = 900.0
SAVING_S = 900.0
CHECKING_S = 1800.0
TERMINATE_GRACE_S = 2.0
KILL_GRACE_S = 10.0


class Phase(enum.StrEnum):
    """Phase of a worker."""

    STARTING = "starting"
    IDLE = "idle"
    PREPARING = "preparing"
    LAUNCHING = "launching"
    TRYING = "trying"
    WATCHING = "watching"
    REFERENCE = "launching the reference of"
    SAVING = "saving"
    COMPUTING = "computing"
    CHECKING = "checking"
    TERMINATED = "terminated"
    KILLED = "killed"


LAUNCHES = (Phase.LAUNCHING, Phase.TRYING, Phase.WATCHING, Phase.REFERENCE)
"""Phases in which a kernel runs; in the last one a trusted kernel, not the case's own."""


def patience(*deadlines: float | None) -> float | None:
    """Seconds until the first of some moments of time.monotonic; None where none is known."""
    moments = [moment for moment in deadlines if moment is not None]
    if not moments:
        return None
    return max(0.0, min(moments) - time.monotonic())


class Step(enum.Enum):
    """Next step of the parent for a worker whose time is over."""

    WAIT = enum.auto()
    TERMINATE = enum.auto()
    KILL = enum.auto()
    GIVE_UP = enum.auto()


class Watch(MutableRecord):
    """The state of one worker's clock.

    Attributes:
        phase: of the worker.
        deadline: when that must be over, seconds on the caller's clock; None: never.
        late: the phase whose limit was passed, None while all is well.
        limit: seconds that the current (or late) phase may take.
        began: when the phase did.
    """

    phase: Phase
    deadline: float | None = None
    late: Phase | None = None
    limit: float = 0.0
    began: float = 0.0

    def enter(self, phase: Phase, now: float, timeout: float = 0.0) -> None:
        """Begin a phase.

        Args:
            phase: the new phase.
            now: seconds on the caller's clock.
            timeout: the case's own limit, for phases in which kernels or functions of the job run.
        """
        self.phase, self.began = phase, now
        limits = {
            Phase.STARTING: STARTING_S,
            Phase.PREPARING: PREPARING_S,
            Phase.LAUNCHING: timeout,
            Phase.TRYING: min(timeout, TRYING_S),
            Phase.WATCHING: timeout,
            Phase.REFERENCE: timeout,
            Phase.SAVING: SAVING_S,
            Phase.COMPUTING: timeout,
            Phase.CHECKING: CHECKING_S,
            Phase.TERMINATED: TERMINATE_GRACE_S,
            Phase.KILLED: KILL_GRACE_S,
        }
        if self.late is None:
            self.limit = limits.get(phase, 0.0)
        self.deadline = now + limits[phase] if phase in limits else None

    def is_over(self, now: float) -> bool:
        """Tell whether the time of the phase is over."""
        return self.deadline is not None and now >= self.deadline

    def step(self, now: float) -> Step:
        """Return the step for this moment, and advance to the next stage of ending the worker."""
        if not self.is_over(now):
            return Step.WAIT
        if self.phase is Phase.KILLED:
            self.deadline = None
            return Step.GIVE_UP
        if self.phase is Phase.TERMINATED:
            self.enter(Phase.KILLED, now)
            return Step.KILL
        self.late = self.phase
        self.enter(Phase.TERMINATED, now)
        return Step.TERMINATE

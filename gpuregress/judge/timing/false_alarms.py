"""A/A comparison: each timed case against itself, which measures the rate of false alarms."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gpuregress.foundation.records import FalseAlarms, Outcome, Timing, Verdict
from gpuregress.judge.timing import comparison
from gpuregress.store.baselines import accepted_timings


def measure(verdicts: Iterable[Verdict]) -> FalseAlarms | None:
    """Compare the first half of each timed case's samples with the second; None where no case has samples enough.

    The order is that of time, so a card that warms up meanwhile shows. Times of the CPU device are compared with
    nothing, so they raise no alarms.

    Args:
        verdicts: of a run.
    """
    timed = ((verdict.case, _compared_times(verdict.outcome)) for verdict in verdicts)
    return of_samples((case, timing.samples_ms) for case, timing in timed if timing is not None)


def of_samples(samples: Iterable[tuple[str, Sequence[float]]]) -> FalseAlarms | None:
    """Compare the halves of some samples; None where there are none long enough.

    Args:
        samples: the name of a case, and its samples in the order of time.
    """
    compared, alarms = 0, []
    for case, times in samples:
        differ = comparison.halves_differ(times)
        if differ is not None:
            compared += 1
            alarms += [case] if differ else []
    return FalseAlarms(compared, tuple(alarms)) if compared else None


def _compared_times(outcome: Outcome | None) -> Timing | None:
    if outcome is None or outcome.device is None or accepted_timings.key_of(outcome.device) == accepted_timings.CPU:
        return None
    return outcome.observations.timing


def text(measured: FalseAlarms, what: str = "timed case") -> str:
    """One line: `A/A: 2 of 40 timed cases differ from themselves, …: 5 % false alarms`.

    Args:
        measured: the rate.
        what: one of the things that were compared.
    """
    differ = f"{what} differs from itself" if measured.compared == 1 else f"{what}s differ from themselves"
    return (
        f"A/A: {len(measured.cases)} of {measured.compared} {differ}, the first half of the samples against the "
        f"second: {100 * measured.rate:.3g} % false alarms"
    )

"""Comparison of a case's times with the accepted ones.

On the CPU device the executed instructions are compared, which are exact, and not the time, which is the host's.
"""

from __future__ import annotations

import shlex
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gpuregress.foundation.records import (
    AcceptedTiming,
    Baseline,
    Case,
    FalseAlarms,
    MadeOf,
    Outcome,
    Timing,
    TimingComparison,
    Verdict,
)
from gpuregress.judge import sample_tests
from gpuregress.store.baselines import accepted_timings

if TYPE_CHECKING:
    from gpuregress.judge.sample_tests import RatioInterval


def false_alarms_of(verdicts: Iterable[Verdict]) -> FalseAlarms | None:
    """Compare the first half of each timed case's samples with the second; None where no case has samples enough.

    The order is that of time, so a GPU that warms up meanwhile shows. Times of the CPU device are compared with
    nothing, so they raise no alarms.

    Args:
        verdicts: of a run.
    """
    timed = ((verdict.case, _compared_times(verdict.outcome)) for verdict in verdicts)
    return false_alarms_among((case, timing.samples_ms) for case, timing in timed if timing is not None)


def false_alarms_among(samples: Iterable[tuple[str, Sequence[float]]]) -> FalseAlarms | None:
    """Compare the halves of some samples; None where there are none long enough.

    Args:
        samples: the name of a case, and its samples in the order of time.
    """
    compared, alarms = 0, []
    for case, times in samples:
        differ = halves_differ(times)
        if differ is not None:
            compared += 1
        if differ:
            alarms.append(case)
    if not compared:
        return None
    return FalseAlarms(compared, tuple(alarms))


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
    differ = f"{what}s differ from themselves"
    if measured.compared == 1:
        differ = f"{what} differs from itself"
    return (
        f"A/A: {len(measured.cases)} of {measured.compared} {differ}, the first half of the samples against the "
        f"second: {100 * measured.rate:.3g} % false alarms"
    )


LEVEL = 0.05
"""Probability of an alarm without cause, of all timed cases of a run together."""
MARGIN = 0.02
"""A smaller difference is called `same`: clocks and temperatures differ as much from night to night."""
FEWEST = 5
"""Samples on each side below which nothing is said."""
_NOTABLE = 1.1
"""The ratio that an `unclear` result cannot exclude, where the job has no limit."""
_UNITS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_SMALL = 0.01
"""A change below it is reported in percent."""
_AS_NUMBERS = 10_000
"""Counts below it are written in full."""


def compare(
    case: Case, outcome: Outcome, accepted: Baseline | None, facts: MadeOf, *, tests: int = 1
) -> TimingComparison | None:
    """Compare a case with its baseline; None where there is nothing to compare, and no limit that would go unheeded.

    Args:
        case: what was run.
        outcome: its result on the worker.
        accepted: its baseline; None without one.
        facts: its provenance.
        tests: the timed cases of the run, for each of which the probability of a false alarm is lowered.
    """
    if outcome.device is None or outcome.state != "done" or outcome.fault is not None:
        return None
    key = accepted_timings.key_of(outcome.device)
    loop, timing = case.settings.timing, outcome.observations.timing
    own_limit, before = None, None
    if loop is not None:
        own_limit = loop.limit
    if accepted is not None:
        before = accepted.timings.get(key)
    elif own_limit is None:
        return None
    is_cpu = key == accepted_timings.CPU
    limit = own_limit
    if limit is None:
        limit = case.limits.instructions if is_cpu else case.limits.time
    if is_cpu:
        if before is not None and before.instructions:
            compared = of_instructions(before, outcome, limit)
            if loop is None and compared.status == "same":
                return None
            return compared
        if loop is None:
            return None
        return _not_compared(case, key, "instructions", limit)
    if loop is None or timing is None:
        return None
    if before is None or not before.samples_ms:
        return _not_compared(case, key, "time", limit)
    return of_samples(before, timing, facts, limit, tests=tests)


def _not_compared(case: Case, key: str, measure: Any, limit: float | None) -> TimingComparison:
    what = f"samples of {key}"
    if key == accepted_timings.CPU:
        what = "instruction counts of the cpu device"
    advice = f"`{shlex.join(['gpuregress', 'accept', case.name])}` keeps this run's"
    return TimingComparison("unclear", measure, f"not compared: no accepted {what}; {advice}", limit=limit)


# --- samples ----------------------------------------------------------------------------------------------------------


def of_samples(
    before: AcceptedTiming, timing: Timing, facts: MadeOf, limit: float | None, *, tests: int = 1
) -> TimingComparison:
    """Compare the samples of a timing loop with the accepted ones.

    Args:
        before: the accepted samples, of the same model of device.
        timing: this run's.
        facts: this run's provenance.
        limit: the job's.
        tests: the number of such comparisons in the run.
    """
    expected, actual = before.samples_ms, timing.samples_ms
    needed = _samples_needed(tests)
    if min(len(expected), len(actual)) < needed:
        text = f"unclear: {len(expected)} accepted and {len(actual)} samples, at least {needed} of each are needed"
        if tests > 1:
            text += f" for {tests} timed cases"
        return TimingComparison("unclear", "time", text, limit=limit, revision=before.revision)
    if min(*expected, *actual) <= 0:
        return TimingComparison("unclear", "time", "unclear: a sample is 0 ms", limit=limit, revision=before.revision)
    interval = _interval(expected, actual)
    tested = sample_tests.compare(expected, actual)
    status = judged(interval, tested.p, limit, level=LEVEL / tests)
    fails = status == "slower" and limit is not None and interval.low > limit
    same_code = before.code == facts.code if before.code and facts.code else None
    return TimingComparison(
        status,
        measure="time",
        message=_message(status, interval) + "".join(_explained(before, timing, facts, status, same_code=same_code)),
        fails=fails,
        expected=statistics.median(expected),
        actual=timing.median_ms,
        ratio=interval.ratio,
        low=interval.low,
        high=interval.high,
        p=tested.p,
        effect=tested.effect,
        limit=limit,
        revision=before.revision,
        same_code=same_code,
    )


def judged(interval: RatioInterval, p: float, limit: float | None, *, level: float = LEVEL) -> Any:
    """Return `faster`, `slower`, `same` or `unclear`.

    Args:
        interval: of the ratio of the medians.
        p: of the rank test.
        limit: the job's.
        level: the significance level of this test.
    """
    margin, most = _margin(limit), limit or _NOTABLE
    if p < level and interval.low > 1 + margin:
        return "slower"
    if p < level and interval.high < 1 / (1 + margin):
        return "faster"
    if 1 / most <= interval.low and interval.high <= most:
        return "same"
    return "unclear"


def _margin(limit: float | None) -> float:
    """The part of a time or count by which it may change and is still called `same`."""
    if limit is None:
        return MARGIN
    return min(MARGIN, limit - 1)


def halves_differ(samples: Sequence[float]) -> bool | None:
    """Whether the first half of some samples is called faster or slower than the second; None where there are few."""
    middle = len(samples) // 2
    first, second = samples[:middle], samples[middle:]
    if min(len(first), len(second)) < FEWEST or min(samples) <= 0:
        return None
    p = sample_tests.compare(first, second).p
    return p < LEVEL and judged(_interval(first, second), p, None) in ("faster", "slower")


def _interval(expected: Sequence[float], actual: Sequence[float]) -> RatioInterval:
    return sample_tests.of_medians(expected, actual)


def _samples_needed(tests: int) -> int:
    """The samples on each side without which no difference could be significant."""
    needed = FEWEST
    while sample_tests.smallest_p(needed, needed) >= LEVEL / tests:
        needed += 1
    return needed


def _message(status: str, interval: RatioInterval) -> str:
    ratio, low, high = interval.ratio, interval.low, interval.high
    if status == "faster":
        return f"{1 / ratio:.3g} times faster than accepted (95 % interval {1 / high:.3g} to {1 / low:.3g})"
    if status == "slower":
        return f"{ratio:.3g} times slower than accepted (95 % interval {low:.3g} to {high:.3g})"
    word = "as fast as accepted" if status == "same" else "unclear"
    return f"{word}: {ratio:.3f} times the accepted time (95 % interval {low:.3f} to {high:.3f})"


def _explained(
    before: AcceptedTiming, timing: Timing, facts: MadeOf, status: str, *, same_code: bool | None
) -> list[str]:
    """Further parts of the message: facts that explain a difference."""
    if status not in ("slower", "faster"):
        return []
    parts = []
    if same_code:
        parts.append("; the machine code is the same, so the machine is to blame")
    if before.sm_clock and timing.sm_clock and before.sm_clock != timing.sm_clock:
        parts.append(f"; SM clock {before.sm_clock} → {timing.sm_clock}")
    if before.driver and facts.driver and before.driver != facts.driver:
        parts.append(f"; {before.driver} → {facts.driver.removeprefix('driver ')}")
    if before.card and facts.card and before.card != facts.card:
        parts.append("; on another GPU of this model")
    return parts


# --- instructions -----------------------------------------------------------------------------------------------------


def of_instructions(before: AcceptedTiming, outcome: Outcome, limit: float | None) -> TimingComparison:
    """Compare the executed instructions of the CPU device, which are exact, with the accepted ones.

    Args:
        before: the accepted counts.
        outcome: this run's.
        limit: the job's.
    """
    seen = outcome.observations.instruments
    expected, actual = sum(before.instructions.values()), sum(seen.instructions.values())
    if not expected or not actual or bool(before.uncounted) != bool(seen.uncounted):
        lines = ", ".join(seen.uncounted or before.uncounted)
        where = lines and f" at {lines}"
        text = f"not compared: instructions in loops that wait for other threads{where} are not counted"
        return TimingComparison("unclear", "instructions", text, limit=limit, revision=before.revision)
    ratio = actual / expected
    margin = _margin(limit)
    status: Any = "same"
    if ratio > 1 + margin:
        status = "slower"
    elif ratio < 1 / (1 + margin):
        status = "faster"
    message = _counted(before.instructions, seen.instructions)
    if seen.uncounted:
        message += f"; without the loops that wait for other threads, at {', '.join(seen.uncounted)}"
    return TimingComparison(
        status,
        measure="instructions",
        message=message,
        fails=limit is not None and ratio > limit,
        expected=float(expected),
        actual=float(actual),
        ratio=ratio,
        limit=limit,
        revision=before.revision,
    )


def _counted(before: Mapping[str, int], after: Mapping[str, int]) -> str:
    """`sum: 1.9 M → 1.9 G instructions, 1,000 times as many`; of several kernels, the one that changed most."""
    expected, actual = sum(before.values()), sum(after.values())
    kernels = dict.fromkeys((*before, *after))
    changed = [name for name in kernels if before.get(name, 0) != after.get(name, 0)]
    if not changed:
        return f"as many instructions as accepted: {count_text(actual)}"
    most = max(changed, key=lambda name: abs(after.get(name, 0) - before.get(name, 0)))
    if len(kernels) == 1:
        return f"{most}: {_change(expected, actual)}"
    if len(changed) == 1:
        return f"{most}: {_change(before.get(most, 0), after.get(most, 0))}; all kernels {_times(expected, actual)}"
    return (
        f"{_change(expected, actual)}, most of it in {most}: {_arrow(before.get(most, 0), after.get(most, 0))} "
        f"({len(changed)} of {len(kernels)} kernels changed)"
    )


def _change(expected: int, actual: int) -> str:
    return f"{_arrow(expected, actual)} instructions, {_times(expected, actual)}"


def _arrow(expected: int, actual: int) -> str:
    before, now = count_text(expected), count_text(actual)
    if before == now:
        return f"{expected:,} → {actual:,}"
    return f"{before} → {now}"


def _times(expected: int, actual: int) -> str:
    """`1.42 times as many`; `0.2 % more` where that is clearer."""
    if not expected:
        return "none before"
    ratio = actual / expected
    if 1 < ratio < 1 + _SMALL:
        return f"{100 * (ratio - 1):.2g} % more"
    if 1 - _SMALL < ratio <= 1:
        return f"{100 * (1 - ratio):.2g} % fewer"
    if ratio >= 100:
        return f"{ratio:,.0f} times as many"
    return f"{ratio:.3g} times as many"


def count_text(number: int) -> str:
    """A count with three digits: `1.9 M`."""
    if number >= 1e15:
        return f"{number:.3g}"
    if number >= _AS_NUMBERS:
        for size, unit in _UNITS:
            if number >= size:
                return f"{number / size:.3g} {unit}"
    return f"{number:,}"

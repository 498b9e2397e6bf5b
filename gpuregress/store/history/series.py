"""Series of the results of a case: the order of runs and names, and steps in the times.

A step is where a new level of the times began, and with which commit. Binary segmentation: the cut with the largest
CUSUM statistic of the log times splits the series, if a permutation test says that so large a statistic is no chance,
and each part is searched in turn. Instruction counts are exact, so there each change is a step. A. Sen, M. S.
Srivastava, On Tests for Detecting Change in Mean, Annals of Statistics 3, 1975.
"""

from __future__ import annotations

import bisect
import itertools
import math
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from gpuregress.foundation.records import PastResult, TimingStep

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

FAILING = frozenset(("differ", "new", "fault", "timeout", "error"))
"""Statuses that fail a night."""


def moments(runs: Iterable[tuple[int, str, bool]]) -> dict[int, str]:
    """Return the moment of each run in the order of the history: number of the run → ISO 8601, UTC.

    Runs of this project come in the order in which they were written, whatever the clock of the host said. Most clocks
    are right: a run outside of the longest series of starts in this order has the moment of the run of it before. So
    neither a run of the future nor one of the past moves the others. Imported runs were written elsewhere, and have
    their start.

    Args:
        runs: of each run its number, which grows with each run that is written, its start, and whether it was imported.
    """
    by_number = sorted(runs)
    own = [(number, started) for number, started, is_imported in by_number if not is_imported]
    found = {number: started for number, started, is_imported in by_number if is_imported}
    in_order = _longest_in_order([started for _, started in own])
    if not in_order:
        return found
    moment = own[in_order[0]][1]  # that of runs before the first one in order
    kept = set(in_order)
    for place, (number, started) in enumerate(own):
        if place in kept:
            moment = started
        found[number] = moment
    return found


def _longest_in_order(texts: Sequence[str]) -> list[int]:
    """The places of the longest series of texts none of which is less than the one before it, in their order."""
    ends: list[int] = []  # of the series of each length the place where it ends, with the least text possible
    before: list[int | None] = []
    for place, text in enumerate(texts):
        length = bisect.bisect_right(ends, text, key=texts.__getitem__)
        before.append(None)
        if length:
            before[place] = ends[length - 1]
        ends[length : length + 1] = [place]
    series: list[int] = []
    for end in ends[-1:]:
        last: int | None = end
        while last is not None:
            series.append(last)
            last = before[last]
    return series[::-1]


def device_kind(device: str) -> str:
    """Return `cuda` of `cuda:3`: cases move between the GPUs of a host."""
    return device.partition(":")[0]


_NUMBER = re.compile(r"([0-9]+)")
NaturalKey = tuple[tuple[tuple[tuple[int, str], ...], ...], str]


def natural_key(name: str) -> NaturalKey:
    """Return a sort key: by job, then by parameters; names that differ in leading zeros alone keep a fixed order."""
    return tuple(map(_part_key, name.split("/"))), name


def _part_key(part: str) -> tuple[tuple[int, str], ...]:
    key: list[tuple[int, str]] = []
    for number, word in enumerate(_NUMBER.split(part)):
        is_number = number % 2 == 1
        key.append((int(word), "") if is_number else (-1, word))
    return tuple(key)


LEVEL = 0.01
"""Probability of a step without cause, in one series."""
SHORTEST = 3
"""Results that a level has at least: a single slow night is none."""
SMALLEST = 0.02
"""Steps of less are not reported."""
_PERMUTATIONS = 999
_SEED = 20261122
"""Any number: the same history has the same steps in every report."""


def find_steps(past: Sequence[PastResult]) -> tuple[TimingStep, ...]:
    """The steps of a case on one model of device, the oldest first.

    Args:
        past: its results on one kind of device, the newest first; those on another model than the newest are left out.
    """
    measure = _measure(past)
    series = []
    values = []
    for result in reversed(_of_newest_model(past)):
        value = _value(result, measure)
        if value:
            series.append(result)
            values.append(value)
    if len(series) < 2:
        return ()
    if measure == "instructions":
        cuts = [number for number in range(1, len(values)) if values[number] != values[number - 1]]
    else:
        cuts = sorted(_cuts(values, 0, len(values)))
    levels = [_median(values[start:end]) for start, end in itertools.pairwise((0, *cuts, len(values)))]
    steps = []
    for cut, (before, after) in zip(cuts, itertools.pairwise(levels), strict=True):
        if abs(math.log(after / before)) > math.log1p(SMALLEST):
            steps.append(TimingStep(measure, before, after, ratio=after / before, first=series[cut]))
    return tuple(steps)


def level_since(
    past: Iterable[PastResult], measure: Literal["time", "instructions"], expected: float, actual: float
) -> PastResult | None:
    """The first result of the unbroken series that is nearer to the present level than to the accepted one.

    Args:
        past: results of the case on one model of device, the newest first, without the present one.
        measure: what is compared.
        expected: the accepted level: ms, or instructions.
        actual: the present one.

    Returns:
        None where the newest of them is nearer to the accepted level: it began now.
    """
    first, middle = None, math.sqrt(expected * actual)
    for result in past:
        value = _value(result, measure)
        if value is None:
            continue
        if (value > middle) != (actual > middle):
            break
        first = result
    return first


def _measure(past: Sequence[PastResult]) -> Literal["time", "instructions"]:
    return "instructions" if past and past[0].instructions else "time"


def _of_newest_model(past: Sequence[PastResult]) -> list[PastResult]:
    is_counted = _measure(past) == "instructions"  # the same on each host
    return [result for result in past if is_counted or result.model == past[0].model]


def _value(result: PastResult, measure: str) -> float | None:
    """Instructions, or the median of the samples in ms; the time of a single launch holds too much of the host."""
    if measure == "instructions" and result.instructions:
        return float(result.instructions)
    if measure == "time" and result.samples and min(result.samples) > 0:
        return 1000 * _median(result.samples)
    return None


def _median(values: Sequence[float]) -> float:
    """As `statistics.median`, whose module takes longer to import than all of the history."""
    ordered, middle = sorted(values), len(values) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2


def _cuts(values: Sequence[float], start: int, end: int) -> list[int]:
    """The numbers of the values at which new levels begin, between `start` and `end` (exclusive)."""
    if end - start < 2 * SHORTEST:
        return []

    logs = np.log(np.asarray(values[start:end], np.float64))
    statistics = _statistics(logs[np.newaxis])[0]
    cut = int(statistics.argmax())
    random = np.random.default_rng(_SEED)
    shuffled = random.permuted(np.tile(logs, (_PERMUTATIONS, 1)), axis=1)
    larger = int((_statistics(shuffled).max(axis=1) >= statistics[cut] * (1 - 1e-12)).sum())
    if (larger + 1) / (_PERMUTATIONS + 1) > LEVEL:
        return []
    at = start + SHORTEST + cut
    return [*_cuts(values, start, at), at, *_cuts(values, at, end)]


def _statistics(rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The CUSUM statistic of each cut that leaves `SHORTEST` values on both sides: a scaled difference of means."""
    count = rows.shape[1]
    sizes = np.arange(SHORTEST, count - SHORTEST + 1)
    sums = np.cumsum(rows, axis=1)
    before = sums[:, sizes - 1] / sizes
    after = (sums[:, -1:] - sums[:, sizes - 1]) / (count - sizes)
    scaled: npt.NDArray[np.float64] = np.abs(before - after) * np.sqrt(sizes * (count - sizes) / count)
    return scaled

"""Source lines at which the errors of a case arise.

The case runs once in higher precision throughout, then once for each source line with the rounding errors of that line
alone. What its results then differ by is that line's part, with all that the instructions after it make of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from msgspec import field

from gpuregress.execution.runner.dumps import BufferReader
from gpuregress.execution.runner.launch_reports import path_of
from gpuregress.foundation import dtypes
from gpuregress.foundation.dtypes import ElementType, Part, Scalar
from gpuregress.foundation.numeric.ordinals import spacing
from gpuregress.foundation.records import BufferAccuracy, Case, ResultAccuracy
from gpuregress.gpu.base import Bytes, Device, LaunchReport, Shadow
from gpuregress.gpu.instruments import Cancellation, InaccurateElement, LineError, Place, Restart, RoundingSite
from gpuregress.gpu.records import MutableRecord, Record, replace

Doubles = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
_BOUNDS = (0.0, 0.5, 1.0, 2.0, 4.0, 16.0, 256.0, 65536.0, float(2**53))
_MOST_WORST = 5
_PLAIN_DIGITS = 5
_DECIMALS = {"float64": 17, "float32": 9, "float16": 5, "bfloat16": 4}
"""Scalar → decimal digits that distinguish its numbers."""


class FloatParts(Record):
    """The parts of an element that are of one floating-point type.

    A scalar has one part, a float4 has four. A record has some for each of its floating-point types.

    Attributes:
        element: the whole element.
        scalar: the type of the parts.
    """

    element: ElementType
    scalar: Scalar

    @property
    def parts(self) -> tuple[Part, ...]:
        """Those parts, in the order of memory."""
        return tuple(part for part in self.element.parts if part.scalar == self.scalar)

    def slots(self, elements: int) -> npt.NDArray[np.int64]:
        """The positions of the parts of all elements in their memory, in units of the scalar's size."""
        starts = np.arange(elements, dtype=np.int64) * self.element.size
        offsets = np.array([part.offset for part in self.parts], np.int64)
        slots: npt.NDArray[np.int64] = ((starts[:, None] + offsets) // self.scalar.size).reshape(-1)
        return slots

    def values(self, data: Bytes) -> Doubles:
        """The parts of all elements as doubles, exactly.

        Args:
            data: the memory of the elements.
        """
        numbers = data.view(self.scalar.storage)[self.slots(len(data) // self.element.size)]
        return dtypes.to_float(numbers, self.scalar).astype(np.float64)


def float_parts(element: ElementType) -> tuple[FloatParts, ...]:
    """The parts of each floating-point type of an element; empty where it has none."""
    scalars = dict.fromkeys(part.scalar for part in element.parts if part.scalar.is_float)
    return tuple(FloatParts(element, scalar) for scalar in scalars)


class Errors(Record):
    """The errors of parts of a buffer's elements.

    Attributes:
        values: the kernel's.
        shadow: the same in higher precision.
        ulp: distance of neighbouring numbers at the larger of the two.
        distance: of the two in ulp; 0 where it is not finite or there is no shadow.
        broken: elements with only one finite value.
        never_finite: elements that are NaN or infinite in both.
    """

    values: Doubles
    shadow: Shadow
    ulp: Doubles
    distance: Doubles
    broken: Flags
    never_finite: Flags


def measure(values: Doubles, shadow: Shadow, scalar: Scalar) -> Errors:
    """Compare numbers with their values in higher precision.

    A value beyond the format's range is infinite in it: that is its rounding.
    """
    exact = np.where(np.abs(shadow.high) > scalar.largest, np.copysign(np.inf, shadow.high), shadow.high)
    exact = np.where(np.isfinite(values), shadow.high, exact)
    finite = np.isfinite(values) & np.isfinite(shadow.high)
    same = (values == exact) | (np.isnan(values) & np.isnan(exact))
    with np.errstate(invalid="ignore", over="ignore"):
        ulp = spacing(np.where(finite, np.maximum(np.abs(values), np.abs(shadow.high)), 1.0), scalar)
        distance = np.abs((values - shadow.high) - shadow.low) / ulp
    distance = np.where(finite & shadow.known, distance, 0.0)
    return Errors(
        values=values,
        shadow=shadow,
        ulp=ulp,
        distance=distance,
        broken=shadow.known & ~finite & ~same,
        never_finite=shadow.known & ~finite & same,
    )


def summarize(name: str, of: FloatParts, shape: tuple[int, ...], errors: Errors) -> BufferAccuracy:
    """The errors of a buffer's parts in a few numbers."""
    known = errors.shadow.known & ~errors.broken & ~errors.never_finite
    distances = errors.distance[known]
    percentiles = [0.0] * 4
    if distances.size:
        percentiles = np.percentile(distances, (50, 90, 99, 100)).tolist()
    counts = np.bincount(np.searchsorted(_BOUNDS, distances), minlength=len(_BOUNDS) + 1)
    bounds = (*_BOUNDS, percentiles[-1])
    order = np.lexsort((-errors.distance, ~errors.broken))[:_MOST_WORST].tolist()
    worst = [slot for slot in order if errors.broken[slot] or errors.distance[slot] > 0]
    return BufferAccuracy(
        name,
        of.element.name,
        "double-double" if of.scalar.name == "float64" else "float64",
        elements=len(errors.values),
        tracked=int(errors.shadow.known.sum()),
        not_finite=int(errors.broken.sum()),
        never_finite=int(errors.never_finite.sum()),
        median=percentiles[0],
        p90=percentiles[1],
        p99=percentiles[2],
        largest=percentiles[3],
        histogram=tuple((bound, int(count)) for bound, count in zip(bounds, counts, strict=True) if count),
        worst=tuple(_element(slot, of, shape, errors) for slot in worst),
    )


def _element(slot: int, of: FloatParts, shape: tuple[int, ...], errors: Errors) -> InaccurateElement:
    digits = _DECIMALS[of.scalar.name]
    number, part = divmod(slot, len(of.parts))
    return InaccurateElement(
        index=tuple(int(coordinate) for coordinate in np.unravel_index(number, shape)),
        value=f"{float(errors.values[slot]):.{digits}g}",
        exact=_decimal(float(errors.shadow.high[slot]), float(errors.shadow.low[slot]), digits + 4),
        ulp=float(errors.distance[slot]),
        part=of.parts[part].name,
    )


def _decimal(high: float, low: float, digits: int) -> str:
    """The sum of two doubles with that many digits."""
    if not np.isfinite(high) or not low:
        return f"{high:.{min(digits, 17)}g}"
    total = Fraction(high) + Fraction(low)
    number = Context(prec=digits).divide(Decimal(total.numerator), Decimal(total.denominator))
    if -_PLAIN_DIGITS < number.adjusted() < digits:
        return f"{number.normalize():f}"
    return f"{number:.{digits - 1}e}"


Line = tuple[str, int]
Parts = tuple[str, FloatParts]
"""A buffer, and the parts of its elements that are of one floating-point type."""
Again = Callable[[Callable[[BufferReader], None]], None]
FEW = 16
"""Lines that run one by one; more are measured in as many groups first."""
_NOTICEABLE = 2.0
"""Error of a result in ulp up to which no cancellation has done harm."""
_LEAST_SHARE = 0.01
"""The part of all errors below which a group is not taken apart."""


class AccuracyRuns(MutableRecord):
    """The runs of a case beside higher precision.

    Attributes:
        device: on which it runs.
        case: what runs.
        sites: source's position and instruction → what the first run has found of it.
        errors: parts of a buffer's elements → their errors.
        lost: shadows for which there was no room.
    """

    device: Device
    case: Case
    sites: dict[tuple[int, str, Place, str], RoundingSite] = field(default_factory=dict)
    errors: dict[Parts, Errors] = field(default_factory=dict)
    lost: int = 0

    def note(self, report: LaunchReport, source: int) -> None:
        """Add what a launch of the first run has found."""
        self.lost += report.shadows_lost
        for site in report.roundings:
            key = (source, site.kind, site.place, site.instruction)
            before = self.sites.get(key, RoundingSite(site.kind, site.place))
            self.sites[key] = replace(site, count=before.count + site.count, bits=max(before.bits, site.bits))

    def take(self, result: BufferReader) -> None:
        """Compare the parts of a buffer of the first run that are of floating-point types."""
        data = result.memory.read(0, result.buffer.size)
        for parts, shadow in self._shadows(result):
            errors = measure(parts.values(data), shadow, parts.scalar)
            self.errors[result.buffer.name, parts] = errors

    def _shadows(self, result: BufferReader) -> Iterator[tuple[FloatParts, Shadow]]:
        """The parts of each floating-point type of a buffer, with their values in higher precision."""
        elements = result.buffer.size // result.element.size
        for parts in float_parts(result.element):
            shadow = self.device.shadow(result.memory, parts.scalar.size)
            if shadow is not None:
                slots = parts.slots(elements)
                yield parts, Shadow(shadow.high[slots], shadow.low[slots], shadow.known[slots])

    def result(self, again: Again) -> ResultAccuracy:
        """The accuracy of the case, with further runs for its lines.

        Args:
            again: runs the case and hands over its buffers.
        """
        lines: list[LineError] = []
        if self.errors:
            lines = _Lines(self.device, self.errors, self._places(), again, self._shadows).measured()
        buffers = []
        for (name, parts), errors in self.errors.items():
            buffers.append(summarize(name, parts, tuple(self.case.buffers[name].shape), errors))
        return ResultAccuracy(
            buffers=tuple(buffers),
            lines=tuple(sorted(lines, key=lambda line: -line.share)),
            cancellations=self._cancellations(),
            restarts=self._restarts(),
            lost=self.lost,
        )

    def _line(self, source: int, place: Place) -> Line:
        """The innermost line of an instruction that is in the project's files."""
        for name, line, _ in place:
            path = path_of(name, self.case.sources[source])
            if path:
                return path, line
        return "", 0

    def _places(self) -> dict[Line, set[Place]]:
        """Line → the instructions that round there."""
        places: dict[Line, set[Place]] = {}
        for source, kind, place, _ in self.sites:
            if kind == "rounding":
                places.setdefault(self._line(source, place), set()).add(place)
        return places

    def _cancellations(self) -> tuple[Cancellation, ...]:
        # A cancellation alone is no error: compensated sums cancel rounding errors, and add them later.
        errors = self.errors.values()
        if not any(part.distance.max(initial=0.0) > _NOTICEABLE or part.broken.any() for part in errors):
            return ()
        cancellations: dict[Line, Cancellation] = {}
        for (source, _, place, _), site in self.sites.items():
            if site.kind == "rounding" and site.count:
                line = self._line(source, place)
                before = cancellations.get(line, Cancellation(*line, 0, 0))
                cancellations[line] = Cancellation(*line, before.count + site.count, max(before.bits, site.bits))
        return tuple(cancellations[line] for line in sorted(cancellations))

    def _restarts(self) -> tuple[Restart, ...]:
        counts: Counter[tuple[Line, str]] = Counter()
        for (source, _, place, instruction), site in self.sites.items():
            if site.kind == "restart" and site.count:
                counts[self._line(source, place), instruction] += site.count
        return tuple(Restart(*line, instruction, count) for (line, instruction), count in sorted(counts.items()))


class _Lines(MutableRecord):
    """Runs of the case with the rounding errors of some lines only."""

    device: Device
    errors: Mapping[Parts, Errors]
    places: Mapping[Line, set[Place]]
    again: Again
    shadows: Callable[[BufferReader], Iterable[tuple[FloatParts, Shadow]]]

    def measured(self) -> list[LineError]:
        """The part of each line in the errors, without those that have none."""
        measured: dict[Line, tuple[float, float]] = {}
        waiting = [(group, self._measure(group)) for group in _split(sorted(self.places))]
        least = _LEAST_SHARE * sum(total for _, (total, _) in waiting)
        while waiting:
            group, (total, largest) = waiting.pop()
            if len(group) == 1:
                measured[group[0]] = total, largest
            elif total > least:
                waiting += [(part, self._measure(part)) for part in _split(group)]
        self.device.round_at(())
        whole = sum(total for total, _ in measured.values())
        return [LineError(*line, total / whole, largest) for line, (total, largest) in measured.items() if total]

    def _measure(self, group: Sequence[Line]) -> tuple[float, float]:
        """The errors that arise at some lines: their sum and the largest one, in ulp."""
        places: list[Place] = []
        for line in group:
            places += self.places[line]
        self.device.round_at(places)
        sums, largest = [0.0], [0.0]

        def take(result: BufferReader) -> None:
            for parts, shadow in self.shadows(result):
                apart = _apart(self.errors[result.buffer.name, parts], shadow)
                sums.append(float(apart.sum()))
                largest.append(float(apart.max(initial=0.0)))

        self.again(take)
        return sum(sums), max(largest)


def _apart(errors: Errors, shadow: Shadow) -> npt.NDArray[np.float64]:
    with np.errstate(invalid="ignore", over="ignore"):
        apart = np.abs((shadow.high - errors.shadow.high) + (shadow.low - errors.shadow.low)) / errors.ulp
    return np.where(np.isfinite(apart) & errors.shadow.known & shadow.known, apart, 0.0)


def _split(lines: Sequence[Line]) -> list[Sequence[Line]]:
    """At most `FEW` groups of lines that follow each other."""
    step = -(-len(lines) // FEW) or 1
    return [lines[start : start + step] for start in range(0, len(lines), step)]

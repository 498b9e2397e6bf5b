"""Patterns of wrong values: a factor, an offset, a sign, rounding, precision."""

from __future__ import annotations

import math

import numpy as np

from gpuregress.foundation import dtypes
from gpuregress.foundation.numeric import ordinals
from gpuregress.foundation.records import Finding
from gpuregress.gpu.records import replace
from gpuregress.judge.diagnose.evidence import Column, Evidence, Floats, of_share, share

ENOUGH = 0.95
FEW_ULPS = 16
_STEPS_OF_A_SUM = 2
_MOST_STEPS = 1024
"""Below the error of a narrower type: float16 among float32 is 4,096 steps."""
_MOST_RELATIVE = 2**-12
"""The error up to which many terms are an excuse; of 16-bit floats, a few steps are more."""
_NAMED = {math.pi: "pi", 180 / math.pi: "180/pi", math.pi / 180: "pi/180", math.e: "e", math.log(2): "ln 2"}


def rounding(column: Column) -> Finding | None:
    """Differences of a few roundings at the scale of the buffer: 95 %, and none that is as large as its own value.

    A sum whose terms cancel is small, but it is rounded like its terms. So a difference may be of 16 steps between
    floats at the median magnitude of the elements that differ in any bit, or at its own where that is larger. Sums of
    more terms are rounded more often: another order of n terms is sqrt(n) steps away, N. J. Higham, Accuracy and
    Stability of Numerical Algorithms, 2002, 4.2.
    """
    if not column.is_float:
        return None
    expected, actual = _changed(column)
    finite = np.isfinite(expected) & np.isfinite(actual)
    if not finite.any():
        return None
    magnitudes = np.abs(expected[finite])
    scale, errors = float(np.median(magnitudes)), np.abs(actual[finite] - expected[finite])
    if np.count_nonzero(errors > magnitudes / 2) > max(1, (1 - ENOUGH) * len(errors)):
        return None
    crosses = np.signbit(column.e) != np.signbit(column.a)
    if (crosses & (column.steps == 0)).all():
        return None
    of_sums = _STEPS_OF_A_SUM * math.sqrt(_terms(column.evidence))
    most = max(FEW_ULPS, min(of_sums, _MOST_STEPS, _MOST_RELATIVE / column.epsilon))
    steps = np.abs(column.a - column.e) / (column.epsilon * _binade(np.maximum(np.abs(column.e), scale), column))
    hits = column.finite & (steps <= most)
    count = int(np.count_nonzero(hits))
    if not count or count < ENOUGH * column.count:
        return None
    own, size = int(column.steps[hits].max()), math.ceil(steps[hits].max())
    which, words = f"rounding: {count} of {column.count}", f"{own} ulp"
    if count == column.count:
        which = f"rounding only: all {count}"
    if own > FEW_ULPS:
        words = f"{size} ulp of {scale:.3g}, the scale of the buffer"
    return Finding("rounding", f"{which} differences are of at most {words}", count / column.count)


def _changed(column: Column) -> tuple[Floats, Floats]:
    """Both sides of the elements that differ in any bit, within their rule or not; of a large buffer, of the rows."""
    expected, actual = column.whole_expected, column.whole_actual
    if expected is None or actual is None:
        return column.e, column.a
    scalar = column.part.scalar
    changed = ordinals.bits(expected, scalar) != ordinals.bits(actual, scalar)
    before, after = (dtypes.to_float(side[changed], scalar).astype(np.float64) for side in (expected, actual))
    return before, after


def _terms(evidence: Evidence) -> int:
    """Terms of a sum in each element, as far as the sizes tell: rows of an input, or the inner axis of a product."""
    sizes = [len(one) for one in evidence.inputs.values() if one.dtype.kind == "f"]
    lengths = [max(sizes, default=0) // max(evidence.total, 1)]
    if len(evidence.shape) == 2 and evidence.total:
        height, width = evidence.shape
        inner = {size // height for size in sizes if size % height == 0}
        lengths += [size // width for size in sizes if size % width == 0 and size // width in inner]
    return max(lengths)


def _binade(magnitudes: Floats, column: Column) -> Floats:
    """The power of two at or below each magnitude, at least that of the smallest normal number."""
    smallest = column.part.scalar.smallest / column.epsilon
    return np.exp2(np.floor(np.log2(np.maximum(magnitudes, smallest))))


def sign(column: Column) -> Finding | None:
    """The magnitude is right and the sign is not: 95 %, and two elements."""
    if column.is_float and not column.e.any() and not column.a.any():
        text = "are 0, but for the sign of the zero"
        return Finding("sign", f"all {column.count} differing elements {text}", summary=f"all {text}")
    good = column.finite & (column.a == -column.e) & (column.e != 0)
    count = int(np.count_nonzero(good))
    if count < 2 or count < ENOUGH * column.count or (not column.is_float and count < 4):
        return None
    return of_share("sign", count, column.count, "has the other sign|have the other sign")


def factor(column: Column) -> Finding | None:
    """One factor f, actual = f * expected to within 8 roundings: 95 %, three elements of two values (four integers)."""
    usable = column.usable(column.finite & (column.e != 0) & (column.a != 0), ENOUGH)
    if usable is None:
        return None
    e, a = usable
    with np.errstate(over="ignore"):
        ratio = float(np.median(a / e))
        room = 8 * max(column.epsilon, 2**-50)
        if not math.isfinite(ratio) or abs(ratio - 1) < 64 * room or abs(ratio + 1) < room:
            return None
        hits = np.abs(a - ratio * e) <= room * np.abs(a)
    count = int(np.count_nonzero(hits))
    if count < ENOUGH * column.count:
        return None
    name = _number(ratio, column)
    what = f"{name} times what"
    found = of_share("factor", count, column.count, f"is {what} it should be|are {what} they should be")
    if name.startswith("1/") and ratio > 0:
        subject = "all" if count == column.count else f"{share(count, column.count)} differing elements"
        return replace(found, summary=f"{subject} are {name} of what they should be")
    return found


def _number(value: float, column: Column) -> str:
    """Format a factor, by its name if it has one: a whole number, one over it, pi."""
    room = 16 * max(column.epsilon, 2**-50)
    if abs(value) > 0.9 and abs(value - round(value)) <= room * abs(value):
        return str(round(value))
    if abs(1 / value - round(1 / value)) <= room / abs(value):
        return f"1/{round(1 / value)}"
    for known, name in _NAMED.items():
        if abs(value - known) <= room * known:
            return name
    if abs(abs(value) - 1) > 1e-5:
        return f"{value:.6g}"
    return f"{value:.10g}"  # one that is almost 1 is not shown as 1


def offset(column: Column) -> Finding | None:
    """One offset c, actual = expected + c to within 4 roundings and c well above them: 95 %, as for a factor."""
    usable = column.usable(column.finite, ENOUGH)
    if usable is None:
        return None
    e, a = usable
    with np.errstate(over="ignore", invalid="ignore"):
        off = a - e
        constant = float(np.median(off))
        room = 4 * max(column.epsilon, 2**-52) * np.maximum(np.abs(a), np.abs(e))
        if not math.isfinite(constant) or constant == 0:
            return None
        hits = (np.abs(off - constant) <= room) & (room < 0.01 * abs(constant))
    count = int(np.count_nonzero(hits))
    if count < ENOUGH * column.count:
        return None
    return of_share("offset", count, column.count, f"is off by {constant:+.6g}|are off by {constant:+.6g}")


def precision(column: Column) -> Finding | None:
    """The low bits of every wrong value are 0, as after a narrower type, and the high ones right: two elements."""
    name = column.part.scalar.name
    if name not in _NARROWER or column.count < 2 or not column.finite.all():
        return None
    bits = ordinals.bits(column.actual, column.part.scalar).astype(np.uint64)
    wanted = ordinals.bits(column.expected, column.part.scalar).astype(np.uint64)
    if (column.a == 0).mean() > 0.5:
        return None
    for narrow, cleared, kept in _NARROWER[name]:
        low = np.uint64((1 << cleared) - 1)
        trimmed = (bits & low) == 0
        was_full = ((wanted & low) != 0).mean() > 0.5
        near = _relative(column) <= 2.0 ** -(kept - 4)
        if trimmed.all() and was_full and near.mean() >= ENOUGH:
            what = f"have the precision of {narrow} where {name} was expected"
            return of_share("precision", column.count, column.count, f"|{what}")
    return None


# Storage type → the narrower types, the coarsest first: name, low bits that are then 0, significant bits.
_NARROWER: dict[str, tuple[tuple[str, int, int], ...]] = {
    "float32": (("bfloat16", 16, 8), ("half (or tf32)", 13, 11)),
    "float64": (("half", 42, 11), ("single", 29, 24)),
}


def _relative(column: Column) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.abs(column.a - column.e) / np.abs(column.e))

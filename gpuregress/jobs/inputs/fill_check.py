"""Validation of fills against their buffers."""

from __future__ import annotations

import math

from gpuregress.foundation import dtypes
from gpuregress.foundation.dtypes import Scalar
from gpuregress.foundation.numeric.conversion import numbers_problem, progression_problem
from gpuregress.foundation.records import Buffer, Fill, Interval, NormalDistribution, Progression, Values
from gpuregress.jobs.inputs import files

PARK_MILLER_MODULUS = 2**31 - 1
FARTHEST_SIGMAS = 8.3
"""Standard deviations that no number of `streams.normal` is over: its 2^52 points end at 8.21."""


def fill_problem(buffer: Buffer) -> str | None:
    """Explain why a fill does not fit its buffer; None if it fits. Of files, only headers are read."""
    made = buffer.fill
    if made is None or made.kind == "python":
        return None
    element = dtypes.parse(buffer.dtype)
    if made.same is not None:
        return _same_problem(buffer, made.same)
    if made.kind == "file":
        return files.size_problem(buffer, element)
    options = made.options
    if made.kind == "value" and isinstance(options, Values) and len(options.values) not in (1, len(element.parts)):
        return f"value has {len(options.values)} numbers and {element.name} has {len(element.parts)} parts"
    for at, part in enumerate(element.parts):
        problem = _part_problem(buffer, made, part.scalar, at)
        if problem:
            return f"{problem} (part {part.name})" if part.name else problem
    return None


def _same_problem(buffer: Buffer, origin: Buffer) -> str | None:
    """Explain why a buffer cannot have another one's contents, from their types and shapes."""
    parts = [[part.name for part in dtypes.parse(dtype).parts] for dtype in (origin.dtype, buffer.dtype)]
    if parts[0] != parts[1]:
        return f"{origin.name} is {origin.dtype} and {buffer.name} {buffer.dtype}: their elements have other parts"
    if math.prod(origin.shape) != math.prod(buffer.shape):
        shapes = f"{origin.name} has shape {list(origin.shape)} and {buffer.name} {list(buffer.shape)}"
        return f"{shapes}: the same contents need as many elements"
    return None


def _part_problem(buffer: Buffer, made: Fill, scalar: Scalar, at: int) -> str | None:
    if made.kind in ("uniform", "normal") and not scalar.is_float:
        return f"{made.kind} fills floats, and {scalar.name} is not one: use {{integers: {{low: …, high: …}}}}"
    if made.kind == "park_miller" and not scalar.is_float and scalar.size < 4:
        return f"park_miller numbers go up to {PARK_MILLER_MODULUS - 1}, too large for {scalar.name}"
    total = math.prod(buffer.shape) * len(dtypes.parse(buffer.dtype).parts)
    if made.kind == "permutation":
        return progression_problem(0, 1, total, scalar)
    match made.options:
        case Progression(start, step):
            return progression_problem(start, step, total, scalar)
        case Interval(low, high) if made.kind == "integers":
            return progression_problem(int(low), 1, int(high) - int(low), scalar)
        case Interval(low, high):
            problem = numbers_problem((float(low), float(high)), scalar)
            is_finite = math.isfinite(float(high) - float(low))
            return problem or (None if is_finite else "high - low is too large for float64")
        case Values(values):
            return numbers_problem([values[at]] if made.kind == "value" and len(values) > 1 else values, scalar)
        case NormalDistribution(mean, std):
            return _normal_problem(float(mean), float(std), scalar)
    return None


def _normal_problem(mean: float, std: float, scalar: Scalar) -> str | None:
    problem = numbers_problem((mean, std), scalar)
    is_wide = abs(mean) + FARTHEST_SIGMAS * std > scalar.largest
    text = f"numbers of mean {mean!r} and std {std!r} are too large for {scalar.name}"
    return problem or (text if is_wide else None)

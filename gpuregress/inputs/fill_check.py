"""Validation of fills against their buffers, without numpy: planning loads no numpy."""

from __future__ import annotations

import math

from gpuregress import dtypes
from gpuregress.conversion import numbers_problem, progression_problem
from gpuregress.dtypes import Scalar
from gpuregress.records import Buffer, Fill

PARK_MILLER_MODULUS = 2**31 - 1
FARTHEST_SIGMAS = 8.3
"""Standard deviations that no number of `streams.normal` is over: its 2^52 points end at 8.21."""


def fill_problem(buffer: Buffer) -> str | None:
    """Explain why a fill does not fit its buffer; None if it fits or a file must be read to know."""
    made = buffer.fill
    if made is None or made.kind == "python":
        return None
    element = dtypes.parse(buffer.dtype)
    if made.kind == "file":
        from gpuregress.inputs import files  # noqa: PLC0415 - loads numpy, for .npy

        return files.size_problem(buffer, element)
    if made.kind == "value" and len(made.options["values"]) not in (1, len(element.parts)):
        return f"value has {len(made.options['values'])} numbers and {element.name} has {len(element.parts)} parts"
    for at, part in enumerate(element.parts):
        problem = _part_problem(buffer, made, part.scalar, at)
        if problem:
            return f"{problem} (part {part.name})" if part.name else problem
    return None


def _part_problem(buffer: Buffer, made: Fill, scalar: Scalar, at: int) -> str | None:
    options = made.options
    if made.kind in ("uniform", "normal") and not scalar.is_float:
        return f"{made.kind} fills floats, and {scalar.name} is none: use {{integers: {{low: …, high: …}}}}"
    if made.kind == "park_miller" and not scalar.is_float and scalar.size < 4:
        return f"park_miller numbers go up to {PARK_MILLER_MODULUS - 1}, too large for {scalar.name}"
    total = math.prod(buffer.shape) * len(dtypes.parse(buffer.dtype).parts)
    if made.kind == "integers":
        low, high = int(options["low"]), int(options["high"])
        return progression_problem(low, 1, high - low, scalar)
    if made.kind == "permutation":
        return progression_problem(0, 1, total, scalar)
    if made.kind == "arange":
        return progression_problem(options.get("start", 0), options.get("step", 1), total, scalar)
    if made.kind in ("value", "choice"):
        values = options["values"]
        return numbers_problem([values[at]] if made.kind == "value" and len(values) > 1 else values, scalar)
    if made.kind == "uniform":
        ends = float(options.get("low", 0.0)), float(options.get("high", 1.0))
        problem = numbers_problem(ends, scalar)
        return problem or (None if math.isfinite(ends[1] - ends[0]) else "high - low is too large for float64")
    if made.kind == "normal":
        mean, std = float(options.get("mean", 0.0)), float(options.get("std", 1.0))
        problem = numbers_problem((mean, std), scalar)
        is_wide = abs(mean) + FARTHEST_SIGMAS * std > scalar.largest
        return problem or (
            f"numbers of mean {mean!r} and std {std!r} are too large for {scalar.name}" if is_wide else None
        )
    return None
